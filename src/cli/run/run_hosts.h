// Questions about the hosts that the command of `execward run` connects to, on the terminal. Each
// is asked by a process of its own (os/errand.h), one after the other; the command goes on
// meanwhile, but neither reads from the terminal nor writes to it.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "os/errand.h"
#include "sandbox/gateway/host_asking.h"
#include "server/approval/host_gate.h"
#include "server/approval/records.h"
#include "server/exec/call.h"
#include "server/session/session.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace ew::cli {

class RunHosts final : public sandbox::HostAsking {
public:
    struct Parts {
        const server::Session& session;
        server::Gate& gate;
        server::Records& records;
    };

    // `asks`: a person is to be asked, on the terminal of this process, if it has one.
    RunHosts(const Parts& parts, server::HostCommand command, protocol::Confinement sandbox,
             bool asks);

    std::optional<sandbox::HostVerdict> known(const sandbox::HostQuestion& question) override;
    Result<void> ask(const sandbox::HostQuestion& question) override;

    bool has_terminal() const { return static_cast<bool>(terminal_); }

    // The command has ended: nobody is asked any more.
    void close();

    // Returns -1 while nobody is asked. Readable when take_answer() has something to do.
    int fd() const { return errand_ ? errand_->fd() : -1; }

    struct Answer {
        std::uint64_t question = 0; // HostQuestion::id
        sandbox::HostVerdict verdict = {};
    };

    // Returns nullopt if there is no answer yet. Begins the next question.
    std::optional<Answer> take_answer();

private:
    Result<void> begin();
    sandbox::HostVerdict verdict_of(const sandbox::HostQuestion& question,
                                    const std::string& result);

    Parts parts_;
    server::HostCommand command_;
    protocol::Confinement sandbox_;
    UniqueFd terminal_; // empty: nobody is asked
    server::HostGate gate_;
    std::deque<sandbox::HostQuestion> open_; // the first one is being asked
    server::Question asked_;
    std::optional<os::Errand> errand_;
    bool is_closed_ = false;
};

} // namespace ew::cli
