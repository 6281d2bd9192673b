// The table of projects whose rules the user trusts.
#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::store {

Result<void> trust(Database& database, std::string_view directory, UnixMs now);
// Returns false if the project was not trusted.
Result<bool> distrust(Database& database, std::string_view directory);

Result<bool> is_trusted(Database& database, std::string_view directory);
Result<std::vector<std::string>> trusted(Database& database); // sorted

} // namespace ew::store
