// Warnings to the client, for what goes on in spite of some trouble.
#pragma once

#include "base/error.h"
#include "server/connection/outbox.h"

namespace ew::server {

// Tells the client as execward/warning, and the log.
void warn(Outbox& outbox, const Error& error);

} // namespace ew::server
