#include "sandbox/init/privileges.h"

#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace ew::sandbox::init {

namespace {

constexpr int most_capabilities = 64; // capget(2) reports 64 bits

struct CapabilitySets {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
};

int check_own_sets() {
    CapabilitySets own;
    if (::syscall(SYS_capget, &own.header, own.sets) != 0) return errno;
    for (const __user_cap_data_struct& set : own.sets)
        if ((set.permitted | set.effective | set.inheritable) != 0) return EPERM;
    return 0;
}

} // namespace

int check_no_capabilities() {
    if (const int error = check_own_sets(); error != 0) return error;
    for (int capability = 0; capability < most_capabilities; ++capability) {
        const int state = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
        if (state < 0) break; // EINVAL: the kernel has no further capabilities
        if (state > 0) return EPERM;
    }
    return 0;
}

// Where this process may not change the bounding set and the secure bits, no_new_privs keeps
// programs from regaining capabilities (capabilities(7), "no_new_privs"). The check that no
// capability is left decides.
int drop_capabilities() {
    for (int capability = 0; capability < most_capabilities; ++capability)
        if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;
    (void)::prctl(PR_SET_SECUREBITS,
                  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
                  0, 0, 0);
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
    CapabilitySets none;
    if (::syscall(SYS_capset, &none.header, none.sets) != 0) return errno;
    return check_own_sets();
}

int forbid_new_privileges() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM;
}

void close_range(unsigned first, unsigned last) {
    if (::syscall(SYS_close_range, first, last, 0) == 0) return;
    // Before Linux 5.9, which lacks close_range(2). Nobody has raised the limit since the
    // descriptors were opened.
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max > 1u << 20)
        limit.rlim_max = 1u << 20;
    for (std::uint64_t fd = first; fd <= last && fd < limit.rlim_max; ++fd)
        ::close(static_cast<int>(fd));
}

void reset_signals() {
    // The C library keeps two signals for itself and refuses them; the kernel does not.
    struct {
        void (*handler)(int) = nullptr; // SIG_DFL
        unsigned long flags = 0;
        void (*restorer)() = nullptr;
        std::uint64_t mask = 0;
    } const by_default;

    for (int number = 1; number <= 64; ++number)
        ::syscall(SYS_rt_sigaction, number, &by_default, nullptr, sizeof by_default.mask);
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &by_default.mask, nullptr, sizeof by_default.mask);
}

} // namespace ew::sandbox::init
