// The error for a database that cannot be used.
#pragma once

#include "base/error.h"

#include <string>
#include <string_view>

namespace ew::store {

// "the database PATH cannot be used: CAUSE".
Error unavailable(std::string_view path, std::string_view cause, std::string way_out);

std::string os_error_text(int error_number);

} // namespace ew::store
