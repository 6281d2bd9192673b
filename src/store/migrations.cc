#include "store/migrations.h"

#include "store/unavailable.h"

#include <fmt/core.h>

#include <array>
#include <string>

namespace ew::store {

namespace {

constexpr std::int64_t application_id = 0x45585744; // "EXWD"; file(1) shows it

// A released step never changes. Every change of the schema is a further step.
constexpr std::array<const char*, 1> steps = {R"(
create table sessions (
    id text primary key not null,
    project text not null,
    created_at integer not null,
    last_used_at integer not null
) strict, without rowid;

create table grants (
    id integer primary key autoincrement,
    kind text not null,
    scope text not null,
    key text not null,
    directory text not null,
    session text references sessions (id) on delete cascade,
    project text not null,
    command text not null,
    origin text not null,
    reason text not null,
    created_at integer not null,
    expires_at integer,
    last_used_at integer,
    uses integer not null default 0
) strict;
create unique index grants_once
    on grants (kind, key, scope, directory, coalesce(session, ''), project);
create index grants_of_session on grants (session) where session is not null;
create index grants_to_expire on grants (expires_at) where expires_at is not null;

-- A grant that ends with its session shows the project of that.
create view grants_shown as
    select grants.id as id, kind, scope, key, directory, session,
        coalesce(sessions.project, grants.project) as project, command, origin, reason,
        grants.created_at as created_at, expires_at, grants.last_used_at as last_used_at, uses
    from grants left join sessions on sessions.id = session;

create table projects (
    directory text primary key not null,
    trusted_at integer not null
) strict, without rowid;

create table audit (
    id integer primary key autoincrement,
    at integer not null,
    session text not null,
    call text not null,
    event text not null,
    argv text not null,
    directory text not null,
    decision text not null,
    decided_by text not null,
    rule text not null,
    detail text not null
) strict;
create index audit_by_time on audit (at);
create trigger audit_is_never_changed before update on audit
begin
    select raise(abort, 'the audit is never changed');
end;
)"};

Result<std::int64_t> version_of(Database& database) {
    return database.number_of("pragma user_version");
}

} // namespace

Result<void> check_identity(Database& database) {
    const std::int64_t owner = TRY(database.number_of("pragma application_id"));
    const std::int64_t version = TRY(version_of(database));
    const std::int64_t tables = TRY(database.number_of("select count(*) from sqlite_schema"));
    const bool is_new = owner == 0 && version == 0 && tables == 0;
    if (is_new) return {};
    if (owner != application_id)
        return unavailable(database.path(), "it is a database of another program",
                           "name another file with --database");
    if (version <= static_cast<std::int64_t>(steps.size())) return {};
    return unavailable(database.path(),
                       fmt::format("it was written by a newer execward (its tables have version "
                                   "{}, this program knows {})",
                                   version, steps.size()),
                       "use the newer execward, or name another file with --database");
}

Result<void> migrate(Database& database) {
    const std::int64_t before = TRY(version_of(database));
    if (before == static_cast<std::int64_t>(steps.size())) return {};
    Transaction transaction = TRY(Transaction::begin(database, Durability::full));
    TRY(check_identity(database)); // another process may have changed it before we had the lock
    const std::int64_t version = TRY(version_of(database));
    if (version < 0) return unavailable(database.path(), "its version is no version", "");
    for (std::size_t step = static_cast<std::size_t>(version); step < steps.size(); ++step)
        TRY(database.execute(steps[step]));
    TRY(database.execute(fmt::format("pragma application_id = {}; pragma user_version = {}",
                                     application_id, steps.size())
                             .c_str()));
    return transaction.commit();
}

} // namespace ew::store
