#include "core/judgement/literal_commands.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/loose_reading.h"
#include "core/judgement/printed_text.h"
#include "core/judgement/program_options.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

// Returns true if the command runs its input, as shells do, or starts a program that may do so.
bool reads_commands(const Words& words) {
    constexpr std::string_view readers = "source . eval trap at batch ssh xargs parallel";
    const bool is_builtin =
        words.size() > 1 && (words.front() == "builtin" || words.front() == "command");
    return is_listed(readers, base_name(words[is_builtin ? 1 : 0])) ||
           std::any_of(words.begin(), words.end(), [](const std::string& word) {
               return is_shell(word) || is_listed("at batch parallel", base_name(word));
           });
}

bool prints(const Words& words) {
    return is_listed("echo print printf", base_name(words.front()));
}

} // namespace

FoundCommands literal_commands(std::string_view script) {
    LooseReading all;
    read_loosely(script, 0, all);
    const bool reads = std::any_of(all.commands.begin(), all.commands.end(), reads_commands);
    const bool reads_print = reads || all.runs_print || (all.runs_value && all.has_printed_value);
    std::vector<std::string> further;
    if (reads || all.runs_value) further = std::move(all.values);
    if (reads) std::ranges::move(all.inputs, std::back_inserter(further));
    const std::size_t own = all.commands.size();
    for (std::size_t i = 0; i < own && reads_print; ++i)
        if (prints(all.commands[i])) further.push_back(printed_text(all.commands[i]));
    all.inputs.clear();
    for (const std::string& text : further)
        read_loosely(text, 1, all);
    // What these feed to others in turn is not read.
    const std::span<const Words> inner = std::span(all.commands).subspan(own);
    const bool has_inputs = !all.inputs.empty() || std::ranges::any_of(inner, prints);
    if (has_inputs && std::ranges::any_of(inner, reads_commands)) all.is_whole = false;
    return {std::move(all.commands), all.is_whole};
}

} // namespace ew::core
