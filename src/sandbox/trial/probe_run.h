// One run of the probes: a sandbox on a scratch tree, built as any other, in which execward-init
// tries forbidden things.
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
    std::string failure = {}; // empty: the sandbox was in force, and all probes were tried
    std::vector<Finding> findings = {};
};

// Waits for the run until `deadline`, and then ends it.
ProbeRun run_probes(const Machine& machine, const Scratch& scratch, Network network,
                    TimePoint deadline);

// Parses the output of `execward-init probe`. Lines of another form are left out.
std::vector<Finding> findings_in(std::string_view text);

} // namespace ew::sandbox
