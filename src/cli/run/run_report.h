// The messages of `execward run` itself, lines on stderr that begin with "execward: ", and its exit
// statuses.
#pragma once

#include "base/error.h"
#include "sandbox/policy/guarantees.h"
#include "sandbox/supervise/denials.h"

#include <string>
#include <vector>

namespace ew::cli {

// Exit statuses of execward itself, as in env(1) and timeout(1). A command may return the same
// ones.
constexpr int status_not_run = 125; // usage, a refusal, or the command could not be confined
constexpr int status_not_executable = 126;
constexpr int status_not_found = 127;

// Returns the exit status for a command that has not run.
int status_of_failure(const Error& failure);

// Prints the error, and its hint on a second line.
void report_error(const Error& error);

// Prints a problem that does not stop the command.
void report_warning(const Error& warning);

// Prints the names of variables that the command does not get.
void report_withheld(const std::vector<std::string>& names);

// Prints the guarantees that the sandbox of this command does not keep, and the notes of its plan.
void report_missing(sandbox::GuaranteeSet missing, const std::vector<std::string>& notes);

// Prints a line for each denial, with the option that would have allowed it.
void report_denials(const sandbox::DenialLog& denials);

} // namespace ew::cli
