#include "server/process/program_look.h"

#include "server/process/backend.h"
#include "server/process/process.h"

#include <optional>

namespace ew::server {

namespace {

// Returns true if the program has printed something that is not in the log yet: its question.
bool has_unread_output(const Process& process) {
    using enum core::Stream;
    if (process.is_tty()) return process.backend->has_unread(process, pty);
    return process.backend->has_unread(process, out) || process.backend->has_unread(process, err);
}

} // namespace

UntilWatch::Look look_at_program(Process& process, WantedLook wanted, TimePoint now) {
    UntilWatch::Look look;
    if (wanted.ports) look.ports = process.backend->listening_ports(process).value_or(look.ports);
    if (wanted.input) {
        const std::optional<protocol::InputState> state = input_state(process, now);
        look.waits_for_input = state && state->waiting && !has_unread_output(process);
    }
    return look;
}

} // namespace ew::server
