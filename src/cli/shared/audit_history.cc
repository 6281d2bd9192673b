#include "cli/shared/audit_history.h"

#include "core/text/display.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>

namespace ew::cli {

Result<report::History> history_of(store::Store& store) {
    constexpr std::int64_t piece = 1000;
    report::History history;
    for (std::int64_t last = 0;;) {
        const std::vector<store::AuditRow> rows = TRY(store.audit_after(last, piece));
        if (rows.empty()) return history;
        for (const store::AuditRow& row : rows)
            history.take(row);
        last = rows.back().id;
    }
}

Result<std::vector<report::Command>> commands_of(const report::History& history,
                                                 const std::string& session) {
    std::set<std::string> sessions;
    for (const report::Command& command : history.commands())
        if (command.session.starts_with(session)) sessions.insert(command.session);
    if (sessions.empty())
        return Error{ErrorKind::invalid_params,
                     fmt::format("the audit has no session '{}'", core::visible(session)),
                     "execward audit export --json names the sessions"};
    if (sessions.size() > 1 && !sessions.contains(session))
        return Error{
            ErrorKind::invalid_params,
            fmt::format("{} sessions begin with '{}'", sessions.size(), core::visible(session)),
            "write more of its id"};
    std::vector<report::Command> commands;
    for (const report::Command& command : history.commands())
        if (command.session == *sessions.begin()) commands.push_back(command);
    return commands;
}

std::vector<report::Command> commands_since(const report::History& history, store::UnixMs since) {
    std::vector<report::Command> commands;
    for (const report::Command& command : history.commands())
        if (command.begin >= since) commands.push_back(command);
    return commands;
}

} // namespace ew::cli
