#include "server/lifeline.h"

#include "base/log.h"
#include "os/pidfd.h"
#include "server/connection/source.h"

#include <utility>

namespace ew::server {

Lifeline::Lifeline(os::Poller& poller) : poller_(poller) {
    (void)poller_.watch(signals_.get(), token_of(Source::signals), os::Interest::read);
}

void Lifeline::watch(std::optional<pid_t> process) {
    if (!process) return;
    UniqueFd pidfd = os::open_pidfd(*process);
    if (!pidfd) // over ssh or from a container its pid has no meaning on this machine
        return log::info("server", "process {} of the client is not here and cannot be watched",
                         *process);
    (void)poller_.watch(pidfd.get(), token_of(Source::parent), os::Interest::read);
    processes_.push_back(std::move(pidfd));
}

void Lifeline::note_parent_end() {
    log::info("server", "the process that this server belongs to has ended");
    processes_.clear();
}

} // namespace ew::server
