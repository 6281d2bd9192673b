// Knows which living processes belong to which start. A descendant is below its leader, or, when
// its parents are gone, a child of this process (a subreaper, prctl(2)): one that was seen below
// the leader before, or one that carries the leader's mark.
#pragma once

#include "os/cookie.h"
#include "os/proc.h"

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ew::server {

class Descendants {
public:
    explicit Descendants(os::Cookies cookies) : cookies_(cookies) {}

    const os::Cookies& cookies() const { return cookies_; }

    // Looks for orphans that became our children. `leaders` are the children that are not orphans.
    void refresh(const std::vector<pid_t>& leaders);

    // Living members besides the leader. `leader` is 0 once it has been reaped.
    std::vector<os::ProcessIdentity> members(std::uint64_t serial, pid_t leader) const;

    // Remembers members that are about to lose the parents by which they are found. They need not
    // carry the mark.
    void remember(std::uint64_t serial, const std::vector<os::ProcessIdentity>& members);

    // A child of ours has been reaped.
    void forget(pid_t pid) { adopted_.erase(pid); }

    // Nothing of this start is left.
    void forget_all_of(std::uint64_t serial);

private:
    struct Remembered {
        std::uint64_t serial;
        std::uint64_t start_time;
    };

    os::Cookies cookies_;
    std::unordered_map<pid_t, std::uint64_t> adopted_; // our child → serial number
    std::unordered_map<pid_t, Remembered> remembered_; // seen below a leader that is being ended
};

} // namespace ew::server
