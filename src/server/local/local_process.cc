#include "server/local/local_process.h"

namespace ew::server {

LocalProcess::~LocalProcess() {
    // A child that still runs in our memory needs it, whatever else ends (only at our own end).
    if (start && !start->is_over() && !start->outcome()) (void)start.release();
}

} // namespace ew::server
