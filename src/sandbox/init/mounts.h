// Checks that the sandbox shows the files that the plan has found. Between the plan and each
// mount(2) another program may have exchanged a directory for a link, so that bubblewrap mounted
// another directory, or mounted at another place.
#pragma once

#include "sandbox/init/order_reader.h"

namespace ew::sandbox::init {

// Each expected path must be the same file as outside and, unless it is a mere `place`, the root of
// a mount. bubblewrap made exactly as many mounts as are expected, so none of them can be a mount
// of another file. With `checks_mounts`, no other mount may be writable. The result stays true
// whatever is renamed meanwhile: a mount is identified by its number, and its content by the
// kernel's name for it.
// Returns only if all checks pass. Writes to `order.expected`.
void check_mounts(const Order& order);

} // namespace ew::sandbox::init
