#include "sandbox/trial/trial_verdict.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

namespace {

struct Probe {
    std::string_view name;
    Guarantee guarantee;
    std::string_view what; // "… went through"
};

constexpr std::array probes = {
    Probe{"fs_write", Guarantee::fs_write, "making a file outside of the writable roots"},
    Probe{"fs_metadata", Guarantee::fs_metadata, "changing a mode outside of the writable roots"},
    Probe{"protected_paths", Guarantee::protected_paths, "writing to .git/config"},
    Probe{"deny_read", Guarantee::deny_read, "reading a denied file"},
    Probe{"private_tmp", Guarantee::private_tmp, "seeing a file in the machine's /tmp"},
    Probe{"kernel_settings", Guarantee::kernel_settings, "opening /proc/sys for writing"},
    Probe{"proc_hidden", Guarantee::proc_hidden, "seeing another process in /proc"},
    Probe{"signals", Guarantee::signals, "signalling another process"},
    Probe{"net_off", Guarantee::net_off, "connecting to a port of the machine"},
    Probe{"abstract_sockets", Guarantee::abstract_sockets, "connecting to an abstract socket"},
    Probe{"socket_files", Guarantee::socket_files, "connecting to a socket file"},
    Probe{"named_pipes", Guarantee::named_pipes, "opening a named pipe for writing"},
    Probe{"system_calls", Guarantee::system_calls, "a system call that is to be refused"},
};

// Returns nullptr if the name is not that of a probe.
const Probe* probe_named(std::string_view name) {
    for (const Probe& probe : probes)
        if (probe.name == name) return &probe;
    return nullptr;
}

} // namespace

void apply_trial_verdict(Machine& machine, const std::vector<Finding>& findings, Network network) {
    const GuaranteeSet promised = given_by(machine, network);
    for (const Finding& finding : findings) {
        const Probe* const probe = probe_named(finding.name);
        if (probe == nullptr || !finding.went_through || !promised.has(probe->guarantee)) continue;
        const std::string means = means_for(machine, network, probe->guarantee);
        machine.broken.add(probe->guarantee);
        machine.troubles.push_back(
            {std::string(mechanism::sandbox),
             fmt::format("{} went through, although {} should have kept it from that", probe->what,
                         means),
             "do not rely on it here; please report it, with the output of execward doctor"});
    }
}

} // namespace ew::sandbox
