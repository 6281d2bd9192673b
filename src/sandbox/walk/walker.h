// The process that keeps walks for the starts of a session: `execward-init walk`, a companion of
// the server (os/companion.h). A start asks it before it walks itself. It sees the files as the
// start does: it enters the mount namespace of the start, and has no more rights over files.
//
// It keeps a walk only as long as it knows of each change since (kept_walk.h) and no mount of the
// machine has changed. For the start, no answer is an answer too: it walks, as it would without
// this process.
#pragma once

#include "base/clock.h"
#include "sandbox/walk/walk_order.h"

#include <optional>

namespace ew::sandbox {

// Serves what arrives at the socket until its end, and returns the exit code.
int run_walker(int socket);

// Asks the walker at the other end of the socket, and waits for it, but not long. Returns nullopt
// if it cannot tell what a new walk would find.
std::optional<WalkFindings> ask_walker(int socket, const WalkOrder& order);

} // namespace ew::sandbox
