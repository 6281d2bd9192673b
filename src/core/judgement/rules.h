// Rules about the first words of commands. A rule compares whole words; of all matching rules the
// strictest counts.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ew::core {

// The source of a rule. System and project rules can only make decisions stricter: their allow
// rules have no effect.
enum class RuleLayer : std::uint8_t { system, project, user, session };

using Words = std::vector<std::string>;

// The words that an allow rule accepts behind its own.
enum class FurtherWords : std::uint8_t {
    any,
    harmless, // those that further_words.h knows; none for other commands
};

struct PrefixRule {
    std::vector<Words> prefix; // the alternatives for each word
    Decision decision = Decision::prompt;
    FurtherWords further = FurtherWords::any; // of an allow rule
    std::string justification = {};
    std::vector<Words> match = {};     // examples: command lines that it must match
    std::vector<Words> not_match = {}; // examples: command lines that it must not match
    RuleLayer layer = RuleLayer::user;
    std::string origin = {}; // the source as a text for a person: "FILE:LINE", "grant 12"
    std::int64_t grant = 0;  // the stored grant that the rule was made from; 0 if none
};

// An absolute path that may replace the bare name in allow rules.
struct HostExecutable {
    std::string name;
    std::vector<std::string> paths;
};

struct RuleSet {
    std::vector<PrefixRule> rules = {};
    std::vector<HostExecutable> host_executables = {};
    // Why rules may be missing, as a text for a person; empty if none are. A missing rule could
    // concern any command. So a command needs a question if no rule matches it and it is not known
    // to be harmless.
    std::string gap = {};
};

// Returns an error if the rule has no words, or if its examples do not hold.
Result<void> check(const PrefixRule& rule);

// Returns true if `argv` begins with the words of the rule.
bool matches(const PrefixRule& rule, const Words& argv);

// Returns the first alternative of each word for a person: "git push".
std::string shown(const PrefixRule& rule);

} // namespace ew::core
