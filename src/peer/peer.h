// What the server at the other end of a connection is and can do, as its answer to `initialize`
// tells. Versions differ (exec-server 7): whatever it does not say counts as absent, and so does
// what cannot be meant, as a path of 5000 bytes.
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
    std::string name = {};      // "execward", or "exec-server" for one that does not say
    std::string version = {};   // empty: not told
    bool is_execward = false;   // it serves what execward adds to the protocol
    bool takes_uris = false;    // paths as file URIs; older ones take plain paths only
    bool confines = false;      // it makes sandboxes, and says of each start what it made
    std::string directory = {}; // its own, without ".."; empty: not told
    os::ShellProgram shell = {"sh", "/bin/sh"};

    // A path as this server reads it.
    std::string path_text(std::string_view path) const;
};

// `answer`: the result of `initialize`. Errors: environment_unavailable, if it is no object or a
// member has a wrong type.
Result<Peer> peer_of(const json::Value* answer);

} // namespace ew::peer
