#include "server/approval/warning.h"

#include "base/log.h"
#include "protocol/methods.h"
#include "protocol/process.h"
#include "server/connection/notify.h"

#include <fmt/format.h>

namespace ew::server {

Warn warnings_to(Outbox& outbox) {
    return [&outbox](const Error& error) {
        log::warning("gate", "{}", error.message);
        protocol::WarningEvent event;
        event.kind = protocol::name_of(error.kind);
        event.message =
            error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
        notify(outbox, "execward/warning", event);
    };
}

} // namespace ew::server
