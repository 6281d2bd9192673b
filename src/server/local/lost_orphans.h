// Orphans that have taken the mark off: any program may lower a limit, or raise it with privileges.
#pragma once

#include "os/proc.h"
#include "server/process/process_service.h"

#include <cstdint>
#include <vector>

namespace ew::server {

// Returns the serial numbers of the processes to which this orphan may belong: only one if its
// session, its process group or a stream that it holds tells, and otherwise those that ran when it
// began.
std::vector<std::uint64_t> possible_owners(const os::ProcessIdentity& orphan,
                                           ProcessService& processes);

} // namespace ew::server
