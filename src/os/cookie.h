// A mark on every process that descends from a started program: the hard limit RLIMIT_RTTIME. It
// survives fork, setsid and exec, and other processes can read it. The limit only affects real-time
// scheduling (getrlimit(2)), and its value of some ten thousand years affects nobody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace ew::os {

class Cookies {
public:
    // Reads the limit of this process. A server that runs inside a program of another server uses
    // values below its own mark, so that the outer server still finds its own processes.
    static Cookies for_this_process();

    // As before, and marks this process and whatever it starts for itself with `own_serial`: a
    // child without any mark is then one that has taken it off.
    static Cookies with_own_mark();

    static constexpr std::uint64_t own_serial = 1;

    // Returns true if every child of this process began with a mark.
    bool has_own_mark() const { return has_own_mark_; }

    // Returns the limit for the process with this serial. Returns nullopt where marks are not
    // possible: below two servers, or if the limit is already in use. Then only the process tree
    // identifies descendants.
    std::optional<std::uint64_t> limit_for(std::uint64_t serial) const;

    // Returns the serial that this server marked a living process with.
    std::optional<std::uint64_t> serial_of(pid_t pid) const;

private:
    enum class Depth : std::uint8_t { outer, inner, too_deep };

    Depth depth_ = Depth::outer;
    std::uint64_t base_ = 0;
    bool has_own_mark_ = false;
};

} // namespace ew::os
