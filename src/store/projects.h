// The table of projects whose own rules the user has agreed to.
#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::store {

Result<void> trust(Database& database, std::string_view directory, UnixMs now);
Result<bool> distrust(Database& database, std::string_view directory); // false: it was not trusted
Result<bool> is_trusted(Database& database, std::string_view directory);
Result<std::vector<std::string>> trusted(Database& database); // sorted

} // namespace ew::store
