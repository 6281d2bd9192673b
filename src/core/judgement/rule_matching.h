// Which rules hold for one command. Rules that make things stricter are matched generously: through
// paths, through what the command would start, and where a pattern could become their words. Rules
// that allow are matched to the letter.
#pragma once

#include "core/judgement/dissection.h"
#include "core/judgement/rules.h"

namespace ew::core {

struct RuleMatches {
    const PrefixRule* strict = nullptr; // the longest of the strictest prompt or ban
    bool is_possible_only = false;      // `strict` would match with other words in other places
    const PrefixRule* allow = nullptr;  // the longest
};

RuleMatches find_rules(const Part& part, const RuleSet& rules, const ProgramTrust& trust);

} // namespace ew::core
