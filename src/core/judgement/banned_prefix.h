// Prefixes that are never proposed as rules, because the rule would allow too much.
#pragma once

#include "core/judgement/rules.h"

namespace ew::core {

// Returns true if a rule with these words would allow too much: a bare shell, interpreter or
// launcher.
bool is_banned_prefix(const Words& prefix);

} // namespace ew::core
