// One sandbox, built on a scratch tree as any other would be, in which execward-init tries what is
// forbidden.
#pragma once

#include "base/clock.h"
#include "sandbox/policy/machine.h"
#include "sandbox/trial/scratch.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct Finding {
    std::string name; // of a guarantee as the enum spells it, or "works_…"
    bool went_through = false;
    int error_number = 0;

    bool operator==(const Finding&) const = default;
};

struct ProbeRun {
    std::string failure = {}; // empty: the sandbox was in force, and everything was tried in it
    std::vector<Finding> findings = {};
};

// Waits for it until `deadline`, and then ends it.
ProbeRun run_probes(const Machine& machine, const Scratch& scratch, Network network,
                    TimePoint deadline);

// The output of `execward-init probe`. Lines that are not of that form are left out.
std::vector<Finding> findings_in(std::string_view text);

} // namespace ew::sandbox
