// The files of schema/, as they were when this program was built.
#pragma once

#include <string>
#include <string_view>

namespace ew::cli {

std::string protocol_json();
std::string types_json();

} // namespace ew::cli
