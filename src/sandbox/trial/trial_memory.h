// What a trial found, kept on the disk until the machine starts again.
#pragma once

#include "base/result.h"
#include "sandbox/policy/machine.h"
#include "sandbox/trial/trial.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// What was found before, if it was found in this boot, by this build and user, in the same
// surroundings (namespaces, capabilities, system call filters), with the same bubblewrap and
// execward-init, and was everything. What a machine lacks is not kept: it may have been repaired.
std::optional<Machine> remembered_trial(const TrialPlaces& places);

// Of a machine with troubles nothing is kept, nor is what was found before. What goes wrong here
// costs another trial, and no more.
void remember_trial(const TrialPlaces& places, const Machine& machine);

// For the pipe of an errand, and the file. Error: internal, the text is no whole machine.
std::string encode(const Machine& machine);
Result<Machine> decode_machine(std::string_view text);

} // namespace ew::sandbox
