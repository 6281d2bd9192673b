// `execward replay`: plays a recorded session against a server.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int replay(int argc, char** argv);

} // namespace ew::cli
