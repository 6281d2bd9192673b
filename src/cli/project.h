// `execward project`: trusts the rules of a project, or stops trusting them.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int project(int argc, char** argv);

} // namespace ew::cli
