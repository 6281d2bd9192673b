#include "files/patch/patching.h"

#include "files/patch/patch_commit.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_plan.h"
#include "files/patch/patch_recovery.h"

#include <optional>
#include <utility>

namespace ew::files {

Failure check_patch(const PatchOrder& order, PatchReport& report) {
    PatchPlan plan;
    if (Failure failure = plan_patch(order, plan)) return failure;
    report = std::move(plan.report);
    return {};
}

Failure apply_patch(const PatchOrder& order, const PatchTicket& ticket, PatchReport& report) {
    if (!is_token(ticket.token)) return failed(Trouble::other, ticket.token, "is no token");
    PatchPlan plan;
    // The answer does not say why the patch no longer fits: names may now lead to files that the
    // caller must not know about.
    if (plan_patch(order, plan) || plan.report.digest != ticket.expected)
        return Failed{Trouble::changed, "files of the patch have changed since it was checked",
                      "look at it again"};
    const Journal journal = journal_of(plan.report, ticket.token);
    if (Failure failure = carry_out(plan, journal)) return failure;
    report = std::move(plan.report);
    return {};
}

Failure recover_patch(std::string_view journal, RecoveryReport& report) {
    report = {};
    const std::optional<Journal> decoded = decode_journal(journal);
    if (!decoded) return failed(Trouble::other, "the journal", "cannot be read");
    return settle(*decoded, Direction::by_what_is_there, report);
}

} // namespace ew::files
