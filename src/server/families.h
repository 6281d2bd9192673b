// Which living processes belong to which start. A descendant is below its leader, or, when its
// parents are gone, a child of this process (a subreaper, prctl(2)), known by its cookie.
#pragma once

#include "os/cookie.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace ew::server {

class Families {
public:
    explicit Families(os::Cookies cookies) : cookies_(cookies) {}

    const os::Cookies& cookies() const { return cookies_; }

    // Looks for orphans that came to us. `leaders` are the children that are no orphans.
    void refresh(const std::vector<pid_t>& leaders);

    // Living members besides the leader. `leader` is 0 once it has been reaped.
    std::vector<pid_t> members(std::uint64_t serial, pid_t leader) const;

    // A child of ours has been reaped.
    void forget(pid_t pid) { adopted_.erase(pid); }

    // Sends the signal unless the number has come to mean another process meanwhile.
    void signal_member(pid_t pid, std::uint64_t serial, int signal) const;

private:
    os::Cookies cookies_;
    std::unordered_map<pid_t, std::uint64_t> adopted_; // 0: nobody's
};

} // namespace ew::server
