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

    // Looks for orphans that became our children. `leaders` are the children that are not orphans,
    // `serials` those of all processes.
    void refresh(const std::vector<pid_t>& leaders, const std::vector<std::uint64_t>& serials);

    // The orphans without a mark of these serials: they have taken it off.
    const std::vector<os::ProcessIdentity>& lost() const { return lost_; }

    void adopt(pid_t orphan, std::uint64_t serial) { adopted_[orphan] = serial; }

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

    void look_at(pid_t child, const std::vector<std::uint64_t>& serials);

    os::Cookies cookies_;
    std::vector<os::ProcessIdentity> lost_;
    std::unordered_map<pid_t, std::uint64_t> adopted_; // our child → serial number
    std::unordered_map<pid_t, Remembered> remembered_; // seen below a leader that is being ended
};

} // namespace ew::server
