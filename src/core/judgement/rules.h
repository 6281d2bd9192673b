// Rules for commands by their first words. A rule compares whole words, and of all rules that match
// the strictest counts.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ew::core {

// Where a rule comes from. The rules of the system and of a project can only make things stricter:
// an allow of theirs has no effect.
enum class RuleLayer : std::uint8_t { system, project, user, session };

using Words = std::vector<std::string>;

struct PrefixRule {
    std::vector<Words> prefix; // for each word its alternatives
    Decision decision = Decision::prompt;
    std::string justification = {};
    std::vector<Words> match = {};     // command lines it must match
    std::vector<Words> not_match = {}; // and must not
    RuleLayer layer = RuleLayer::user;
    std::string origin = {}; // for a person: "FILE:LINE", "grant 12"
    std::int64_t grant = 0;  // of the stored grant it was made from; 0: none
};

// An absolute path that may stand for the bare name in rules that allow.
struct HostExecutable {
    std::string name;
    std::vector<std::string> paths;
};

struct RuleSet {
    std::vector<PrefixRule> rules = {};
    std::vector<HostExecutable> host_executables = {};
    // Why rules may be missing, for a person; empty: none are. One that is missing may be about any
    // command, so one that no rule is about and that is not known to be harmless is a question.
    std::string gap = {};
};

// Is the rule sound: it has words, and its examples hold.
Result<void> check(const PrefixRule& rule);

// Does `argv` begin with the words of the rule?
bool matches(const PrefixRule& rule, const Words& argv);

// The first alternative of each word, for a person: "git push".
std::string shown(const PrefixRule& rule);

} // namespace ew::core
