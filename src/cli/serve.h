// `execward serve`: serves a client over stdin and stdout.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int serve(int argc, char** argv);

} // namespace ew::cli
