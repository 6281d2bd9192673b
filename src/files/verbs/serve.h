// The file process: serves the requests of wire.h one after the other.
#pragma once

namespace ew::files {

// Serves the requests from `socket` until it ends, or only one if `is_single`. Returns an exit
// status: 0, or 1 after an invalid request.
int serve(int socket, bool is_single);

} // namespace ew::files
