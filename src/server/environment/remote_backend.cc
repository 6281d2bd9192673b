#include "server/environment/remote_backend.h"

#include "peer/peer.h"
#include "protocol/environment.h"
#include "server/environment/remote_process.h"
#include "server/process/process_service.h"
#include "server/session/environment_choice.h"
#include "server/session/session.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace {

using protocol::EnvironmentEntry;

protocol::EnvironmentEntryState state_of(const RemoteConnection& connection) {
    using State = RemoteConnection::State;
    using EntryState = protocol::EnvironmentEntryState;
    switch (connection.state()) {
    case State::idle: return EntryState::idle;
    case State::starting: return EntryState::starting;
    case State::ready: return EntryState::ready;
    case State::failed:
    case State::ending: break;
    }
    return EntryState::failed;
}

void describe(EnvironmentEntry& entry, const RemoteConnection& connection) {
    entry.state = state_of(connection);
    if (connection.failure() && entry.state == protocol::EnvironmentEntryState::failed)
        entry.failure = connection.failure()->message;
    if (connection.peer() == nullptr) return;
    const peer::Peer& peer = *connection.peer();
    protocol::EnvironmentServer& server = entry.server.emplace();
    server.name = peer.name;
    if (!peer.version.empty()) server.version = peer.version;
    entry.shell = {peer.shell.name, peer.shell.path};
    const std::vector<std::string>& roots = connection.settings().workspace_roots;
    const std::string& directory = roots.empty() ? peer.directory : roots.front();
    if (!directory.empty()) entry.cwd = directory;
    entry.confines = peer.confines;
}

} // namespace

RemoteBackend::RemoteBackend(const Session& session, ProcessService& processes, os::Poller& poller,
                             Outbox& outbox, const rlimit& open_files)
    : session_(session),
      processes_(processes),
      outbox_(outbox),
      receiver_(processes),
      environments_(session, poller, receiver_, open_files) {}

const peer::Peer* RemoteBackend::connect(std::string_view environment) {
    RemoteConnection& connection = *environments_.find(environment);
    connection.connect(processes_.now());
    return connection.is_ready() ? connection.peer() : nullptr;
}

std::optional<Error> RemoteBackend::hindrance(std::string_view environment, bool wants_sandbox) {
    return environments_.find(environment)->hindrance(wants_sandbox);
}

Error RemoteBackend::failure(std::string_view environment) {
    return environments_.find(environment)
        ->failure()
        .value_or(Error{ErrorKind::environment_unavailable,
                        fmt::format("there is no connection to '{}' now", environment),
                        "environment/list tells its state"});
}

protocol::EnvironmentListResult RemoteBackend::list() {
    protocol::EnvironmentListResult result = environment_list(session_.settings());
    for (EnvironmentEntry& entry : result.environments) {
        // Null for this machine.
        const RemoteConnection* const connection = environments_.find(entry.id);
        processes_.for_each([&](const Process& process) {
            const RemoteConnection* const its =
                process.remote ? &process.remote->connection() : nullptr;
            if (its == connection && process.is_running()) ++entry.processes;
        });
        if (connection != nullptr) describe(entry, *connection);
    }
    return result;
}

bool RemoteBackend::resume() {
    const bool has_resumed = receiver_.resume_lost();
    return environments_.resume(processes_.now()) || has_resumed;
}

// ---------------------------------------------------------------- processes

std::size_t RemoteBackend::starts_in(const RemoteConnection& connection) {
    std::size_t count = 0;
    processes_.for_each([&](const Process& process) {
        const bool is_there = process.remote && &process.remote->connection() == &connection;
        if (is_there && process.is_starting()) ++count;
    });
    return count;
}

Result<void> RemoteBackend::begin(Process& process, StartOrder order) {
    const std::string& id = order.elsewhere->environment;
    RemoteConnection& connection = *environments_.find(id);
    process.remote = std::make_unique<RemoteProcess>(
        RemoteProcess::Parts{process, processes_, outbox_, connection}, *order.elsewhere);
    if (starts_in(connection) > most_starts)
        return Error{ErrorKind::limit,
                     fmt::format("the command was not run: {} starts wait for the server of '{}' "
                                 "already",
                                 most_starts, id),
                     "wait for answers, or cancel calls"};
    connection.connect(processes_.now());
    if (!connection.is_ready()) return {}; // sent when the connection is ready
    if (std::optional<Error> error = process.remote->hindrance()) return *error;
    if (connection.unsent() > RemoteConnection::most_unsent / 2)
        return Error{ErrorKind::limit,
                     fmt::format("the command was not run: the server of '{}' does not take what "
                                 "is sent to it",
                                 id),
                     "wait, or look why it hangs"};
    process.remote->send_start();
    return {};
}

void RemoteBackend::call_off_start(Process& process) {
    process.remote->call_off_start();
}

void RemoteBackend::write_input(Process& process) {
    process.remote->write_input();
}

void RemoteBackend::end_input(Process& process) {
    process.remote->end_input();
}

void RemoteBackend::signal(Process& process, Reply reply, const protocol::SignalParams& params) {
    process.remote->signal(std::move(reply), params);
}

void RemoteBackend::interrupt(Process& process) {
    process.remote->interrupt();
}

void RemoteBackend::resize(Process& process, Reply reply, const protocol::WindowSize& size) {
    process.remote->resize(std::move(reply), size);
}

bool RemoteBackend::has_unread(const Process& process, core::Stream /*stream*/) const {
    const RemoteProcess& remote = *process.remote;
    return remote.connection().is_held_up() || remote.output().is_behind();
}

bool RemoteBackend::has_left_overs(Process& process) {
    return process.remote->has_left_overs();
}

void RemoteBackend::begin_ending(Process& process, std::uint64_t grace_ms) {
    process.remote->begin_ending(grace_ms);
}

void RemoteBackend::check_timers(Process& process) {
    process.remote->check_timers();
}

std::optional<TimePoint> RemoteBackend::next_deadline(const Process& process) const {
    return process.remote->next_deadline();
}

SandboxState RemoteBackend::sandbox_state(const Process& process) const {
    return process.remote->sandbox_state();
}

std::optional<std::string> RemoteBackend::environment(const Process& process) const {
    return process.remote->connection().settings().id;
}

} // namespace ew::server
