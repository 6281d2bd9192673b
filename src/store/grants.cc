#include "store/grants.h"

#include <algorithm>
#include <utility>

namespace ew::store {

namespace {

constexpr std::string_view select_command =
    "select * from grants_shown where kind = ?5 and key = ?1"
    " and (expires_at is null or expires_at > ?4)"
    " and (session = ?2 or (scope = 'project' and project = ?3) or scope = 'always')";

constexpr std::string_view select_prefixes =
    "select * from grants_shown where kind = 'prefix'"
    " and (expires_at is null or expires_at > ?3)"
    " and (session = ?1 or (scope = 'project' and project = ?2) or scope = 'always')"
    " order by id";

// In both statements, a null parameter matches everything.
constexpr std::string_view select_some =
    "select * from grants_shown where (?1 is null or id = ?1)"
    " and (?2 is null or session = ?2)"
    " and (?3 is null or project = ?3)"
    " and (?4 is null or expires_at is null or expires_at > ?4)"
    " order by created_at desc, id desc";
constexpr std::string_view delete_some =
    "delete from grants where id in (select id from grants_shown where (?1 is null or id = ?1)"
    " and (?2 is null or session = ?2)"
    " and (?3 is null or project = ?3)"
    " and (?4 is null or expires_at is null or expires_at > ?4))";

constexpr std::string_view insert_grant =
    "insert into grants (kind, scope, key, directory, session, project, command, origin, reason,"
    " created_at, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    " on conflict do update set command = excluded.command, origin = excluded.origin,"
    " reason = excluded.reason, expires_at = excluded.expires_at"
    " returning id";

// A model can cause questions without end.
constexpr std::string_view delete_old_questions =
    "delete from grants where kind = 'question' and id not in"
    " (select id from grants where kind = 'question' order by id desc limit ?1)";

constexpr std::string_view delete_expired = "delete from grants where expires_at <= ?1";
constexpr std::string_view update_uses =
    "update grants set uses = uses + ?2, last_used_at = max(coalesce(last_used_at, ?3), ?3)"
    " where id = ?1";

// Reads the columns of the view grants_shown. Returns nullopt for a scope or kind that this version
// does not know.
std::optional<Grant> read_grant(const Statement& row) {
    const std::optional<GrantKind> kind = kind_of(row.text(1));
    const std::optional<GrantScope> scope = scope_of(row.text(2));
    if (!kind || !scope) return {};
    Grant grant;
    grant.id = row.integer(0);
    grant.kind = *kind;
    grant.scope = *scope;
    grant.key = row.text(3);
    grant.directory = row.text(4);
    grant.session = row.text(5);
    grant.project = row.text(6);
    grant.command = row.text(7);
    grant.origin = row.text(8);
    grant.reason = row.text(9);
    grant.created_at = row.integer(10);
    grant.expires_at = row.maybe_integer(11);
    grant.last_used_at = row.maybe_integer(12);
    grant.uses = row.integer(13);
    // A grant that ends with its session, but names no session, would never end.
    if (ends_with_session(grant.scope) == grant.session.empty()) return {};
    return grant;
}

Result<FoundGrants> collect(Statement& statement) {
    FoundGrants found;
    while (TRY(statement.step())) {
        std::optional<Grant> grant = read_grant(statement);
        if (grant)
            found.grants.push_back(std::move(*grant));
        else
            ++found.skipped;
    }
    return found;
}

bool reaches(const Grant& grant, std::string_view directory) {
    if (grant.scope == GrantScope::directory) return grant.directory == directory;
    if (grant.scope == GrantScope::workspace) return is_at_or_below(directory, grant.directory);
    return true;
}

struct Selection {
    std::optional<std::int64_t> id = {};
    std::optional<std::string> session = {};
    std::optional<std::string> project = {};
    std::optional<UnixMs> unexpired_at = {};
};

void bind(Statement& statement, const Selection& selection) {
    statement.bind(selection.id);
    for (const std::optional<std::string>* text : {&selection.session, &selection.project}) {
        if (*text)
            statement.bind(std::string_view(**text));
        else
            statement.bind_null();
    }
    statement.bind(selection.unexpired_at);
}

Result<FoundGrants> select(Database& database, const Selection& selection) {
    Statement statement = TRY(database.prepare(select_some));
    bind(statement, selection);
    return collect(statement);
}

Selection selection_of(const RevokeWhat& what) {
    Selection selection;
    if (const auto* one = std::get_if<OneGrant>(&what)) selection.id = one->id;
    if (const auto* of = std::get_if<GrantsOfSession>(&what)) selection.session = of->session;
    if (const auto* of = std::get_if<GrantsOfProject>(&what)) selection.project = of->project;
    return selection;
}

} // namespace

bool is_at_or_below(std::string_view directory, std::string_view root) {
    if (root.empty() || !directory.starts_with(root)) return false;
    if (directory.size() == root.size() || root.back() == '/') return true;
    return directory[root.size()] == '/';
}

Result<FoundGrants> grants_for_command(Database& database, std::string_view key,
                                       const Asker& asker) {
    Statement statement = TRY(database.prepare(select_command));
    statement.bind(key).bind(asker.session).bind(asker.project).bind(asker.now);
    statement.bind(name_of(asker.kind));
    FoundGrants found = TRY(collect(statement));
    std::erase_if(found.grants, [&](const Grant& one) { return !reaches(one, asker.directory); });
    std::ranges::sort(found.grants, [](const Grant& a, const Grant& b) {
        return std::pair(a.scope, a.id) < std::pair(b.scope, b.id);
    });
    return found;
}

Result<FoundGrants> prefix_grants(Database& database, const Asker& asker) {
    Statement statement = TRY(database.prepare(select_prefixes));
    statement.bind(asker.session).bind(asker.project).bind(asker.now);
    return collect(statement);
}

Result<FoundGrants> list_grants(Database& database, const GrantFilter& filter, UnixMs now) {
    Selection selection;
    selection.session = filter.session;
    selection.project = filter.project;
    if (!filter.include_expired) selection.unexpired_at = now;
    return select(database, selection);
}

Result<std::int64_t> put_grant(Database& database, const Grant& grant) {
    const bool is_of_session = ends_with_session(grant.scope);
    const bool has_directory =
        grant.scope == GrantScope::directory || grant.scope == GrantScope::workspace;
    Statement statement = TRY(database.prepare(insert_grant));
    statement.bind(name_of(grant.kind)).bind(name_of(grant.scope)).bind(grant.key);
    statement.bind(has_directory ? std::string_view(grant.directory) : "");
    if (is_of_session)
        statement.bind(grant.session);
    else
        statement.bind_null();
    statement.bind(grant.scope == GrantScope::project ? std::string_view(grant.project) : "");
    statement.bind(grant.command).bind(grant.origin).bind(grant.reason);
    statement.bind(grant.created_at).bind(grant.expires_at);
    const bool has_row = TRY(statement.step());
    const std::int64_t id = has_row ? statement.integer(0) : 0;
    TRY(statement.run()); // runs to the end, else the insert is not carried out
    if (grant.kind == GrantKind::question) {
        Statement old = TRY(database.prepare(delete_old_questions));
        TRY(old.bind(most_questions).run());
    }
    return id;
}

Result<FoundGrants> take_grants(Database& database, const RevokeWhat& what, UnixMs now) {
    Selection selection = selection_of(what);
    selection.unexpired_at = now;
    FoundGrants taken = TRY(select(database, selection));
    Statement statement = TRY(database.prepare(delete_some));
    bind(statement, selection);
    TRY(statement.run());
    return taken;
}

Result<void> delete_expired_grants(Database& database, UnixMs now) {
    Statement statement = TRY(database.prepare(delete_expired));
    return statement.bind(now).run();
}

Result<void> add_uses(Database& database, std::int64_t grant, std::int64_t count, UnixMs last) {
    Statement statement = TRY(database.prepare(update_uses));
    return statement.bind(grant).bind(count).bind(last).run();
}

} // namespace ew::store
