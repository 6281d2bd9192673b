#include "files/verbs/patch_verbs.h"

// Carries out the patch requests to a file process.

#include "files/patch/patch_access.h"
#include "files/patch/patching.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace ew::files {

namespace {

PatchOrder order_of(const Request& request) {
    return {request.path, request.data, request.paths, request.stand_ins};
}

void finish(const PatchReport& report, Answer& answer) {
    const std::string text = encode(report);
    for (std::string_view rest = text; !rest.empty();) {
        answer.add(FrameKind::text, rest.substr(0, usual_frame));
        rest.remove_prefix(std::min<std::size_t>(rest.size(), usual_frame));
    }
    answer.finish(Done{});
}

} // namespace

void patch_check(const Request& request, Answer& answer) {
    PatchReport report;
    if (Failure failure = check_patch(order_of(request), report)) return answer.finish(*failure);
    for (PatchedFile& file : report.files)
        file.is_writable = may_be_changed(file);
    finish(report, answer);
}

void patch_apply(const Request& request, Answer& answer) {
    PatchReport report;
    const PatchTicket ticket = {request.token, request.expected};
    if (Failure failure = apply_patch(order_of(request), ticket, report))
        return answer.finish(*failure);
    finish(report, answer);
}

} // namespace ew::files
