// The tools that a model sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::mcp {

enum class Tool : std::uint8_t {
    run_command,
    read_output,
    wait,
    screen, // only where execward can draw one
    send_input,
    stop_process,
    list_processes,
    apply_patch,
    check_command,
};

std::optional<Tool> tool_named(std::string_view name);

// The members of the result of tools/list, always the same.
std::string tool_list();

// The names of all tools, for errors.
std::string tool_names();

} // namespace ew::mcp
