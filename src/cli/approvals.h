// `execward approvals`: lists, withdraws or adds what was allowed for more than once.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int approvals(int argc, char** argv);

} // namespace ew::cli
