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

// Grants, and how many rows were passed over because their content is not understood.
struct FoundGrants {
    std::vector<Grant> grants = {};
    std::int64_t skipped = 0;
};

// Whoever wants to run something: where, for whom, when.
struct Asker {
    std::string_view directory = {};
    std::string_view session = {};
    std::string_view project = {};
    UnixMs now = 0;
};

// `directory` is `root` or below it. Both are absolute and without "." and "..".
bool is_at_or_below(std::string_view directory, std::string_view root);

// Those that count for this asker, narrowest scope first.
Result<FoundGrants> grants_for_command(Database& database, std::string_view key,
                                       const Asker& asker);
// Of the scopes directory and workspace too, wherever the asker is.
Result<FoundGrants> prefix_grants(Database& database, const Asker& asker);

// Newest first.
Result<FoundGrants> list_grants(Database& database, const GrantFilter& filter, UnixMs now);

// Inserts, or renews one that says the same: reason, origin, command and expiry become the new
// ones. Returns the id. A grant that ends with its session needs that session's row.
Result<std::int64_t> put_grant(Database& database, const Grant& grant);

// Deletes what counts now and returns what it was. Inside a transaction.
Result<FoundGrants> take_grants(Database& database, const RevokeWhat& what, UnixMs now);

Result<void> delete_expired_grants(Database& database, UnixMs now);

Result<void> add_uses(Database& database, std::int64_t grant, std::int64_t count, UnixMs last);

} // namespace ew::store
