#include "server/environment/remote_receiver.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "core/text/display.h"
#include "peer/peer_messages.h"
#include "protocol/envelope.h"
#include "protocol/process_output.h"
#include "server/environment/remote_process.h"
#include "server/environment/remote_reports.h"
#include "server/process/process_service.h"

namespace ew::server {

// Returns null if the process is gone or runs on this machine.
RemoteProcess* RemoteReceiver::find(std::uint64_t process) {
    Process* const found = processes_.find(process);
    return found == nullptr ? nullptr : found->remote.get();
}

RemoteProcess* RemoteReceiver::find_there(const RemoteConnection& connection, std::string_view id) {
    RemoteProcess* const remote = find(number_in(id).value_or(0));
    return remote != nullptr && remote->was_sent_over(connection.serial()) ? remote : nullptr;
}

// The serial numbers of matching processes in other environments.
template <class Predicate>
std::vector<std::uint64_t> RemoteReceiver::serials_of(Predicate matches) {
    return processes_.table().serials_of(
        [&](const Process& process) { return process.remote && matches(*process.remote); });
}

std::vector<std::uint64_t> RemoteReceiver::sent_over(const RemoteConnection& connection,
                                                     std::uint64_t serial) {
    return serials_of([&](const RemoteProcess& remote) {
        return &remote.connection() == &connection && remote.was_sent_over(serial);
    });
}

// ---------------------------------------------------------------- the connection

void RemoteReceiver::on_ready(RemoteConnection& connection) {
    news_.push_back({connection.settings().id, connection.serial(), {}});
    for (const std::uint64_t serial : sent_over(connection, 0)) {
        RemoteProcess* const remote = find(serial);
        if (remote == nullptr) continue;
        if (std::optional<Error> error = remote->hindrance())
            processes_.fail_start(*processes_.find(serial), std::move(*error));
        else
            remote->send_start();
    }
}

// Starts that wait for the connection fail with it.
void RemoteReceiver::on_failed(RemoteConnection& connection, std::uint64_t serial,
                               const Error& error) {
    for (const std::uint64_t waiting : sent_over(connection, 0))
        if (Process* const process = processes_.find(waiting))
            processes_.fail_start(*process, error);
    news_.push_back({connection.settings().id, serial, error});
}

void RemoteReceiver::on_lost(RemoteConnection& connection, std::uint64_t serial,
                             const Error& error) {
    for (const std::uint64_t process : sent_over(connection, serial))
        if (RemoteProcess* const remote = find(process)) remote->lose(error);
}

void RemoteReceiver::on_room(RemoteConnection& connection) {
    for (const std::uint64_t serial : sent_over(connection, connection.serial())) {
        RemoteProcess* const remote = find(serial);
        if (remote != nullptr && remote->output().is_held_up()) remote->output().drain();
    }
}

bool RemoteReceiver::resume_lost() {
    bool has_resumed = false;
    const auto is_lost_and_held_up = [](const RemoteProcess& remote) {
        return remote.output().is_lost() && remote.output().is_held_up();
    };
    for (const std::uint64_t serial : serials_of(is_lost_and_held_up)) {
        RemoteProcess* const remote = find(serial);
        if (remote == nullptr) continue;
        remote->output().drain();
        has_resumed |= !remote->output().is_held_up();
    }
    processes_.for_each([](Process& process) {
        if (process.remote) process.remote->output().tell_lost_output();
    });
    return has_resumed;
}

// ---------------------------------------------------------------- messages

std::string RemoteReceiver::on_answer(RemoteConnection& connection, const PendingRequest& request,
                                      const protocol::Message& message) {
    using Kind = PendingRequest::Kind;
    RemoteProcess* const remote = find(request.process);
    if (remote == nullptr) { // the process was given up meanwhile
        if (request.kind == Kind::start && !message.is_error)
            RemoteHandle(connection, request.process).end();
        return {};
    }
    switch (request.kind) {
    case Kind::start: return remote->on_started(message);
    case Kind::read: return remote->output().on_read(message);
    case Kind::write: remote->on_written(message); break;
    case Kind::terminate: remote->on_terminated(message); break;
    case Kind::initialize:
    case Kind::probe:
    case Kind::forwarded:
    case Kind::unwatched: break; // handled by the connection itself
    }
    return {};
}

void RemoteReceiver::on_unanswered(const PendingRequest& request, const Error& error) {
    RemoteProcess* const remote = find(request.process);
    if (remote == nullptr) return;
    if (request.kind == PendingRequest::Kind::read) remote->output().give_up_gap();
    if (request.kind == PendingRequest::Kind::start) remote->give_up_start(error);
}

std::string RemoteReceiver::on_notification(RemoteConnection& connection,
                                            const protocol::Message& message) {
    const auto take = [&](std::string_view id, std::uint64_t seq, peer::Event event) {
        RemoteProcess* const remote = find_there(connection, id);
        if (remote == nullptr) return; // the process was given up
        remote->output().take(seq, std::move(event));
    };
    if (message.method == "process/output") {
        Result<peer::PeerOutput> output = peer::read_message<peer::PeerOutput>(message.params);
        if (!output) return cannot_read("process/output", output.error());
        take(output->process_id, output->seq,
             peer::OutputPiece{output->stream, std::move(output->chunk.bytes)});
    } else if (message.method == "process/exited") {
        Result<peer::PeerExited> exited = peer::read_message<peer::PeerExited>(message.params);
        if (!exited) return cannot_read("process/exited", exited.error());
        take(exited->process_id, exited->seq, std::move(exited->end));
    } else if (message.method == "process/closed") {
        Result<protocol::ClosedEvent> closed =
            peer::read_message<protocol::ClosedEvent>(message.params);
        if (!closed) return cannot_read("process/closed", closed.error());
        take(closed->process_id, closed->seq, peer::Closed{});
    } else {
        log::info("environment", "{}: ignored the notification '{}'", connection.settings().id,
                  core::visible(core::shortened(message.method)));
    }
    return {};
}

} // namespace ew::server
