// The version of the program. The protocol has its own (protocol/methods.h).
#pragma once

#include <string_view>

namespace ew {

constexpr std::string_view program_version = EXECWARD_VERSION; // from meson.build

// The rules of the machine: they bind every user of it.
constexpr const char* system_rules_directory = "/etc/execward/rules.d";

} // namespace ew
