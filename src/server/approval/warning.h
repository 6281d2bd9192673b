// Warnings about problems that do not stop the work.
#pragma once

#include "base/error.h"
#include "server/connection/outbox.h"

#include <functional>

namespace ew::server {

using Warn = std::function<void(const Error&)>;

// Writes warnings to the client, as execward/warning, and to the server's log.
Warn warnings_to(Outbox& outbox);

} // namespace ew::server
