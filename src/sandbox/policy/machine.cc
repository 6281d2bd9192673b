#include "sandbox/policy/machine.h"

#include <array>
#include <cstdint>

namespace ew::sandbox {

namespace {

// The mechanisms that keep guarantees: each is available or not, for a machine and a network.
enum class Means : std::uint8_t {
    mounts, // and the namespaces that come with them
    pid_namespace,
    own_proc,
    own_network,
    landlock,       // from ABI 3 on: older ones let a program truncate files (landlock(7))
    landlock_opens, // of any version: decides on opens for writing, whatever the mount
    landlock_alone, // the same without mounts, where no rule allows anything below /proc
    scope,          // of Landlock, from ABI 6 on: signals and abstract sockets stay inside
    filter,
    internet_filter, // no internet sockets, where there is no network namespace
    supervisor,      // decides each connect(2)
};

struct Name {
    Means means;
    std::string_view text;
};

constexpr std::array names = {
    Name{Means::mounts, "mounts"},
    Name{Means::pid_namespace, "pid namespace"},
    Name{Means::own_proc, "a /proc of its own"},
    Name{Means::own_network, "network namespace"},
    Name{Means::landlock, "Landlock"},
    Name{Means::landlock_opens, "Landlock"},
    Name{Means::landlock_alone, "Landlock"},
    Name{Means::scope, "Landlock scope"},
    Name{Means::filter, "seccomp"},
    Name{Means::internet_filter, "seccomp"},
    Name{Means::supervisor, "seccomp notification"},
};

struct Row {
    Guarantee guarantee;
    Means means; // one row is enough for a guarantee
};

constexpr std::array rows = {
    Row{Guarantee::fs_write, Means::mounts},
    Row{Guarantee::fs_write, Means::landlock},
    Row{Guarantee::fs_metadata, Means::mounts},
    Row{Guarantee::protected_paths, Means::mounts},
    Row{Guarantee::deny_read, Means::mounts},
    Row{Guarantee::private_tmp, Means::mounts},
    Row{Guarantee::kernel_settings, Means::mounts},
    Row{Guarantee::kernel_settings, Means::landlock_alone},
    Row{Guarantee::proc_hidden, Means::own_proc},
    Row{Guarantee::signals, Means::pid_namespace},
    Row{Guarantee::signals, Means::scope},
    Row{Guarantee::ends_together, Means::pid_namespace},
    Row{Guarantee::net_off, Means::own_network},
    Row{Guarantee::net_off, Means::internet_filter},
    Row{Guarantee::abstract_sockets, Means::own_network},
    Row{Guarantee::abstract_sockets, Means::scope},
    Row{Guarantee::socket_files, Means::supervisor},
    // A read-only mount lets a program open named pipes for writing, since that changes nothing on
    // the disk.
    Row{Guarantee::named_pipes, Means::landlock_opens},
    Row{Guarantee::system_calls, Means::filter},
};

constexpr int truncation_abi = 3;
constexpr int scope_abi = 6;

bool has(const Machine& machine, Network network, Means means) {
    const bool is_off = network != Network::enabled;
    switch (means) {
    case Means::mounts:
    case Means::pid_namespace: return machine.has_mounts;
    case Means::own_proc: return machine.has_mounts && machine.has_proc;
    case Means::own_network: return is_off && machine.has_mounts && machine.has_network_namespace;
    case Means::landlock: return machine.landlock >= truncation_abi;
    case Means::landlock_opens: return machine.landlock > 0;
    case Means::landlock_alone: return !machine.has_mounts && machine.landlock >= truncation_abi;
    case Means::scope: return machine.landlock >= scope_abi;
    case Means::filter: return machine.has_filter;
    case Means::internet_filter:
        return is_off && machine.has_filter &&
               !(machine.has_mounts && machine.has_network_namespace);
    case Means::supervisor: return machine.has_filter && machine.has_notify;
    }
    return false;
}

bool keeps_everything(const Machine& machine) {
    GuaranteeSet all;
    for (std::size_t i = 0; i < guarantee_count; ++i)
        all.add(static_cast<Guarantee>(i));
    return (all - given_by(machine, Network::restricted)).empty();
}

} // namespace

GuaranteeSet given_by(const Machine& machine, Network network) {
    GuaranteeSet given;
    for (const Row& row : rows)
        if (has(machine, network, row.means)) given.add(row.guarantee);
    return given - machine.broken;
}

std::string means_for(const Machine& machine, Network network, Guarantee guarantee) {
    std::string text;
    if (machine.broken.has(guarantee)) return text;
    for (const Row& row : rows) {
        if (row.guarantee != guarantee || !has(machine, network, row.means)) continue;
        if (!text.empty()) text += ", ";
        text += names[static_cast<std::size_t>(row.means)].text;
    }
    return text;
}

std::string_view rung_of(const Machine& machine) {
    if (machine.has_mounts && machine.landlock > 0 && keeps_everything(machine)) return "full";
    if (machine.has_mounts) return "mounts";
    if (!machine.has_filter || machine.landlock < truncation_abi) return "none";
    return machine.landlock >= scope_abi && machine.has_notify ? "landlock" : "landlock-old";
}

} // namespace ew::sandbox
