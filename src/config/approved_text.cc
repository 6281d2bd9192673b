#include "config/approved_text.h"

#include "config/rule_files.h"
#include "config/rule_text.h"
#include "core/judgement/further_words.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "toml/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace ew::config {

namespace {

using core::PrefixRule;

using Words = std::vector<std::string>;

constexpr std::string_view file_comment =
    "# Commands that a person has approved. execward adds rules at the end of this file, and what\n"
    "# you write here stays as it is.\n";
constexpr std::string_view rule_comment = "# Approved ";
constexpr std::size_t longest_reason = 500; // bytes

Error refusal(std::string_view file, std::string_view why) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", file, why)};
}

// Returns the rules of a text. Returns an error if the text has a mistake.
Result<RuleText> rules_of(std::string_view text, std::string_view file) {
    RuleText rules = read_rules(text, {std::string(file)});
    if (rules.problems.empty()) return rules;
    Error error = toml::as_error(rules.problems.front());
    error.hint = "correct the file by hand; execward does not change one with a mistake in it";
    return error;
}

bool allows_exactly(const PrefixRule& rule, const Words& prefix) {
    return rule.decision == core::Decision::allow &&
           std::equal(rule.prefix.begin(), rule.prefix.end(), prefix.begin(), prefix.end(),
                      [](const Words& alternatives, const std::string& word) {
                          return alternatives.size() == 1 && alternatives.front() == word;
                      });
}

// Returns the reason on one line, without invisible characters.
std::string one_line(std::string_view reason) {
    std::string line;
    const std::string text = core::lossy(reason.substr(0, longest_reason));
    for (std::string_view rest = text; !rest.empty();) {
        const core::Character character = core::first_character(rest);
        const char32_t code = character.code_point;
        const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (!is_control)
            line += rest.substr(0, character.size);
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
        rest.remove_prefix(character.size);
    }
    while (line.ends_with(' '))
        line.pop_back();
    return core::has_invisible(line) ? core::visible(line) : line;
}

std::string written_time(std::int64_t unix_ms) {
    const std::time_t seconds = unix_ms / 1000;
    std::tm parts = {};
    (void)::gmtime_r(&seconds, &parts); // fails for years that do not fit into an int
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string block_of(const Approval& approval) {
    const std::string reason = one_line(approval.reason);
    std::string block =
        fmt::format("{}{}{}{}\n[[rule]]\nprefix = [", rule_comment, written_time(approval.unix_ms),
                    reason.empty() ? "" : ": ", reason);
    for (std::size_t i = 0; i < approval.prefix.size(); ++i)
        block += (i > 0 ? ", " : "") + toml::quoted(approval.prefix[i]);
    block += "]\ndecision = \"allow\"\nfurther = \"harmless\"\n";
    if (!reason.empty()) block += fmt::format("justification = {}\n", toml::quoted(reason));
    return block;
}

Result<void> check_prefix(const Words& prefix) {
    if (prefix.empty()) return Error{ErrorKind::invalid_params, "the prefix of a rule is empty"};
    for (const std::string& word : prefix) {
        if (word.empty())
            return Error{ErrorKind::invalid_params, "a word of the prefix of a rule is empty"};
        if (core::valid_prefix(word) != word.size() || word.find('\0') != std::string::npos)
            return Error{ErrorKind::invalid_params,
                         "a word of the prefix of a rule cannot be written as text"};
    }
    if (!core::can_be_approved(prefix))
        return Error{
            ErrorKind::invalid_params,
            fmt::format("it is not known what '{}' does with further words or with its input",
                        core::shell_quoted(prefix)),
            "approve exactly this command, or write the rule by hand"};
    return {};
}

} // namespace

Result<std::optional<std::string>> text_with_rule(const std::string& text, std::string_view file,
                                                  const Approval& approval) {
    TRY(check_prefix(approval.prefix));
    const RuleText rules = TRY(rules_of(text, file));
    for (const PrefixRule& rule : rules.rules)
        if (allows_exactly(rule, approval.prefix)) return std::optional<std::string>();
    const std::string block =
        text.empty() ? fmt::format("{}\n{}", file_comment, block_of(approval)) : block_of(approval);
    const std::size_t size = text.size() + block.size() + 2; // with the line ends before the block
    if (size > longest_rule_file || rules.rules.size() >= most_rules)
        return Error{ErrorKind::limit, fmt::format("{}: there is no room for more rules", file)};
    toml::Edit edit = TRY(toml::Edit::open(text, file));
    edit.append(block);
    std::optional<std::string> longer = edit.result();
    if (!longer || !read_rules(*longer, {std::string(file)}).problems.empty())
        return refusal(file, "a block [[rule]] cannot be added at the end; write the rules that "
                             "are there as such blocks");
    return longer;
}

Result<std::optional<std::string>> text_without_rule(const std::string& text, std::string_view file,
                                                     const Words& prefix) {
    std::string shorter = text;
    for (bool is_changed = false;; is_changed = true) {
        const RuleText rules = TRY(rules_of(shorter, file));
        const auto found =
            std::find_if(rules.rules.begin(), rules.rules.end(),
                         [&](const PrefixRule& rule) { return allows_exactly(rule, prefix); });
        if (found == rules.rules.end())
            return is_changed ? std::optional(std::move(shorter)) : std::nullopt;
        const auto index = static_cast<std::size_t>(found - rules.rules.begin());
        toml::Edit edit = TRY(toml::Edit::open(shorter, file));
        std::optional<std::string> left;
        if (edit.remove("rule", index, rule_comment)) left = edit.result();
        if (!left)
            return refusal(file, "the rule is not a block [[rule]] of its own; remove it by hand");
        shorter = std::move(*left);
    }
}

} // namespace ew::config
