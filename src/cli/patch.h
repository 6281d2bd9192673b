// `execward patch`: applies a patch as a whole or not at all.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int patch(int argc, char** argv);

} // namespace ew::cli
