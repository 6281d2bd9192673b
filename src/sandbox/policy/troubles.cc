#include "sandbox/policy/troubles.h"

#include "os/proc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ew::sandbox {

namespace {

using Loss = Diagnosis::Loss;

struct Saying {
    std::string_view part; // of the message
    Loss loss;
    std::string_view mechanism;
};

// The messages come from bubblewrap (bubblewrap.c, network.c, bind-mount.c; versions 0.4 to 0.11)
// and from launch.cc and launch_child.cc. The first match counts.
constexpr std::array sayings = {
    Saying{"Unknown option", Loss::mounts, mechanism::bubblewrap},
    Saying{"execvp /dev/execward-init", Loss::everything, mechanism::init},
    Saying{"reading its order", Loss::everything, mechanism::init},
    Saying{"cannot execute '/usr/bin/bwrap'", Loss::mounts, mechanism::bubblewrap},
    Saying{"cannot execute '/usr/local/bin/bwrap'", Loss::mounts, mechanism::bubblewrap},
    Saying{"enforcing Landlock", Loss::landlock, mechanism::landlock},
    Saying{"system call filter", Loss::filter, mechanism::filter},
    Saying{"mount proc", Loss::proc, mechanism::proc},
    Saying{"loopback: ", Loss::network_namespace, mechanism::network_namespace},
    Saying{"uid map", Loss::mounts, mechanism::user_namespaces},
    Saying{"gid map", Loss::mounts, mechanism::user_namespaces},
    Saying{"new namespace", Loss::mounts, mechanism::user_namespaces},
    Saying{"Failed to make / slave", Loss::mounts, mechanism::user_namespaces},
    Saying{"Failed to mount tmpfs", Loss::mounts, mechanism::user_namespaces},
    Saying{"pivot_root", Loss::mounts, mechanism::user_namespaces},
    Saying{"unshare", Loss::mounts, mechanism::user_namespaces},
};

bool is_zero(const char* path) {
    return os::read_proc_file(path).starts_with('0');
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string_view namespace_advice(std::string_view said, const Surroundings& around) {
    if (around.restricts_namespaces)
        return "Ubuntu lets only programs with an AppArmor profile use user namespaces: load the "
               "profile bwrap-userns-restrict, which names /usr/bin/bwrap (apt install "
               "apparmor-profiles, then copy it from /usr/share/apparmor/extra-profiles to "
               "/etc/apparmor.d and run apparmor_parser -r on it)";
    if (around.has_no_namespaces || has(said, "ENOSPC"))
        return "the kernel is set to allow no more of them: raise user.max_user_namespaces, or "
               "whichever of user.max_*_namespaces it is (sysctl -w "
               "user.max_user_namespaces=15000)";
    if (around.forbids_namespaces && !around.is_root)
        return "this kernel keeps them for root: sysctl -w kernel.unprivileged_userns_clone=1 "
               "allows them to everybody";
    if (around.is_filtered || around.is_container)
        return "what this runs in refuses them, such as a container or another sandbox: give it a "
               "seccomp profile that allows unshare, clone, mount, umount2 and pivot_root (docker "
               "run --security-opt seccomp=PROFILE); without that, Landlock is what is left";
    if (around.is_root && has(said, "uid map"))
        return "root needs CAP_SETFCAP to map user 0 (Linux 5.12 and later): give it that "
               "capability, or run execward as another user";
    return "use a kernel with user namespaces (CONFIG_USER_NS), or install bubblewrap setuid root";
}

std::string_view advice_for(std::string_view mechanism, std::string_view said,
                            const Surroundings& around) {
    if (mechanism == mechanism::user_namespaces) return namespace_advice(said, around);
    if (mechanism == mechanism::network_namespace)
        return around.restricts_namespaces
                   ? namespace_advice(said, around)
                   : "let network namespaces be made and set up (user.max_net_namespaces, the "
                     "seccomp profile of the container); without one, the network is kept off by "
                     "seccomp";
    if (mechanism == mechanism::proc)
        return "parts of /proc are masked, so that no new one may be mounted: docker run "
               "--security-opt systempaths=unconfined, podman run --security-opt unmask=ALL, "
               "Kubernetes procMount: Unmasked";
    if (mechanism == mechanism::bubblewrap) return "install bubblewrap 0.8.0 or later";
    if (mechanism == mechanism::init) return "reinstall execward";
    if (mechanism == mechanism::landlock)
        return around.is_filtered || around.is_container
                   ? "let the seccomp profile of the container allow landlock_create_ruleset, "
                     "landlock_add_rule and landlock_restrict_self"
                   : "use a kernel from 5.13 on with Landlock, from 6.12 on for everything";
    return around.is_filtered || around.is_container
               ? "let the seccomp profile of the container allow seccomp"
               : "use a kernel from 5.5 on with CONFIG_SECCOMP_FILTER";
}

} // namespace

Surroundings Surroundings::look() {
    Surroundings around;
    around.is_root = ::geteuid() == 0;
    around.restricts_namespaces =
        os::read_proc_file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
            .starts_with('1');
    around.forbids_namespaces = is_zero("/proc/sys/kernel/unprivileged_userns_clone");
    around.has_no_namespaces = is_zero("/proc/sys/user/max_user_namespaces");
    around.is_filtered = has(os::read_proc_file("/proc/self/status"), "\nSeccomp:\t2");
    for (const char* const sign : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"})
        around.is_container = around.is_container || ::access(sign, F_OK) == 0;
    around.is_container =
        around.is_container || ::access("/var/run/secrets/kubernetes.io", F_OK) == 0;
    return around;
}

std::optional<Diagnosis> diagnose(std::string_view said, const Surroundings& surroundings) {
    for (const Saying& saying : sayings) {
        if (!has(said, saying.part)) continue;
        return Diagnosis{saying.loss,
                         trouble_with(saying.mechanism, std::string(said), surroundings)};
    }
    return std::nullopt;
}

// ENOSPC is not among them: it also stands for a machine without user namespaces (clone(2)).
constexpr std::array exhaustions = {EAGAIN, EMFILE, ENFILE, ENOMEM, ETOOMANYREFS};

bool is_exhaustion(int error_number) {
    return std::ranges::find(exhaustions, error_number) != exhaustions.end();
}

bool tells_of_exhaustion(std::string_view said) {
    return std::ranges::any_of(
        exhaustions, [&](int error_number) { return has(said, ::strerror(error_number)); });
}

std::optional<Error> exhaustion_of_trial(const Machine& machine) {
    for (const Trouble& trouble : machine.troubles)
        if (tells_of_exhaustion(trouble.step))
            return Error{ErrorKind::sandbox_unavailable,
                         fmt::format("no processes, descriptors or memory were left for a trial of "
                                     "the sandbox: {}",
                                     trouble.step),
                         "end what uses them up, and try again"};
    return std::nullopt;
}

Trouble landlock_trouble(int error_number, const Surroundings& surroundings) {
    Trouble trouble;
    trouble.mechanism = mechanism::landlock;
    trouble.step = fmt::format("landlock_create_ruleset: {}", ::strerror(error_number));
    // EOPNOTSUPP: Landlock exists, but was not enabled at boot (landlock_create_ruleset(2)).
    trouble.advice = error_number == EOPNOTSUPP
                         ? "add landlock to the list of security modules in the boot parameter lsm="
                         : std::string(advice_for(mechanism::landlock, trouble.step, surroundings));
    return trouble;
}

Trouble trouble_with(std::string_view mechanism, std::string said,
                     const Surroundings& surroundings) {
    std::string advice(advice_for(mechanism, said, surroundings));
    const bool is_filter = mechanism == mechanism::filter || mechanism == mechanism::notify;
    if (is_filter && has(said, ::strerror(EBUSY))) // one listener in a chain of filters: seccomp(2)
        advice = "another supervisor of system calls is above this server: run it outside of that";
    return {std::string(mechanism), std::move(said), std::move(advice)};
}

} // namespace ew::sandbox
