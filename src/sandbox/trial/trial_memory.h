// The result of a trial, kept on the disk until the machine boots again.
#pragma once

#include "base/result.h"
#include "sandbox/policy/machine.h"
#include "sandbox/trial/trial.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// Returns an earlier result if it was found in this boot, by this build and user, in the same
// surroundings (namespaces, capabilities, system call filters), with the same bubblewrap and
// execward-init, and the machine lacked nothing. Results with troubles are not kept, since the
// machine may have been repaired.
std::optional<Machine> remembered_trial(const TrialPlaces& places);

// Keeps nothing of a machine with troubles, and removes an earlier result. A failure here only
// costs another trial.
void remember_trial(const TrialPlaces& places, const Machine& machine);

// For the pipe of an errand, and the file. Error: internal; the text is not a complete machine.
std::string encode(const Machine& machine);
Result<Machine> decode_machine(std::string_view text);

} // namespace ew::sandbox
