#include "config/rule_text.h"

#include "config/host_rule_text.h"
#include "core/judgement/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace ew::config {

namespace {

using core::Decision;
using core::PrefixRule;
using toml::Problem;
using toml::Table;
using toml::TableReader;
using toml::Value;

using Words = std::vector<std::string>;

constexpr std::size_t most_problems = 100;
constexpr std::size_t most_salvaged_blocks = 10'000; // per text; each block is parsed separately

// An example is a list of words, or a string with one command as typed in a shell.
std::optional<Words> words_of(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value.is)) {
        core::Script script = core::decompose(*text);
        if (!script.obstacle.empty() || !script.is_plain || script.has_input ||
            script.commands.size() != 1)
            return std::nullopt;
        return std::move(script.commands.front().words);
    }
    const auto* array = std::get_if<toml::Array>(&value.is);
    if (!array || array->items.empty()) return std::nullopt;
    Words words;
    for (const Value& item : array->items) {
        const auto* word = std::get_if<std::string>(&item.is);
        if (!word) return std::nullopt;
        words.push_back(*word);
    }
    return words;
}

// Reads one position of a prefix: a word, or a list of alternative words.
std::optional<Words> alternatives_of(const Value& value) {
    Words words;
    if (const auto* word = std::get_if<std::string>(&value.is)) words.push_back(*word);
    if (const auto* array = std::get_if<toml::Array>(&value.is))
        for (const Value& item : array->items) {
            const auto* word = std::get_if<std::string>(&item.is);
            if (!word) return std::nullopt;
            words.push_back(*word);
        }
    const bool has_empty = std::find(words.begin(), words.end(), "") != words.end();
    if (words.empty() || has_empty) return std::nullopt;
    return words;
}

// The part of a prefix that could be read.
enum class Extent : std::uint8_t { none, beginning, whole };

bool is_allow(const PrefixRule& rule) {
    return rule.decision == Decision::allow;
}

bool allows_host(const core::HostRule& rule) {
    return rule.decision == Decision::allow;
}

class RuleReader {
public:
    // `first_line` is the number of lines before the text, if it is a part of a file.
    RuleReader(const RuleSource& source, std::uint32_t first_line, RuleText& out)
        : source_(source), first_line_(first_line), out_(out) {}

    void read(const Table& document) {
        TableReader reader(document, source_.file, out_.problems);
        for (const Table* table : rule_tables(reader))
            if (std::optional<PrefixRule> rule = read_rule(*table))
                out_.rules.push_back(std::move(*rule));
        for (const Table* table : reader.tables("host_executable"))
            read_host_executable(*table);
        for (const Table* table : reader.tables("network"))
            read_host(*table);
        reader.finish();
        for (const Problem& problem : out_.problems)
            if (!out_.mistake || problem.position < *out_.mistake) out_.mistake = problem.position;
        std::move(without_effect_.begin(), without_effect_.end(),
                  std::back_inserter(out_.problems));
    }

private:
    // A [rule] instead of a [[rule]] is a mistake, but still counts as a rule.
    static std::vector<const Table*> rule_tables(TableReader& reader) {
        constexpr std::string_view name = "rule";
        std::vector<const Table*> tables = reader.tables(name);
        const Value* value = reader.value(name);
        if (const auto* single = value ? std::get_if<Table>(&value->is) : nullptr)
            tables.push_back(single);
        return tables;
    }

    void tell_no_effect(toml::Position position, std::string message) {
        without_effect_.push_back({source_.file, position, std::move(message)});
    }

    void read_host(const Table& table) {
        std::optional<core::HostRule> rule = read_host_rule(
            table, source_, fmt::format("{}:{}", source_.file, table.position.line + first_line_),
            out_.problems);
        if (!rule) return;
        if (rule->decision == Decision::allow && can_only_tighten())
            tell_no_effect(table.position, "decision \"allow\" has no effect: rules of the system "
                                           "and of a project can only tighten");
        out_.hosts.push_back(std::move(*rule));
    }

    // Returns nullopt if the prefix cannot be read.
    std::optional<PrefixRule> read_rule(const Table& table) {
        const std::size_t problems_before = out_.problems.size();
        TableReader reader(table, source_.file, out_.problems);
        PrefixRule rule;
        rule.layer = source_.layer;
        rule.origin = fmt::format("{}:{}", source_.file, table.position.line + first_line_);
        const Extent extent = read_prefix(reader, rule.prefix);
        rule.decision = read_decision(reader);
        rule.further = read_further(reader, rule.decision);
        rule.justification = reader.string("justification").value_or("");
        rule.match = read_examples(reader, "match");
        rule.not_match = read_examples(reader, "not_match");
        reader.finish();
        if (extent == Extent::none) return std::nullopt;
        // The rule matches more than its author meant, so it prompts and does not forbid.
        if (extent == Extent::beginning && !is_allow(rule)) rule.decision = Decision::prompt;
        const bool is_whole = out_.problems.size() == problems_before;
        if (Result<void> checked = core::check(rule); is_whole && !checked)
            reader.complain(table.position, checked.error().message);
        if (is_allow(rule) && can_only_tighten())
            tell_no_effect(reader.position("decision"),
                           "key 'decision': \"allow\" has no effect: rules of the system and of a "
                           "project can only tighten");
        return rule;
    }

    bool can_only_tighten() const {
        return source_.layer == core::RuleLayer::system ||
               source_.layer == core::RuleLayer::project;
    }

    // A string instead of the list is a mistake, but counts as one word.
    static Extent read_prefix(TableReader& reader, std::vector<Words>& prefix) {
        constexpr std::string_view name = "prefix";
        const Value* value = reader.value(name);
        const auto* array = value ? std::get_if<toml::Array>(&value->is) : nullptr;
        if (!array || array->items.empty()) {
            reader.complain(name, "expected the words that a command begins with, such as "
                                  "[\"git\", [\"log\", \"status\"]]");
            std::optional<Words> word = value ? alternatives_of(*value) : std::nullopt;
            if (!word) return Extent::none;
            prefix.push_back(std::move(*word));
            return Extent::whole;
        }
        for (const Value& item : array->items) {
            std::optional<Words> words = alternatives_of(item);
            if (!words) {
                reader.complain(item.position, "key 'prefix': expected a word, or a list of the "
                                               "words that it may be, and none of them empty");
                return prefix.empty() ? Extent::none : Extent::beginning;
            }
            prefix.push_back(std::move(*words));
        }
        return Extent::whole;
    }

    static Decision read_decision(TableReader& reader) {
        constexpr std::string_view name = "decision";
        if (!reader.value(name)) {
            reader.complain(name, "is missing; a rule says \"allow\", \"prompt\" or \"forbidden\"");
            return Decision::prompt;
        }
        const std::optional<std::string> word =
            reader.choice(name, {"allow", "prompt", "forbidden"});
        if (word == "allow") return Decision::allow;
        return word == "forbidden" ? Decision::forbidden : Decision::prompt;
    }

    // Rules that ask or forbid hold for all further words.
    static core::FurtherWords read_further(TableReader& reader, Decision decision) {
        constexpr std::string_view name = "further";
        if (!reader.value(name)) return core::FurtherWords::any;
        const std::optional<std::string> word = reader.choice(name, {"any", "harmless"});
        if (decision != Decision::allow && word == "harmless")
            reader.complain(name, "only a rule that allows can be limited to harmless words");
        return word == "any" ? core::FurtherWords::any : core::FurtherWords::harmless;
    }

    static std::vector<Words> read_examples(TableReader& reader, std::string_view name) {
        std::vector<Words> examples;
        const Value* value = reader.value(name);
        if (!value) return examples;
        const auto* array = std::get_if<toml::Array>(&value->is);
        if (!array) {
            reader.complain(name, "expected a list of commands");
            return examples;
        }
        for (const Value& item : array->items) {
            std::optional<Words> words = words_of(item);
            if (words)
                examples.push_back(std::move(*words));
            else
                reader.complain(item.position,
                                fmt::format("key '{}': expected one plain command, as "
                                            "a string or a list of words",
                                            name));
        }
        return examples;
    }

    void read_host_executable(const Table& table) {
        TableReader reader(table, source_.file, out_.problems);
        core::HostExecutable entry;
        entry.name = reader.string("name").value_or("");
        entry.paths = reader.strings("paths").value_or(Words());
        reader.finish();
        if (entry.name.empty() || entry.name.find('/') != std::string::npos)
            return reader.complain("name", "expected the name of a program, without a directory");
        for (const std::string& path : entry.paths)
            if (!path.starts_with('/')) reader.complain("paths", "expected absolute paths");
        if (source_.layer == core::RuleLayer::project)
            return tell_no_effect(table.position, "has no effect: a project does not say which "
                                                  "programs are the real ones");
        out_.host_executables.push_back(std::move(entry));
    }

    const RuleSource& source_;
    std::uint32_t first_line_;
    RuleText& out_;
    std::vector<Problem> without_effect_;
};

// Returns the line without blanks and quotes, which may surround every part of a header.
std::string bare(std::string_view line) {
    constexpr std::string_view blanks = " \t";
    constexpr std::size_t longest_header = 100; // longer than any header that a person would write
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    std::string left;
    for (const char byte : line.substr(0, longest_header))
        if (blanks.find(byte) == std::string_view::npos && byte != '"' && byte != '\'')
            left += byte;
    return left;
}

bool begins_block(std::string_view line) {
    const std::string header = bare(line);
    return header.starts_with("[[rule]]") || header.starts_with("[[host_executable]]") ||
           header.starts_with("[rule]") || header.starts_with("rule=") ||
           header.starts_with("[[network]]");
}

// Parses one block. If it has a mistake, parses only the lines before the mistake.
std::optional<Table> parse_block(std::string_view block, const std::string& file) {
    Problem problem;
    std::optional<Table> table = toml::parse(block, file, problem);
    if (table || problem.position.line < 2) return table;
    std::size_t end = 0;
    for (std::uint32_t line = 1; line < problem.position.line; ++line)
        end = block.find('\n', end) + 1;
    return toml::parse(block.substr(0, end), file, problem);
}

// Returns the rules of a text that does not parse, block by block. A block may be just a quotation
// in another one, or incomplete, so these rules must only make decisions stricter.
RuleText salvage(std::string_view text, const RuleSource& source) {
    RuleText found;
    std::size_t blocks = 0;
    std::uint32_t line_number = 0;
    std::uint32_t block_line = 0;
    std::size_t block_begin = std::string_view::npos;
    const auto read_block = [&](std::size_t end) {
        if (block_begin == std::string_view::npos || blocks == most_salvaged_blocks) return;
        ++blocks;
        const std::string_view block = text.substr(block_begin, end - block_begin);
        if (const std::optional<Table> table = parse_block(block, source.file))
            RuleReader(source, block_line, found).read(*table);
        found.problems.clear(); // the text as a whole already has a problem
    };
    for (std::size_t begin = 0; begin < text.size(); ++line_number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (begins_block(text.substr(begin, end - begin))) {
            read_block(begin);
            block_begin = begin;
            block_line = line_number;
        }
        begin = end + 1;
    }
    read_block(text.size());
    return found;
}

void limit_problems(std::vector<Problem>& problems, const std::string& file) {
    if (problems.size() <= most_problems) return;
    const std::size_t more = problems.size() - most_problems;
    problems.erase(problems.begin() + most_problems, problems.end());
    problems.push_back({file, {}, fmt::format("has {} more problems", more)});
}

} // namespace

RuleText read_rules(std::string_view text, const RuleSource& source) {
    RuleText out;
    Problem problem;
    if (const std::optional<Table> document = toml::parse(text, source.file, problem)) {
        RuleReader(source, 0, out).read(*document);
    } else {
        out.mistake = problem.position;
        out.problems.push_back(std::move(problem));
        RuleText found = salvage(text, source);
        out.rules = std::move(found.rules);
        out.hosts = std::move(found.hosts);
    }
    if (!out.problems.empty() || !source.may_allow) {
        std::erase_if(out.rules, is_allow);
        std::erase_if(out.hosts, allows_host);
        out.host_executables.clear();
    }
    std::stable_sort(out.problems.begin(), out.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.position < b.position; });
    limit_problems(out.problems, source.file);
    return out;
}

} // namespace ew::config
