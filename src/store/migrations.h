// The tables, as a list of steps that only grows. The number of steps taken is the user_version.
#pragma once

#include "base/result.h"
#include "store/database.h"

namespace ew::store {

// Changes nothing. Error: a database of another program, or of a newer execward.
Result<void> check_identity(Database& database);

// Takes the steps that are missing.
Result<void> migrate(Database& database);

} // namespace ew::store
