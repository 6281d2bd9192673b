// `execward doctor`: says what this machine can enforce.
#pragma once

namespace ew::cli {

// argv[0] is the name of the subcommand. Returns the exit status.
int doctor(int argc, char** argv);

} // namespace ew::cli
