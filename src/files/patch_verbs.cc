// Patches as requests to a file process.

#include "core/paths.h"
#include "files/operations.h"
#include "files/patch_access.h"
#include "files/patching.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

namespace {

PatchOrder order_of(const Request& request) {
    return {request.path, request.data, request.paths, request.stand_ins};
}

// A directory that only holds a place in the sandbox is missing, and is made where the patch is
// applied outside.
void add_stand_ins(PatchReport& report, const std::vector<std::string>& stand_ins) {
    std::vector<std::string> missing;
    for (const std::string& place : stand_ins) {
        const auto lies_in = [&place](const std::string& path) {
            return core::is_below(path, place);
        };
        if (std::ranges::any_of(report.files, [&lies_in](const PatchedFile& file) {
                return lies_in(file.path) || lies_in(file.destination);
            }))
            missing.push_back(place);
    }
    if (missing.empty()) return;
    std::ranges::sort(missing);
    report.directories.insert(report.directories.begin(), missing.begin(), missing.end());
    report.digest = digest_of(report);
}

template <class Report>
void finish(const Report& report, Answer& answer) {
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
    add_stand_ins(report, request.stand_ins);
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

void patch_recover(const Request& request, Answer& answer) {
    RecoveryReport report;
    if (Failure failure = recover_patch(request.data, report)) return answer.finish(*failure);
    finish(report, answer);
}

} // namespace ew::files
