// What a recording may do if the person who plays it does not trust it: the server decides about
// everything by its own settings, and nobody approves.
#pragma once

#include "transcript/expectations.h"
#include "transcript/format.h"

#include <optional>
#include <vector>

namespace ew::transcript {

// Returns the first step that only a trusted recording may have: it would act without a decision of
// the server, or change how the server decides.
std::optional<Discord> find_presumption(const std::vector<Step>& steps);

// Returns the message as it may be sent: an answer to a question becomes a denial.
Node restrained(const Node& message);

} // namespace ew::transcript
