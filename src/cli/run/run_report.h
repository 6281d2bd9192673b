// What `execward run` says for itself: on stderr, each line beginning with "execward: ".
#pragma once

#include "base/error.h"
#include "sandbox/policy/guarantees.h"
#include "sandbox/supervise/denials.h"

#include <string>
#include <vector>

namespace ew::cli {

// The error, and the way out on another line.
void report_error(const Error& error);

// What the sandbox of this command does not keep, and what its plan left out.
void report_missing(sandbox::GuaranteeSet missing, const std::vector<std::string>& notes);

// What was refused, a line for each, with the option that would have allowed it.
void report_denials(const sandbox::DenialLog& denials);

} // namespace ew::cli
