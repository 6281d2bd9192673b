#include "server/local/local_process.h"

namespace ew::server {

LocalProcess::~LocalProcess() {
    // A child that still runs in our memory needs the start, so the start is leaked (only when this
    // process itself ends).
    if (start && !start->is_over() && !start->outcome()) (void)start.release();
}

} // namespace ew::server
