// Questions of a network by host: the gateway asks about a destination that no rule decides, and
// its owner finds the answer, at once or later. Until then the connect waits.
#pragma once

#include "base/result.h"
#include "core/network/hosts.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

// The program that connects.
struct Asker {
    pid_t process = 0;
    std::string program = {};
    // As the program itself shows them: it can have changed them. Empty if nobody is asked.
    std::vector<std::string> argv = {};
};

struct HostQuestion {
    std::uint64_t id = 0; // of this gateway, never reused
    core::Destination there = {};
    Asker asker = {};
    std::string rule = {}; // that wants the question: HostRule::origin; empty: no rule matches
};

struct HostVerdict {
    bool is_allowed = false;
    std::string source = {};     // of the permission, for the audit: "grant 12"
    std::string reason = {};     // of the refusal
    bool can_be_allowed = false; // by a rule: nobody has refused it
};

class HostAsking {
public:
    HostAsking() = default;
    HostAsking(const HostAsking&) = delete;
    HostAsking& operator=(const HostAsking&) = delete;

    // Called for each connect. Returns nullopt if somebody is to be asked.
    virtual std::optional<HostVerdict> known(const HostQuestion& question) = 0;

    // Asks. Gateway::answer() follows, after this call has returned. Errors: nobody can be asked.
    virtual Result<void> ask(const HostQuestion& question) = 0;

protected:
    ~HostAsking() = default;
};

} // namespace ew::sandbox
