// `execward config`: shows every setting and where it comes from; sets up a client.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int config(int argc, char** argv);

} // namespace ew::cli
