// `execward audit`: shows what was asked, decided and run.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int audit(int argc, char** argv);

} // namespace ew::cli
