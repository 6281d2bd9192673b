// The denials of a sandbox: a bounded list, in which equal denials are counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

enum class DenialKind : std::uint8_t {
    network,   // an address of the internet, or the machine's loopback
    socket,    // a socket file or an abstract socket
    file,      // a change of a file
    set_aside, // a file that git or an agent would execute or obey: moved after the end
};

struct Denial {
    DenialKind kind = DenialKind::network;
    std::string operation = {}; // "connect", "open", "unlink", …
    std::string target = {};    // "192.0.2.7:443", "[2001:db8::1]:443", a path, "@abstract"
    std::int64_t pid = 0;       // as the server sees it
    std::string program = {};   // path of the program, if known
    std::uint64_t count = 1;
    std::string rule = {};     // the part of the policy that refused it: "network: restricted"
    std::string allow = {};    // the one line that would allow it; empty: no setting does
    std::string moved_to = {}; // where a thing is that was set aside
};

class DenialLog {
public:
    static constexpr std::size_t most_kept = 64;        // different denials
    static constexpr std::size_t longest_target = 4096; // bytes

    // Counts the denial with an equal one (kind, operation, target), or keeps it while there is
    // room.
    void add(Denial denial);

    const std::vector<Denial>& kept() const { return kept_; }

    // All denials, including those that were not kept.
    std::uint64_t total() const { return total_; }

private:
    std::vector<Denial> kept_;
    std::uint64_t total_ = 0;
};

} // namespace ew::sandbox
