// `execward run`: runs one command in a sandbox.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int run(int argc, char** argv);

} // namespace ew::cli
