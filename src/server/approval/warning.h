// Warnings to the client about problems that do not stop the work.
#pragma once

#include "base/error.h"
#include "server/connection/outbox.h"

namespace ew::server {

// Writes the warning to the client, as execward/warning, and to the server's log.
void warn(Outbox& outbox, const Error& error);

} // namespace ew::server
