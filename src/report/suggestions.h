// Rules that would have saved questions: found in the commands that a person has allowed again and
// again. Nothing here changes a rule.
#pragma once

#include "core/judgement/command_safety.h"
#include "core/judgement/dissection.h"
#include "core/judgement/judgement.h"
#include "core/judgement/rules.h"
#include "report/history.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace ew::report {

// A command line with the number of times that it was asked about, or ran without a question.
struct Seen {
    core::Words argv = {};
    std::string directory = {};
    std::uint64_t asked = 0; // questions that a person answered by allowing the command
    bool was_denied = false; // by a person, a rule or the policy
};

// The distinct command lines of a history. Leaves out patches, and commands that a person replaced.
std::vector<Seen> seen_in(const std::vector<Command>& commands);

// A command line with what the rules in force say about it under the policy `untrusted`.
struct JudgedLine {
    Seen seen = {};
    core::Judgement judgement = {};
    std::vector<core::Part> parts = {}; // the commands in it
};

std::vector<JudgedLine> judged_lines(std::vector<Seen> seen, const core::RuleSet& rules,
                                     const core::ProgramTrust& trust);

// Returns the rules that no command begins with the words of, that no judgement names, and no row
// of the audit: `named` are those that rows name.
std::vector<core::PrefixRule> unused_rules(const std::vector<JudgedLine>& lines,
                                           const core::RuleSet& rules,
                                           const std::set<std::string>& named);

// A rule that allows these words, and of further ones those that are known to do no harm.
struct Suggestion {
    core::Words prefix = {};
    std::uint64_t saved = 0;                // questions
    std::vector<core::Words> commands = {}; // all that it would newly allow, of those in the audit
    std::string obstacle = {};              // why it is not suggested; empty if it is
};

// A command line that was asked about again and again, without a rule that execward can suggest.
struct Unsolved {
    core::Words argv = {};
    std::uint64_t asked = 0;
};

struct Suggestions {
    std::vector<Suggestion> rules = {};   // those that save most first
    std::vector<Suggestion> refused = {}; // likewise; with an obstacle
    std::vector<Unsolved> unsolved = {};  // those that were asked most first
};

// The fewest questions that a rule must have saved.
constexpr std::uint64_t least_saved = 2;

// The most rules that are tried: those whose commands were asked about most.
constexpr std::size_t most_tried = 64;

// `rules` are those in force. A question counts as saved if the command would have been asked about
// under the policy `untrusted`, and runs with the rule.
Suggestions suggestions_for(const std::vector<JudgedLine>& lines, const core::RuleSet& rules,
                            const core::ProgramTrust& trust);

} // namespace ew::report
