#include "sandbox/launch/planned_look.h"

#include "sandbox/aftermath/aftermath.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/planned_placeholders.h"
#include "sandbox/launch/report.h"

#include <utility>

namespace ew::sandbox {

void look_before(const Plan& plan, const std::string& placeholders) {
    if (plan.look.roots.empty()) return;
    if (placeholders.empty()) {
        if (!plan.look.absent.empty()) refuse_without_journal();
        return;
    }
    Result<HeldLook> look = look_first(plan.look, look_journal_beside(placeholders));
    if (!look) refuse(not_noted(std::move(look.error())));
    wire::Record record;
    record.kind = wire::RecordKind::look;
    send(record, look->path, look->lock.get());
}

void finish_looks_of_others(const std::string& placeholders) {
    if (placeholders.empty()) return;
    for (const SetAside& thing : sweep_looks(look_journal_beside(placeholders)))
        send(wire::Record(), described(thing));
}

} // namespace ew::sandbox
