// Serves a client over stdin and stdout, in the protocol that the settings say: takes over stdio,
// and splits into keeper and worker.
#pragma once

#include "base/log.h"
#include "cli/shared/options.h"
#include "server/server_settings.h"

#include <span>
#include <string>

namespace ew::cli {

struct Wishes {
    server::ServerSettings server;
    log::Settings log;
    std::string record;
    std::string config; // empty means the default path
    std::string database;
    std::string workspace;
};

// Fills in what the command line, and the variables EXECWARD_…, say. Returns the mistake in them,
// or an empty text.
std::string take_wishes(Wishes& wishes, std::span<const Option> options,
                        const Arguments& arguments);

// Returns the exit status.
int serve_client(Wishes wishes);

} // namespace ew::cli
