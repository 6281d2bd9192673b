#include "config/approved_text.h"

#include "config/rule_files.h"
#include "config/rule_text.h"
#include "core/judgement/banned_prefix.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "core/text/text.h"

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

// The rules of a text without a mistake.
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

bool is_same(const PrefixRule& a, const PrefixRule& b) {
    return a.prefix == b.prefix && a.decision == b.decision && a.justification == b.justification &&
           a.match == b.match && a.not_match == b.not_match;
}

bool is_same(const core::HostExecutable& a, const core::HostExecutable& b) {
    return a.name == b.name && a.paths == b.paths;
}

template <class Items>
bool are_same(const Items& a, const Items& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& one, const auto& other) { return is_same(one, other); });
}

bool has_same_rules(const RuleText& a, const RuleText& b) {
    return are_same(a.rules, b.rules) && are_same(a.host_executables, b.host_executables);
}

// A string of TOML (basic string, TOML 1.0).
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char byte : text) {
        if (byte == '"' || byte == '\\')
            out += fmt::format("\\{}", byte);
        else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04x}", byte);
        else
            out += byte;
    }
    return out + '"';
}

// The reason on one line, without anything that does not show itself.
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
    (void)::gmtime_r(&seconds, &parts); // fails for years that do not fit an int
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string block_of(const Approval& approval) {
    const std::string reason = one_line(approval.reason);
    std::string block =
        fmt::format("{}{}{}{}\n[[rule]]\nprefix = [", rule_comment, written_time(approval.unix_ms),
                    reason.empty() ? "" : ": ", reason);
    for (std::size_t i = 0; i < approval.prefix.size(); ++i)
        block += (i > 0 ? ", " : "") + quoted(approval.prefix[i]);
    block += "]\ndecision = \"allow\"\n";
    if (!reason.empty()) block += fmt::format("justification = {}\n", quoted(reason));
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
    if (core::is_banned_prefix(prefix))
        return Error{
            ErrorKind::invalid_params,
            fmt::format("a rule for '{}' would allow any command", core::shell_quoted(prefix)),
            "approve a longer prefix, or write the rule by hand"};
    return {};
}

// Lines without their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t size = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, size));
        text.remove_prefix(std::min(size + 1, text.size()));
    }
    return lines;
}

std::string_view trimmed(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

bool is_remark(std::string_view line) {
    return trimmed(line).empty() || trimmed(line).starts_with('#');
}

// [begin, end), of lines or bytes.
struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// Where all blocks begin, in the order of the file.
std::vector<std::size_t> block_lines(const toml::Table& document) {
    std::vector<std::size_t> begins;
    for (const toml::Member& member : document.members)
        if (const auto* array = std::get_if<toml::Array>(&member.value.is))
            for (const toml::Value& item : array->items)
                begins.push_back(item.position.line - 1);
    std::sort(begins.begin(), begins.end());
    return begins;
}

// The lines of the block that begins at a line, with the comment above that is ours.
std::optional<Range> lines_to_cut(const std::vector<std::string_view>& lines,
                                  const std::vector<std::size_t>& begins, std::size_t header) {
    if (header >= lines.size() || !trimmed(lines[header]).starts_with("[[rule]]"))
        return std::nullopt;
    const auto next = std::upper_bound(begins.begin(), begins.end(), header);
    Range cut = {header, next == begins.end() ? lines.size() : *next};
    while (cut.end > cut.begin + 1 && is_remark(lines[cut.end - 1]))
        --cut.end;
    if (cut.begin == 0 || !lines[cut.begin - 1].starts_with(rule_comment)) return cut;
    --cut.begin;
    if (cut.begin > 0 && trimmed(lines[cut.begin - 1]).empty()) --cut.begin;
    return cut;
}

// Where the text of these lines begins and ends.
Range offsets_of(const std::string& text, const std::vector<std::string_view>& lines, Range which) {
    const auto offset = [&](std::size_t line) {
        return line < lines.size() ? static_cast<std::size_t>(lines[line].data() - text.data())
                                   : text.size();
    };
    return {offset(which.begin), offset(which.end)};
}

// Without the one rule `index`.
Result<std::string> cut_out(const std::string& text, std::string_view file, RuleText rules,
                            std::size_t index) {
    const Error not_a_block =
        refusal(file, "the rule is not a block [[rule]] of its own; remove it by hand");
    const toml::Table document = TRY(toml::parse(text, file));
    const toml::Member* member = document.find("rule");
    const auto* array = member ? std::get_if<toml::Array>(&member->value.is) : nullptr;
    if (!array || array->items.size() != rules.rules.size()) return not_a_block;
    const std::vector<std::string_view> lines = lines_of(text);
    const std::optional<Range> cut =
        lines_to_cut(lines, block_lines(document), array->items[index].position.line - 1);
    if (!cut) return not_a_block;
    const Range bytes = offsets_of(text, lines, *cut);
    std::string shorter = text.substr(0, bytes.begin) + text.substr(bytes.end);

    // What is cut out must be this rule, and what is left all the others.
    const std::string piece = text.substr(bytes.begin, bytes.end - bytes.begin);
    const RuleText removed = read_rules(piece, {std::string(file)});
    const RuleText left = read_rules(shorter, {std::string(file)});
    const bool is_clean = removed.problems.empty() && left.problems.empty();
    if (!is_clean || removed.rules.size() != 1 ||
        !is_same(removed.rules.front(), rules.rules[index]))
        return not_a_block;
    rules.rules.erase(rules.rules.begin() + static_cast<std::ptrdiff_t>(index));
    if (!has_same_rules(left, rules)) return not_a_block;
    return shorter;
}

} // namespace

Result<std::optional<std::string>> text_with_rule(const std::string& text, std::string_view file,
                                                  const Approval& approval) {
    TRY(check_prefix(approval.prefix));
    RuleText rules = TRY(rules_of(text, file));
    for (const PrefixRule& rule : rules.rules)
        if (allows_exactly(rule, approval.prefix)) return std::optional<std::string>();
    std::string longer = text;
    if (longer.empty()) longer = file_comment;
    if (!longer.ends_with('\n')) longer += '\n';
    longer += '\n' + block_of(approval);
    if (longer.size() > longest_rule_file || rules.rules.size() >= most_rules)
        return Error{ErrorKind::limit, fmt::format("{}: there is no room for more rules", file)};

    PrefixRule added;
    for (const std::string& word : approval.prefix)
        added.prefix.push_back({word});
    added.decision = core::Decision::allow;
    added.justification = one_line(approval.reason);
    rules.rules.push_back(std::move(added));
    const RuleText now = read_rules(longer, {std::string(file)});
    if (!now.problems.empty() || !has_same_rules(now, rules))
        return refusal(file, "a block [[rule]] cannot be added at the end; write the rules that "
                             "are there as such blocks");
    return std::optional(std::move(longer));
}

Result<std::optional<std::string>> text_without_rule(const std::string& text, std::string_view file,
                                                     const Words& prefix) {
    std::string shorter = text;
    for (bool is_changed = false;; is_changed = true) {
        RuleText rules = TRY(rules_of(shorter, file));
        const auto found =
            std::find_if(rules.rules.begin(), rules.rules.end(),
                         [&](const PrefixRule& rule) { return allows_exactly(rule, prefix); });
        if (found == rules.rules.end())
            return is_changed ? std::optional(std::move(shorter)) : std::nullopt;
        const auto index = static_cast<std::size_t>(found - rules.rules.begin());
        shorter = TRY(cut_out(shorter, file, std::move(rules), index));
    }
}

} // namespace ew::config
