// Finds what rules and the list of harmless programs say about each part of a call.
#pragma once

#include "core/judgement/command_safety.h"
#include "core/judgement/finding.h"
#include "core/judgement/judgement.h"
#include "core/judgement/rule_index.h"

#include <optional>
#include <vector>

namespace ew::core {

class Judge {
public:
    // Refers to all of these. Without `has_own_environment`, the caller's variables are left out if
    // all parts are safe.
    Judge(const JudgedCommand& judged, const std::vector<Part>& parts, const RuleSet& rules,
          const ProgramTrust& trust, bool has_own_environment)
        : judged_(judged),
          parts_(parts),
          rules_(rules),
          index_(rules),
          trust_(trust),
          has_own_environment_(has_own_environment) {}

    Finding find(const Part& part);

private:
    bool may_be_banned(const Part& part);
    bool speaks_of_rule();
    bool is_safe(const Part& part) const;
    bool wants_more() const;
    Finding by_heuristic(const Part& part, Danger danger) const;

    const JudgedCommand& judged_;
    const std::vector<Part>& parts_;
    const RuleSet& rules_;
    RuleIndex index_;
    const ProgramTrust& trust_;
    bool has_own_environment_;
    std::optional<bool> speaks_of_rule_ = {}; // not known before somebody asks
};

} // namespace ew::core
