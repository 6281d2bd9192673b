#include "sandbox/launch/planned_look.h"

#include "os/io.h"
#include "sandbox/aftermath/aftermath.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/planned_placeholders.h"
#include "sandbox/launch/report.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace ew::sandbox {

std::optional<HeldLook> look_before(const Plan& plan, const std::string& placeholders) {
    if (plan.look.roots.empty()) return std::nullopt;
    if (placeholders.empty()) {
        if (!plan.look.absent.empty()) refuse_without_journal();
        return std::nullopt;
    }
    Result<HeldLook> look = look_first(plan.look, look_journal_beside(placeholders));
    if (!look) refuse(not_noted(std::move(look.error())));
    wire::Record record;
    record.kind = wire::RecordKind::look;
    send(record, look->path, look->lock.get());
    constexpr int out_of_the_way = 16; // of the numbers in wire.h
    look->lock = UniqueFd(::fcntl(look->lock.get(), F_DUPFD_CLOEXEC, out_of_the_way));
    if (!look->lock) refuse(os::system_error("duplicate a descriptor", errno));
    return std::move(*look);
}

void finish_looks_of_others(const std::string& placeholders) {
    if (placeholders.empty()) return;
    for (const SetAside& thing : sweep_looks(look_journal_beside(placeholders)))
        send(wire::Record(), described(thing));
}

} // namespace ew::sandbox
