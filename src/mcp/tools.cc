#include "mcp/tools.h"

#include "core/screen/screen.h"
#include "mcp/tool_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ew::mcp {

namespace {

// In the order in which a model sees them.
constexpr auto names = std::to_array<std::pair<std::string_view, Tool>>({
    {"run_command", Tool::run_command},
    {"read_output", Tool::read_output},
    {"wait", Tool::wait},
    {"screen", Tool::screen},
    {"send_input", Tool::send_input},
    {"stop_process", Tool::stop_process},
    {"list_processes", Tool::list_processes},
    {"apply_patch", Tool::apply_patch},
    {"check_command", Tool::check_command},
});

bool is_offered(Tool tool) {
    return tool != Tool::screen || core::Screen::is_available();
}

// Returns the JSON text on one line. No string in it has a line end.
std::string joined(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        line += text.substr(0, end);
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of("\n "), text.size()));
    }
    return line;
}

} // namespace

std::optional<Tool> tool_named(std::string_view name) {
    const auto* const found =
        std::ranges::find(names, name, &std::pair<std::string_view, Tool>::first);
    if (found == names.end() || !is_offered(found->second)) return std::nullopt;
    return found->second;
}

std::string tool_list() {
    std::string tools;
    for (const auto& [name, tool] : names)
        if (is_offered(tool)) tools += (tools.empty() ? "" : ",") + joined(text_of(tool));
    const std::string outcome = joined(outcome_schema());
    for (std::size_t at = 0; (at = tools.find(outcome_mark, at)) != std::string::npos;)
        tools.replace(at, outcome_mark.size(), outcome);
    return fmt::format(R"("tools":[{}])", tools);
}

std::string tool_names() {
    std::string all;
    for (const auto& [name, tool] : names)
        if (is_offered(tool)) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
    return all;
}

} // namespace ew::mcp
