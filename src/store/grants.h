// The table of grants.
#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::store {

// Grants, and the number of rows skipped because this version does not understand them.
struct FoundGrants {
    std::vector<Grant> grants = {};
    std::int64_t skipped = 0;
};

// The command to be run: its directory, session, project and time; and what it is looked up for.
struct Asker {
    std::string_view directory = {};
    std::string_view session = {};
    std::string_view project = {};
    UnixMs now = 0;
    GrantKind kind = GrantKind::command; // or denial, or host
};

// How many questions are kept. The oldest go first.
constexpr std::int64_t most_questions = 100;

// Returns true if `directory` is `root` or is below it. Both are absolute and without "." and "..".
bool is_at_or_below(std::string_view directory, std::string_view root);

// Returns the grants that apply to this asker, narrowest scope first.
Result<FoundGrants> grants_for_command(Database& database, std::string_view key,
                                       const Asker& asker);
// Includes the scopes directory and workspace, wherever the asker is.
Result<FoundGrants> prefix_grants(Database& database, const Asker& asker);

// Returns the newest grants first.
Result<FoundGrants> list_grants(Database& database, const GrantFilter& filter, UnixMs now);

// Inserts a grant, or renews an equal one, which gets the new reason, origin, command and expiry.
// Returns the id. A grant that ends with its session needs the row of that session.
Result<std::int64_t> put_grant(Database& database, const Grant& grant);

// Deletes the valid grants that match, and returns them. Call this inside a transaction.
Result<FoundGrants> take_grants(Database& database, const RevokeWhat& what, UnixMs now);

Result<void> delete_expired_grants(Database& database, UnixMs now);

Result<void> add_uses(Database& database, std::int64_t grant, std::int64_t count, UnixMs last);

} // namespace ew::store
