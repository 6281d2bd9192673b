// What does not come from the servers there: pieces of output, ends, and all the rest after a loss.
#include "core/output/utf8.h"
#include "server/connection/notify.h"
#include "server/environment/remote_backend.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

// All that has come is there.
void RemoteBackend::note_loss(Process& process) {
    RemoteProcess& remote = *process.remote;
    if (!process.exit) {
        Exit exit;
        exit.code = -1;
        exit.usage.wall_ms = millis(processes_.now() - process.started_at);
        exit.failure = remote.loss;
        processes_.note_exit(process, std::move(exit));
    }
    process.is_output_open = false;
    end_ending(process, *remote.loss);
}

// Whoever waits for the end of what was lost.
void RemoteBackend::end_ending(Process& process, const Error& loss) {
    if (!process.ending) return;
    if (of(process).peer->is_execward) // it ends what it ran
        processes_.finish_ending(process, {});
    else
        processes_.fail_ending(process, loss);
}

// How many, as soon as the client has room for it: a server could go on with losing for ever.
void RemoteBackend::tell_lost_output(Process& process) {
    if (process.remote->lost_pieces == 0) return;
    if (outbox_.unsent(Lane::priority) > Outbox::priority_mark && !process.remote->loss) return;
    const std::uint64_t count = std::exchange(process.remote->lost_pieces, 0);
    protocol::WarningEvent event;
    event.kind = "outputLost";
    event.message =
        fmt::format("{} pieces of the output of process '{}' are lost: the server of "
                    "'{}' no longer had them",
                    count, core::shortened(process.id), process.remote->order.environment);
    notify(outbox_, "execward/warning", event);
}

void RemoteBackend::read_gap(Process& process) {
    RemoteProcess& remote = *process.remote;
    if (!reaches(process)) return remote.gap_since.reset(); // it is lost, and its loss near
    protocol::ReadParams params;
    params.process_id = id_there(process.serial);
    params.after_seq = remote.events.next_seq() - 1;
    remote.is_reading = true;
    of(process).send(
        "process/read", params,
        {RemoteRequest::Kind::read, process.serial, {}, processes_.now() + answer_patience});
}

// Nobody tells what is missing.
void RemoteBackend::give_up_gap(Process& process) {
    process.remote->is_reading = false;
    process.remote->gap_since.reset();
    process.remote->is_gap_given_up = true;
    drain(process);
}

// Soon it must be known that it has ended, and that nothing more comes of it.
void RemoteBackend::await_end(Process& process) {
    std::optional<MissingEnd>& missing = process.remote->missing_end;
    if (!missing) missing = MissingEnd{processes_.now() + answer_patience};
}

// Something of it comes yet, maybe over a slow line.
void RemoteBackend::postpone_missing_end(Process& process) {
    std::optional<MissingEnd>& missing = process.remote->missing_end;
    if (missing) missing->due = processes_.now() + answer_patience;
}

// The server is asked once how it is. Who does not tell then either is not waited for any longer:
// the process would have its place for ever.
void RemoteBackend::miss_end(Process& process) {
    RemoteProcess& remote = *process.remote;
    MissingEnd& missing = *remote.missing_end;
    if (process.is_closed || !reaches(process)) return remote.missing_end.reset();
    missing.due = processes_.now() + answer_patience;
    if (remote.is_held_up || of(process).is_held_up) return; // it may lie where nothing is read
    if (std::exchange(missing.is_asked, true)) return lose_process(process);
    if (!remote.is_reading) read_gap(process);
}

void RemoteBackend::lose_process(Process& process) {
    RemoteProcess& remote = *process.remote;
    remote.missing_end.reset();
    remote.loss = Error{ErrorKind::environment_lost,
                        fmt::format("the server of '{}' does not tell how process '{}' ended",
                                    remote.order.environment, core::shortened(process.id)),
                        "it may still run there"};
    drain(process);
}

} // namespace ew::server
