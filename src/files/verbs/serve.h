// The file process: requests of wire.h, one after the other.
#pragma once

namespace ew::files {

// Serves what arrives at `socket` until it ends; only one request if `is_single`. Returns an exit
// status: 0, or 1 after what is no request.
int serve(int socket, bool is_single);

} // namespace ew::files
