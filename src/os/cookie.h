// A mark on every process that a start brings forth. It survives fork, setsid and exec, and can be
// read from outside: the hard limit RLIMIT_RTTIME. That limit only concerns real-time scheduling
// (getrlimit(2)), and at some ten thousand years it concerns nobody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace ew::os {

class Cookies {
public:
    // Looks at the limit this process runs under: a server inside a program of another server marks
    // below the mark that it carries itself, so that the outer one still finds its own.
    static Cookies for_this_process();

    // The limit for the process with this serial; absent where marking is not possible: below two
    // servers, or where the limit is already in use. Then only the tree of parents tells.
    std::optional<std::uint64_t> limit_for(std::uint64_t serial) const;

    // The serial that a living process was marked with, by us.
    std::optional<std::uint64_t> serial_of(pid_t pid) const;

private:
    enum class Depth : std::uint8_t { outer, inner, too_deep };

    Depth depth_ = Depth::outer;
    std::uint64_t base_ = 0;
};

} // namespace ew::os
