#include "store/sessions.h"

namespace ew::store {

namespace {

constexpr std::string_view upsert_session =
    "insert into sessions (id, project, created_at, last_used_at) values (?1, ?2, ?3, ?3)"
    " on conflict do update set project = coalesce(nullif(excluded.project, ''), project),"
    " last_used_at = max(last_used_at, excluded.last_used_at)";
constexpr std::string_view select_session =
    "select project from sessions where id = ?1 and last_used_at >= ?2";
constexpr std::string_view delete_sessions = "delete from sessions where last_used_at < ?1";

} // namespace

Result<void> touch_session(Database& database, std::string_view session, std::string_view project,
                           UnixMs now) {
    Statement statement = TRY(database.prepare(upsert_session));
    return statement.bind(session).bind(project).bind(now).run();
}

Result<std::optional<std::string>> find_session(Database& database, std::string_view session,
                                                UnixMs oldest) {
    Statement statement = TRY(database.prepare(select_session));
    const bool is_known = TRY(statement.bind(session).bind(oldest).step());
    if (!is_known) return std::optional<std::string>();
    return std::optional<std::string>(statement.text(0));
}

Result<void> delete_old_sessions(Database& database, UnixMs oldest) {
    Statement statement = TRY(database.prepare(delete_sessions));
    return statement.bind(oldest).run();
}

} // namespace ew::store
