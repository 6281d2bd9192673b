// Creates and updates the tables by a list of steps that only grows. The user_version is the number
// of steps taken.
#pragma once

#include "base/result.h"
#include "store/database.h"

namespace ew::store {

// Changes nothing. Returns an error for a database of another program, or of a newer execward.
Result<void> check_identity(Database& database);

// Carries out the missing steps.
Result<void> migrate(Database& database);

} // namespace ew::store
