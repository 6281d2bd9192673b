// What was found out about one part of a script, and how it is told.
#pragma once

#include "core/judgement/dissection.h"
#include "core/judgement/rules.h"

#include <cstdint>
#include <string>

namespace ew::core {

enum class Cause : std::uint8_t {
    rule,
    possible_rule,
    known_safe,
    dangerous,
    unknown,
    confinement,
    too_much,
    gap, // rules could not be read, and one of them may concern this command
};

struct Finding {
    Decision decision = Decision::allow;
    Cause cause = Cause::unknown;
    const PrefixRule* rule = nullptr;
    bool is_also_safe = false; // a rule allows it, and the list of safe commands would
};

bool has_rule(const Finding& finding);

// Returns the cause in a few words.
std::string why(const Finding& finding, const Part& part);

// Returns the cause as a sentence for a person. Words of the command cannot end the quotation marks
// around them.
std::string reason_of(const Finding& finding, const Part& part, const RuleSet& rules);

} // namespace ew::core
