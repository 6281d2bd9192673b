// The files of schema/, as they were when this program was built.
#pragma once

#include <string_view>

namespace ew::cli {

extern const std::string_view protocol_json;
extern const std::string_view types_json;

} // namespace ew::cli
