// The table of sessions, so that a resumed session gets its grants back until they are too old.
#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/types.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::store {

// Creates the row, or records that the session is in use. An empty `project` leaves the stored one
// unchanged.
Result<void> touch_session(Database& database, std::string_view session, std::string_view project,
                           UnixMs now);

// Returns the project of a session that was used since `oldest`.
Result<std::optional<std::string>> find_session(Database& database, std::string_view session,
                                                UnixMs oldest);

// Deletes sessions that were not used since `oldest`, and their grants.
Result<void> delete_old_sessions(Database& database, UnixMs oldest);

} // namespace ew::store
