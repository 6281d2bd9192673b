// Looks at what a program on this machine does about its input: whether a process of it sleeps
// until it can read its terminal, or the pipe that is its stdin.
#pragma once

#include "server/local/process_trees.h"
#include "server/process/input_state.h"
#include "server/process/process.h"

namespace ew::server {

InputLook look_at_input(const Process& process, const ProcessTrees& trees);

} // namespace ew::server
