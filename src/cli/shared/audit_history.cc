#include "cli/shared/audit_history.h"

#include "core/text/display.h"

#include <fmt/format.h>

#include <set>

namespace ew::cli {

Result<void> each_row(store::Store& store, std::int64_t after,
                      const std::function<void(const store::AuditRow&)>& take) {
    constexpr std::int64_t piece = 1000;
    while (true) {
        const std::vector<store::AuditRow> rows = TRY(store.audit_after(after, piece));
        if (rows.empty()) return {};
        for (const store::AuditRow& row : rows)
            take(row);
        after = rows.back().id;
    }
}

Result<report::History> history_of(store::Store& store) {
    report::History history;
    TRY(each_row(store, 0, [&](const store::AuditRow& row) { history.take(row); }));
    return history;
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
