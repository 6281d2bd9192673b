// Prefixes that are never proposed as rules, because the rule would allow too much.
#pragma once

#include "core/judgement/rules.h"

namespace ew::core {

// Too much would be allowed by a rule with these words: a bare shell, interpreter or launcher.
bool is_banned_prefix(const Words& prefix);

} // namespace ew::core
