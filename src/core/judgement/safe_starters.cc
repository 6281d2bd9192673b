#include "core/judgement/safe_starters.h"

#include "core/judgement/program_options.h"

#include <string>
#include <string_view>
#include <utility>

namespace ew::core {

namespace {

// Options of xargs(1), findutils 4.9. Not listed are -p and -o, which use the terminal, -a, and
// --process-slot-var, which sets a variable.
constexpr KnownOptions xargs_options = {
    .shorts = "0rtxn:L:s:P:d:E:I:i::",
    .longs = "null no-run-if-empty verbose exit max-args= max-procs= max-chars= delimiter= "
             "replace?",
    .stops_at_operand = true};

// Returns the text that xargs replaces in the words. Empty: it appends words.
std::string_view replaced_text(const ReadWords& read) {
    std::string_view text;
    for (const auto& [name, value] : read.options)
        if (name == "I" || name == "i" || name == "replace") text = value.empty() ? "{}" : value;
    return text;
}

} // namespace

std::optional<std::vector<ShellCommand>> started_by_xargs(const ShellCommand& command) {
    const auto read = read_words(command, 1, xargs_options);
    if (!command.reads_pipe || !read || read->operands.empty()) return std::nullopt;
    const std::string_view replaced = replaced_text(*read);
    ShellCommand started;
    for (const std::size_t at : read->operands) {
        const bool is_replaced =
            !replaced.empty() && command.words[at].find(replaced) != std::string::npos;
        started.words.push_back(is_replaced ? "*" : command.words[at]);
        started.has_glob.push_back(is_replaced || command.has_glob[at]);
    }
    started.words.emplace_back("*");
    started.has_glob.push_back(true);
    return std::vector{std::move(started)};
}

} // namespace ew::core
