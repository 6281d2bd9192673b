// execward config init: what to put where so that a client starts execward.
#pragma once

namespace ew::cli {

// argv[0] is "init". Returns the exit status.
int config_init(int argc, char** argv);

} // namespace ew::cli
