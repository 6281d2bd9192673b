// `execward schema`: prints the protocol.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int schema(int argc, char** argv);

} // namespace ew::cli
