// The commands of the audit, for subcommands that look at all of them.
#pragma once

#include "base/result.h"
#include "report/history.h"
#include "store/store.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ew::cli {

// Calls `take` with each row behind that id, oldest first. Reads in pieces, so that neither the
// memory nor a lock is held for all of them.
Result<void> each_row(store::Store& store, std::int64_t after,
                      const std::function<void(const store::AuditRow&)>& take);

// Reads the whole audit.
Result<report::History> history_of(store::Store& store);

// Returns the commands of one session. `session` is its id, or the beginning of no other one.
// Errors: there is no such session, or there are several.
Result<std::vector<report::Command>> commands_of(const report::History& history,
                                                 const std::string& session);

// Returns the commands that began at this time or later.
std::vector<report::Command> commands_since(const report::History& history, store::UnixMs since);

} // namespace ew::cli
