#include "server/patch/patch_answers.h"

#include "server/exec/exec_results.h"
#include "server/patch/patch_question.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ew::server {

namespace {

protocol::PatchChange change_of(files::PatchedKind kind) {
    switch (kind) {
    case files::PatchedKind::add: return protocol::PatchChange::add;
    case files::PatchedKind::update: return protocol::PatchChange::update;
    case files::PatchedKind::remove: return protocol::PatchChange::remove;
    case files::PatchedKind::move: return protocol::PatchChange::move;
    }
    return protocol::PatchChange::update;
}

protocol::PatchLevel level_of(patch::MatchLevel level) {
    switch (level) {
    case patch::MatchLevel::exact: return protocol::PatchLevel::exact;
    case patch::MatchLevel::trailing_blanks: return protocol::PatchLevel::trailing_blanks;
    case patch::MatchLevel::both_ends: return protocol::PatchLevel::both_ends;
    case patch::MatchLevel::folded: return protocol::PatchLevel::folded;
    case patch::MatchLevel::canonical: return protocol::PatchLevel::canonical;
    }
    return protocol::PatchLevel::folded;
}

protocol::PatchedFile take_shown(files::PatchedFile& file) {
    protocol::PatchedFile result;
    result.path = file.path;
    result.change = change_of(file.kind);
    if (!file.destination.empty()) result.destination = file.destination;
    result.added_lines = file.added;
    result.removed_lines = file.removed;
    for (const patch::ChunkMatch& match : file.matches)
        result.matches.push_back({match.line, level_of(match.level)});
    result.diff = std::move(file.diff);
    return result;
}

protocol::Confinement confinement_of(const PendingPatch& patch) {
    protocol::Confinement confinement;
    if (patch.sandbox) confinement.type = protocol::SandboxType::linux_seccomp;
    return confinement;
}

void answer_as_command(PendingPatch& patch, const std::string& output, int exit_code,
                       TimePoint now) {
    const TimePoint::duration wall = now - patch.began_at;
    protocol::ExecResult result = make_answer(patch.call_id, output, exit_code, *patch.command);
    result.wall_time_ms = millis(wall);
    result.timings.approval_ms = patch.approval_ms;
    result.sandbox = confinement_of(patch);
    result.notice = "it was applied as a patch, and no shell was run; patch/apply does the same";
    add_model_text(result, *patch.command, wall);
    patch.reply.send(result);
}

// Errors of these kinds keep a command from running, so exec/command answers with an error. For the
// others, the answer is a result, as if a program had printed the error and ended with 1.
bool is_error_of_command(ErrorKind kind) {
    return kind == ErrorKind::denied || kind == ErrorKind::cancelled ||
           kind == ErrorKind::shutting_down || kind == ErrorKind::sandbox_unavailable;
}

} // namespace

std::vector<protocol::PatchedFile> take_shown(files::PatchReport& report) {
    std::vector<protocol::PatchedFile> shown;
    for (files::PatchedFile& file : report.files)
        shown.push_back(take_shown(file));
    return shown;
}

void answer_checked(PendingPatch& patch) {
    protocol::PatchCheckResult result;
    result.files = std::move(patch.shown);
    result.decision = patch.ruling.decision;
    result.reason = patch.ruling.reason;
    result.sandbox = confinement_of(patch);
    patch.reply.send(result);
}

void answer_applied(PendingPatch& patch, TimePoint now) {
    if (patch.command) {
        const std::string output = "The patch was applied:\n" + summary_of(patch.report) + "\n";
        return answer_as_command(patch, output, 0, now);
    }
    protocol::PatchApplyResult result;
    result.call_id = patch.call_id;
    result.files = std::move(patch.shown);
    result.decided_by = patch.ruling.decided_by;
    result.sandbox = confinement_of(patch);
    result.approval_ms = patch.approval_ms;
    patch.reply.send(result);
}

void answer_failed(PendingPatch& patch, const Error& error, TimePoint now) {
    if (!patch.command || is_error_of_command(error.kind)) return patch.reply.fail(error);
    const std::string hint = error.hint.empty() ? "" : fmt::format("\n{}", error.hint);
    answer_as_command(patch, fmt::format("The patch was not applied: {}{}\n", error.message, hint),
                      1, now);
}

} // namespace ew::server
