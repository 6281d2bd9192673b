// The identity and abilities of the server at the other end, taken from its answer to `initialize`.
// Versions differ (exec-server 7): missing members count as absent, and so do implausible ones,
// such as a path of 5000 bytes.
#pragma once

#include "base/result.h"
#include "os/shells.h"

#include <string>
#include <string_view>

namespace ew::json {
struct Value;
}

namespace ew::peer {

struct Peer {
    std::string name = {};      // "execward", or "exec-server" if it reports no name
    std::string version = {};   // empty if not reported
    bool is_execward = false;   // it supports the protocol extensions of execward
    bool takes_uris = false;    // it accepts file URIs; older versions accept only plain paths
    bool confines = false;      // it makes sandboxes, and reports for each start which one it made
    std::string directory = {}; // its own directory, without ".."; empty if not reported
    os::ShellProgram shell = {"sh", "/bin/sh"};

    // Formats a path as this server expects it.
    std::string path_text(std::string_view path) const;
};

// `answer` is the result of `initialize`. Errors: environment_unavailable if it is not an object,
// or if a member has a wrong type.
Result<Peer> peer_of(const json::Value* answer);

} // namespace ew::peer
