// What the process layer wants, said to the servers there. Their connections are in
// remote_connections, what they say in remote_events, what they owe in remote_missing, what takes
// too long in remote_deadlines.
#include "server/environment/remote_backend.h"

#include "core/output/utf8.h"
#include "server/request/start_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

constexpr char end_of_file = '\x04'; // of a terminal as they are made (termios(3))

// process/start as every version reads it.
struct StartThere {
    std::string process_id = {};
    std::vector<std::string> argv = {};
    std::string cwd = {};
    json::StringMap env = {};
    bool tty = false;
    bool pipe_stdin = false;
    std::optional<std::string> arg0 = {};
    protocol::EnvPolicy env_policy = {};
    std::optional<protocol::SandboxRequest> sandbox = {};
    std::optional<protocol::WindowSize> size = {};
};

template <class Visitor>
void fields(Visitor& visit, StartThere& start) {
    visit.required("processId", start.process_id);
    visit.required("argv", start.argv);
    visit.required("cwd", start.cwd);
    visit.required("env", start.env);
    visit.required("tty", start.tty);
    visit.required("pipeStdin", start.pipe_stdin);
    visit.optional("arg0", start.arg0);
    visit.required("envPolicy", start.env_policy);
    visit.optional("sandbox", start.sandbox);
    visit.optional("size", start.size);
}

// When what is missing is asked for.
std::optional<TimePoint> gap_deadline(const RemoteProcess& remote) {
    if (!remote.gap_since || remote.is_reading) return std::nullopt;
    return *remote.gap_since + RemoteBackend::gap_patience;
}

StartThere start_there(const Process& process, const peer::Peer& peer) {
    const os::SpawnRequest& request = process.request;
    StartThere start;
    start.process_id = id_there(process.serial);
    start.argv = request.argv;
    start.cwd = peer.path_text(request.directory);
    start.env = request.environment;
    start.tty = process.is_tty();
    start.pipe_stdin = request.pipe_stdin;
    start.arg0 = request.arg0;
    start.env_policy = process.remote->order.inherited;
    start.sandbox = process.remote->order.sandbox;
    if (request.terminal && peer.is_execward)
        start.size = protocol::WindowSize{request.terminal->rows, request.terminal->cols};
    return start;
}

} // namespace

RemoteBackend::RemoteBackend(const Session& session, ProcessService& processes, os::Poller& poller,
                             Outbox& outbox, const rlimit& open_files)
    : session_(session),
      processes_(processes),
      poller_(poller),
      outbox_(outbox),
      open_files_(open_files) {
    for (const config::Environment& settings : session.settings().config.environments)
        environments_.push_back(std::make_unique<RemoteEnvironment>(settings));
}

std::optional<Error> RemoteBackend::hindrance(std::string_view environment, bool wants_sandbox) {
    if (!wants_sandbox || find(environment)->peer->confines) return std::nullopt;
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the command was not run: the server of '{}' cannot say what confines "
                             "a program",
                             environment),
                 "run a newer server there, or execward; or set sandbox for this environment"};
}

RemoteEnvironment* RemoteBackend::find(std::string_view id) {
    for (const auto& environment : environments_)
        if (environment->settings.id == id) return environment.get();
    return nullptr;
}

RemoteEnvironment* RemoteBackend::find(std::uint64_t connection) {
    for (const auto& environment : environments_)
        if (environment->link && environment->connection == connection) return environment.get();
    return nullptr;
}

RemoteEnvironment& RemoteBackend::of(const Process& process) {
    return *find(process.remote->order.environment);
}

// Can its server be asked about it?
bool RemoteBackend::reaches(const Process& process) {
    const RemoteEnvironment& environment = of(process);
    return environment.is_ready() && process.remote->connection == environment.connection;
}

Result<void> RemoteBackend::begin(Process& process, std::optional<SandboxOrder> /*sandbox*/) {
    RemoteEnvironment& environment = of(process);
    std::size_t starts = 0;
    processes_.for_each([&](const Process& other) {
        starts += other.remote && other.is_starting() && &of(other) == &environment ? 1 : 0;
    });
    if (starts > most_starts)
        return Error{ErrorKind::limit,
                     fmt::format("the command was not run: {} starts wait for the server of '{}' "
                                 "already",
                                 most_starts, environment.settings.id),
                     "wait for answers, or cancel calls"};
    if (connect(environment.settings.id) == nullptr) return {}; // sent when it is ready
    if (std::optional<Error> error = hindrance_of(process)) return *error;
    if (environment.link->unsent() > most_unsent / 2)
        return Error{ErrorKind::limit,
                     fmt::format("the command was not run: the server of '{}' does not take what "
                                 "is sent to it",
                                 environment.settings.id),
                     "wait, or look why it hangs"};
    send_start(environment, process);
    return {};
}

// It may be another server than when the call was planned.
std::optional<Error> RemoteBackend::hindrance_of(const Process& process) {
    const RemoteStart& order = process.remote->order;
    if (order.for_execward != of(process).peer->is_execward)
        return Error{ErrorKind::environment_unavailable,
                     fmt::format("the command was not run: the server of '{}' is another one than "
                                 "when the command was judged",
                                 order.environment),
                     "run it again"};
    return hindrance(order.environment, order.sandbox.has_value());
}

void RemoteBackend::send_start(RemoteEnvironment& environment, Process& process) {
    process.remote->connection = environment.connection;
    environment.send("process/start", start_there(process, *environment.peer),
                     {RemoteRequest::Kind::start,
                      process.serial,
                      {},
                      processes_.now() + environment.settings.initialize_timeout});
}

// The answer to the start comes all the same: that it failed, or that it runs and is to be ended.
void RemoteBackend::call_off_start(Process& process) {
    if (!reaches(process))
        return processes_.fail_start(process, {ErrorKind::cancelled, "the start was cancelled"});
    end_there(of(process), process.serial);
    (void)processes_.expect_end(process);
}

void RemoteBackend::write_input(Process& process) {
    RemoteProcess& remote = *process.remote;
    InputQueue& input = process.input;
    if (remote.is_writing || !input.is_open() || !reaches(process)) return;
    if (input.is_empty()) {
        if (!input.is_ending()) return;
        of(process).send("process/closeStdin", protocol::CloseStdinParams{id_there(process.serial)},
                         {RemoteRequest::Kind::unwatched, process.serial});
        return processes_.close_input(process);
    }
    protocol::WriteParams params;
    params.process_id = id_there(process.serial);
    params.chunk.bytes = input.queued().substr(0, write_size);
    params.write_id = fmt::format("{}", ++remote.writes);
    input.consume(params.chunk.bytes.size());
    remote.is_writing = true;
    of(process).send("process/write", params, {RemoteRequest::Kind::write, process.serial});
    processes_.release_held_writes(process);
}

// As on this machine, but for a terminal whose character for it is another one.
void RemoteBackend::end_input(Process& process) {
    if (!process.is_tty()) return process.input.end();
    process.input.end_terminal(end_of_file, true);
}

template <class Params>
void RemoteBackend::forward(Process& process, Reply reply, std::string_view method,
                            const Params& params) {
    RemoteEnvironment& environment = of(process);
    if (environment.requests.size() >= most_requests)
        return reply.fail({ErrorKind::limit,
                           fmt::format("{} requests wait for the server of '{}' already",
                                       most_requests, environment.settings.id),
                           "wait for answers before sending more"});
    RemoteRequest request = {RemoteRequest::Kind::forwarded, process.serial};
    request.deadline = processes_.now() + answer_patience;
    request.reply.emplace(std::move(reply));
    environment.send(method, params, std::move(request));
}

void RemoteBackend::signal(Process& process, Reply reply, const protocol::SignalParams& params) {
    const bool is_interrupt = params.signal == protocol::SignalName::interrupt;
    if (!reaches(process)) {
        if (is_interrupt) return reply.send(protocol::Empty{});
        return reply.fail({ErrorKind::not_running,
                           fmt::format("process '{}' has ended", core::shortened(process.id)),
                           "process/read tells how it ended", "processId"});
    }
    const bool is_known_everywhere = is_interrupt && params.scope == protocol::SignalScope::group;
    if (!is_known_everywhere && !of(process).peer->is_execward)
        return reply.fail({ErrorKind::environment_unavailable,
                           fmt::format("the server of '{}' only knows the signal interrupt, for "
                                       "the process group",
                                       of(process).settings.id),
                           "exec/terminate ends the process; execward there knows all signals",
                           "signal"});
    protocol::SignalParams there = params;
    there.process_id = id_there(process.serial);
    forward(process, std::move(reply), "process/signal", there);
}

void RemoteBackend::interrupt(Process& process) {
    if (!reaches(process)) return;
    of(process).send("process/signal", protocol::SignalParams{id_there(process.serial)},
                     {RemoteRequest::Kind::unwatched, process.serial});
}

void RemoteBackend::resize(Process& process, Reply reply, const protocol::WindowSize& size) {
    if (!reaches(process)) return reply.send(protocol::Empty{}); // as a terminal that has gone
    if (!of(process).peer->is_execward)
        return reply.fail({ErrorKind::environment_unavailable,
                           fmt::format("the server of '{}' cannot change the size of a terminal",
                                       of(process).settings.id),
                           "execward there can", "size"});
    forward(process, std::move(reply), "process/resize",
            protocol::ResizeParams{id_there(process.serial), size});
}

SandboxState RemoteBackend::sandbox_state(const Process& process) const {
    const RemoteProcess& remote = *process.remote;
    const bool is_confined = remote.confinement.type != protocol::SandboxType::none;
    return {is_confined, remote.confinement, {}, remote.denials, remote.denial_count};
}

std::optional<std::string> RemoteBackend::environment(const Process& process) const {
    return process.remote->order.environment;
}

// What its leader has left is known there only. With others than execward something has its output
// open, or nothing can be done.
bool RemoteBackend::has_left_overs(Process& process) {
    return reaches(process) && (of(process).peer->is_execward || process.is_output_open);
}

void RemoteBackend::end_there(RemoteEnvironment& environment, std::uint64_t serial) {
    environment.send("process/terminate", protocol::TerminateParams{id_there(serial), {}},
                     {RemoteRequest::Kind::unwatched, serial});
}

void RemoteBackend::send_terminate(Process& process, std::uint64_t grace_ms) {
    protocol::TerminateParams params;
    params.process_id = id_there(process.serial);
    if (grace_ms > 0) params.grace_ms = grace_ms;
    of(process).send("process/terminate", params,
                     {RemoteRequest::Kind::terminate, process.serial, {}, process.ending->give_up});
}

void RemoteBackend::begin_ending(Process& process, std::uint64_t grace_ms) {
    using Phase = Ending::Phase;
    const bool is_polite = grace_ms > 0;
    if (process.ending && (is_polite || process.ending->phase == Phase::killing)) return;
    if (!process.ending) process.ending = Ending{Phase::polite};
    Ending& ending = *process.ending;
    if (!is_polite) ending.phase = Phase::killing;
    ending.kill_at.reset();
    ending.give_up = deadline_after(processes_.now() + answer_patience, grace_ms);
    if (!reaches(process)) { // what can be told is told by its loss, which is near
        ending.give_up = processes_.now() + 2 * status_patience;
        return;
    }
    // Others than execward know no patience: the nearest thing is what a terminal would send.
    if (!is_polite || of(process).peer->is_execward) return send_terminate(process, grace_ms);
    ending.kill_at = deadline_after(processes_.now(), grace_ms);
    interrupt(process);
}

// Its server does not answer, or is gone.
void RemoteBackend::give_up_ending(Process& process) {
    if (process.ending->phase == Ending::Phase::calling_off_start)
        return processes_.fail_start(process, {ErrorKind::cancelled, "the start was cancelled"});
    if (!reaches(process)) return processes_.finish_ending(process, {});
    processes_.fail_ending(
        process, {ErrorKind::environment_unavailable,
                  fmt::format("the server of '{}' has not answered in {} ms; the process may "
                              "still run",
                              of(process).settings.id, answer_patience.count()),
                  "environment/list shows its state"});
}

void RemoteBackend::check_timers(Process& process) {
    const TimePoint now = processes_.now();
    RemoteProcess& remote = *process.remote;
    if (is_due(gap_deadline(remote), now)) read_gap(process);
    if (remote.missing_end && remote.missing_end->due <= now) miss_end(process);
    if (!process.ending) return;
    if (is_due(process.ending->kill_at, now)) {
        process.ending->kill_at.reset();
        process.ending->phase = Ending::Phase::killing;
        if (reaches(process)) send_terminate(process, 0);
    }
    if (!is_due(process.ending->give_up, now)) return;
    // The answer may lie where nothing is read, because our client reads nothing.
    if (of(process).is_held_up)
        process.ending->give_up = now + answer_patience;
    else
        give_up_ending(process);
}

std::optional<TimePoint> RemoteBackend::next_deadline(const Process& process) const {
    std::optional<TimePoint> next = gap_deadline(*process.remote);
    if (process.remote->missing_end) next = earlier(next, process.remote->missing_end->due);
    if (!process.ending) return next;
    return earlier(next, earlier(process.ending->kill_at, process.ending->give_up));
}

} // namespace ew::server
