#include "sandbox/launch/planned_placeholders.h"

#include "sandbox/init/wire.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/launch/report.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::sandbox {

Error not_noted(Error error) {
    if (error.kind != ErrorKind::internal) return error;
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: what protects its workspace cannot be made, or "
                        "cannot be noted in the state directory: {}",
                        error.message),
            "see that both are writable and not full; XDG_STATE_HOME names another state "
            "directory"};
}

void refuse_without_journal() {
    refuse({ErrorKind::sandbox_unavailable,
            "the command was not run: what protects its workspace has to be noted in a state "
            "directory, and there is none",
            "set HOME or XDG_STATE_HOME"});
}

namespace {

// Sent before the placeholder is made: if this process is killed before the hand-over, the server
// still knows the path.
void announce(const std::string& path) {
    wire::Record record;
    record.kind = wire::RecordKind::placeholder;
    send(record, path);
}

// The server keeps it locked from now on, and removes it when all processes have ended.
Result<void> hand_over(Result<Placeholder> placeholder) {
    if (!placeholder) return not_noted(std::move(placeholder.error()));
    if (!placeholder->lock) return {};
    wire::Record record;
    record.kind = wire::RecordKind::placeholder;
    send(record, placeholder->path, placeholder->lock.get());
    return {};
}

// Existing placeholders cannot be recorded without a journal, and need not be.
void do_without_journal(const Plan& plan) {
    const bool is_complete =
        std::ranges::all_of(plan.placeholders, exists_without_links) &&
        std::ranges::all_of(plan.placeholder_files, [](const PlaceholderFile& file) {
            return exists_without_links(file.path);
        });
    if (!is_complete) refuse_without_journal();
}

// The server holds a descriptor for each placeholder while the command runs.
void limit_placeholders(const Plan& plan) {
    constexpr std::size_t most = 128;
    const std::size_t count = plan.placeholders.size() + plan.placeholder_files.size();
    if (count <= most) return;
    refuse({ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: {} places that are missing would have to be "
                        "kept from being made, and {} can be",
                        count, most),
            "name fewer or narrower writable roots, or make what is missing: .git, .agents, .codex "
            "and .execward in each root, and hooks and commondir in each repository"});
}

} // namespace

Result<void> make_placeholders(const Plan& plan, const std::string& journal) {
    limit_placeholders(plan);
    if (journal.empty()) {
        do_without_journal(plan);
        return {};
    }
    for (const std::string& path : plan.placeholders) {
        announce(path);
        TRY(hand_over(hold(path, journal)));
    }
    for (const PlaceholderFile& file : plan.placeholder_files) {
        announce(file.path);
        TRY(hand_over(hold_file(file.path, file.content, journal)));
    }
    return {};
}

} // namespace ew::sandbox
