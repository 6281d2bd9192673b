// The other use of execward-init: as the command in a sandbox that is on trial, it tries what is
// forbidden, and tells what came of it.
#pragma once

namespace ew::sandbox::init {

// Arguments, each KEY=VALUE, with a null pointer as the end:
//   outside=DIR inside=DIR file=FILE protected=PATH denied=PATH tmp=PATH pid=N start=TICKS
//   tcp=PORT abstract=NAME socket=PATH pipe=PATH
// A named pipe tells something only if somebody has it open for reading.
// Prints "NAME ok|held ERRNO" for each probe that has what it needs: "ok" if it went through,
// "held" if it was refused. ERRNO is 0 if nothing was refused, yet nothing was to be had either.
// Returns the exit status.
int probe(const char* const* arguments);

} // namespace ew::sandbox::init
