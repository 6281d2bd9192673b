#include "os/file_capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace ew::os {

namespace {

// All three numbers are below 32, so they are in the first word of each set.
constexpr std::uint32_t wanted =
    1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;

struct Capabilities {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {};

    bool get() { return ::syscall(SYS_capget, &header, sets.data()) == 0; }

    bool set() { return ::syscall(SYS_capset, &header, sets.data()) == 0; }
};

} // namespace

bool set_file_capabilities(bool are_effective) {
    Capabilities own;
    if (!own.get()) return false;
    const std::uint32_t before = own.sets[0].effective;
    if (are_effective)
        own.sets[0].effective |= wanted & own.sets[0].permitted;
    else
        own.sets[0].effective &= ~wanted;
    return own.sets[0].effective != before && own.set();
}

bool has_file_capabilities() {
    Capabilities own;
    return own.get() && (own.sets[0].permitted & wanted) == wanted;
}

} // namespace ew::os
