// A question to the person at the terminal of this process.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "protocol/approval.h"

#include <optional>

namespace ew::cli {

// Returns an empty descriptor if this process has no controlling terminal (tty(4)).
UniqueFd own_terminal();

// Asks until the answer is one of those that are offered; the end of the input is a denial. Returns
// nullopt if there is no answer within `patience`; 0 waits for as long as it takes.
std::optional<protocol::ApprovalAnswer>
ask_on_terminal(int terminal, const protocol::ApprovalRequest& request, Millis patience);

} // namespace ew::cli
