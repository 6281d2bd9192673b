// Checks that the sandbox shows the files that the plan has found. Between the plan and each
// mount(2) another program may have exchanged a directory for a link, so that bubblewrap mounted
// another directory, or mounted at another place.
#pragma once

#include "sandbox/init/order_reader.h"

#include <cstddef>
#include <cstdint>

namespace ew::sandbox::init {

// The numbers of the mounts that can be written to (statx(2), STATX_MNT_ID).
struct WritableMounts {
    static constexpr std::size_t most = 512;

    std::uint64_t ids[most] = {};
    std::size_t count = 0; // 0 if they are not known, or too many
};

// Each expected path must be the same file as outside and, unless it is a mere `place`, the root of
// a mount. bubblewrap made exactly as many mounts as are expected, so none of them can be a mount
// of another file. With `checks_mounts`, no other mount may be writable. The result stays true
// whatever is renamed meanwhile: a mount is identified by its number, and its content by the
// kernel's name for it.
// Returns only if all checks pass. Writes to `order.expected`, and with `checks_mounts` to
// `writable`.
void check_mounts(const Order& order, WritableMounts& writable);

} // namespace ew::sandbox::init
