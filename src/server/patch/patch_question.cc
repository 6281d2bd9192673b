#include "server/patch/patch_question.h"

#include "core/text/display.h"
#include "sandbox/launch/init_place.h"
#include "server/request/extra_permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace ew::server {

namespace {

// An approval for the session is stored once for each file.
std::vector<protocol::ApprovalChoice> choices(std::size_t places) {
    using enum protocol::ApprovalDecision;
    std::vector<protocol::ApprovalChoice> choices = {
        {approved, {}, "change these files this once", {}}};
    if (places <= most_remembered_files)
        choices.push_back({approved_for_session,
                           protocol::ApprovalScope::session,
                           "let patches change these files, for this session",
                           {}});
    choices.push_back({denied, {}, "do not change them", {}});
    choices.push_back(
        {abort, {}, "do not change them, nor do anything else that is being asked about", {}});
    return choices;
}

// Returns true if only a part of the diff is shown. Its last line then begins with "…".
bool is_cut(const protocol::PatchedFile& file) {
    const std::size_t end = file.diff.rfind('\n', file.diff.size() - 2);
    const std::size_t last = end == std::string::npos ? 0 : end + 1;
    return std::string_view(file.diff).substr(std::min(last, file.diff.size())).starts_with("…");
}

// Returns true if visible() has written an escape into this diff, other than for a tab.
bool spells_out(std::string_view diff) {
    for (std::size_t at = 0; (at = diff.find('\\', at)) != std::string_view::npos; at += 2) {
        const char kind = at + 1 < diff.size() ? diff[at + 1] : '\\';
        if (kind == 'x' || kind == 'u') return true;
    }
    return false;
}

// Fills in the words of the agent, and what cannot be seen in what it sent.
void add_justification(protocol::ApprovalRequest& request, const PendingPatch& patch) {
    request.justification = patch.params.justification;
    for (const protocol::PatchedFile& file : patch.shown)
        request.display.has_invisible_characters |= spells_out(file.diff);
    if (!request.justification) return;
    request.display.justification = core::visible(*request.justification);
    request.display.has_invisible_characters |= core::has_invisible(*request.justification);
    request.display.has_mixed_scripts |= core::has_mixed_scripts(*request.justification);
}

} // namespace

protocol::ApprovalRequest question_about(const PendingPatch& patch) {
    const std::vector<std::string> places = places_of(patch.report);
    protocol::ApprovalRequest request;
    request.call_id = patch.call_id;
    request.kind = protocol::ApprovalKind::patch;
    request.argv = {"apply_patch"};
    request.program = sandbox::init_place();
    request.workdir = patch.workdir;
    request.reason = patch.ruling.reason;
    request.files = patch.shown;
    request.available_decisions = choices(places.size());
    request.display.command = summary_of(patch.report);
    request.display.program = core::visible(request.program);
    request.display.workdir = core::visible(request.workdir);
    request.display.reason = core::visible(patch.ruling.reason);
    add_justification(request, patch);
    for (const std::string& path : places) {
        request.display.has_invisible_characters |= core::has_invisible(path);
        request.display.has_mixed_scripts |= core::has_mixed_scripts(path);
        if (holds_what_runs_later(path))
            request.display.notes.push_back(fmt::format(
                "What is written to {} can run later, outside the sandbox.", core::visible(path)));
    }
    if (std::ranges::any_of(patch.shown, is_cut))
        request.display.notes.emplace_back("Not all changes are shown: the patch is too long.");
    if (patch.sandbox && find_unwritable(patch.report) != nullptr)
        request.display.notes.emplace_back("The files are changed outside the sandbox.");
    return request;
}

void keep_answer(const PendingPatch& patch, const Question& question,
                 protocol::ApprovalAnswer answer, Records& records) {
    if (answer.decision != protocol::ApprovalDecision::approved_for_session) {
        records.keep(question, answer);
        return;
    }
    answer.scope = protocol::ApprovalScope::session;
    Question one = question;
    one.request.files.reset(); // they are not stored, and may be long
    for (const std::string& path : places_of(patch.report)) {
        one.grant_key = approval_key_of(path);
        one.request.argv = {"apply_patch", path};
        records.keep(one, answer);
    }
}

std::string summary_of(const files::PatchReport& report) {
    std::string summary;
    for (const files::PatchedFile& file : report.files) {
        if (!summary.empty()) summary += '\n';
        summary += fmt::format("{} {}", files::letter_of(file.kind), core::visible(file.path));
        if (!file.destination.empty())
            summary += fmt::format(" -> {}", core::visible(file.destination));
    }
    return summary;
}

} // namespace ew::server
