// Finds the rules that apply to one command. Rules that make a decision stricter match broadly:
// through paths, for commands that the command would start, and where a pattern could expand to
// their words. Allow rules match exactly.
#pragma once

#include "core/judgement/dissection.h"
#include "core/judgement/rule_index.h"

namespace ew::core {

struct RuleMatches {
    const PrefixRule* strict = nullptr; // the longest of the strictest prompt or forbid rules
    bool is_possible_only = false;     // `strict` would match only with other words in other places
    bool is_unsettled = false;         // more rules may match: there was too much to compare
    const PrefixRule* allow = nullptr; // the longest allow rule
};

RuleMatches find_rules(const Part& part, RuleIndex& index, const ProgramTrust& trust);

} // namespace ew::core
