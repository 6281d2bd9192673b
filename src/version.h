// The version of the program. The protocol has its own (protocol/methods.h).
#pragma once

#include <string_view>

namespace ew {

constexpr std::string_view program_version = EXECWARD_VERSION; // from meson.build

} // namespace ew
