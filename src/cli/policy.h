// `execward policy`: says what would happen to a command, and why.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int policy(int argc, char** argv);

} // namespace ew::cli
