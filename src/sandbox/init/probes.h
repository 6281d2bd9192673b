// The other use of execward-init: as the command of a sandbox that is on trial, it tries forbidden
// things and reports the results.
#pragma once

namespace ew::sandbox::init {

// Arguments, each KEY=VALUE, with a null pointer as the end:
//   outside=DIR inside=DIR file=FILE protected=PATH denied=PATH tmp=PATH pid=N start=TICKS
//   tcp=PORT abstract=NAME socket=PATH pipe=PATH
// A probe of a named pipe is meaningful only if a process has the pipe open for reading.
// Prints "NAME ok|held ERRNO" for each probe that has its arguments: "ok" if it went through,
// "held" if it was refused. ERRNO is 0 if the call was not refused, but gave access to nothing.
// Returns the exit status.
int probe(const char* const* arguments);

} // namespace ew::sandbox::init
