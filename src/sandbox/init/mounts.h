// Does the sandbox show what it was to show? Between the moment when the plan was made and each
// mount(2) somebody may have exchanged a directory for a link, so that something else was mounted,
// or at another place.
#pragma once

#include "sandbox/init/order_reader.h"

namespace ew::sandbox::init {

// Each expected path is what it was outside and, unless it is a mere `place`, the root of a mount:
// since bubblewrap made as many mounts as were expected, none of them can be of anything else then.
// Besides that, with `checks_mounts`, no mount can be written to that was not to be. What is found
// stays true whatever is renamed meanwhile: a mount is known by its number, and what it shows by
// what the kernel calls it.
// Returns only if all is well. Writes to `order.expected`.
void check_mounts(const Order& order);

} // namespace ew::sandbox::init
