// What the servers of other environments answer and tell, and what follows for processes.
#include "base/log.h"
#include "core/output/utf8.h"
#include "core/text/display.h"
#include "os/signals.h"
#include "server/environment/remote_backend.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <utility>
#include <variant>

namespace ew::server {

namespace {

using peer::Event;
using protocol::Message;

core::Stream stream_of(protocol::StreamName name) {
    switch (name) {
    case protocol::StreamName::out: return core::Stream::out;
    case protocol::StreamName::err: return core::Stream::err;
    case protocol::StreamName::pty: break;
    }
    return core::Stream::pty;
}

int signal_number(const std::optional<std::string>& name) {
    for (int number = 1; name && number < NSIG; ++number)
        if (os::signal_name(number) == *name) return number;
    return 0;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// What no program can end with, cut to size, could be taken for success.
int exit_code(std::optional<std::int64_t> code) {
    return code && std::in_range<int>(*code) ? static_cast<int>(*code) : -1;
}

// Of the types that there are, those that mean one.
bool is_sandbox(std::string_view type) {
    return type == "linuxSeccomp" || type == "macosSeatbelt" || type == "windowsRestrictedToken";
}

std::string cannot_read(std::string_view what, const Error& error) {
    return fmt::format("its {} cannot be read: {}", what, error.message);
}

// Why it could not be started there, as exec/command says it. Codex does not name what it means.
Error start_error(const Process& process, const Message& message) {
    Error error = peer::error_of(message.params, ErrorKind::spawn_failed);
    error.path = error.path == "cwd" ? "workdir" : "";
    const std::string& program = process.request.argv.front();
    if (error.message.find(program) == std::string::npos)
        error.message =
            fmt::format("cannot start '{}': {}", core::shortened(program), error.message);
    return error;
}

} // namespace

// ---------------------------------------------------------------- answers

// Returns what is wrong with it; empty: nothing.
std::string RemoteBackend::on_response(RemoteEnvironment& environment, const Message& message) {
    using Kind = RemoteRequest::Kind;
    const std::optional<std::uint64_t> id = number_in(message.id.json);
    const auto at = environment.requests.find(id.value_or(0));
    if (at == environment.requests.end()) {
        log::info("environment", "{}: ignored an answer to nothing", environment.settings.id);
        return {};
    }
    RemoteRequest request = std::move(at->second);
    environment.requests.erase(at);
    switch (request.kind) {
    case Kind::initialize: return on_initialized(environment, message);
    case Kind::start: return on_started(environment, request.process, message);
    case Kind::forwarded: on_forwarded(std::move(*request.reply), message); return {};
    case Kind::probe:
    case Kind::unwatched: return {}; // none of these is kept
    case Kind::read:
    case Kind::write:
    case Kind::terminate: break;
    }
    Process* const process = processes_.find(request.process);
    if (process == nullptr) return {};
    if (request.kind == Kind::read) return on_read(*process, message);
    if (request.kind == Kind::write)
        on_written(*process, message);
    else
        on_terminated(*process, message);
    return {};
}

std::string RemoteBackend::on_initialized(RemoteEnvironment& environment, const Message& message) {
    if (message.is_error)
        return fmt::format(
            "it refused initialize: {}",
            peer::error_of(message.params, ErrorKind::environment_unavailable).message);
    Result<peer::Peer> peer = peer::peer_of(message.params);
    if (!peer) return peer.error().message;
    environment.peer = std::move(*peer);
    environment.state = RemoteEnvironment::State::ready;
    environment.deadline.reset();
    environment.failure.reset();
    environment.link->forget_error_text(); // banners, profiles
    environment.link->send("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n");
    log::info("environment", "{}: {} {} is ready", environment.settings.id, environment.peer->name,
              environment.peer->version);
    news_.push_back({environment.settings.id, environment.connection, {}});
    for (const std::uint64_t serial : processes_over(0)) {
        Process* const process = processes_.find(serial);
        if (process == nullptr || &of(*process) != &environment) continue;
        if (std::optional<Error> error = hindrance_of(*process))
            processes_.fail_start(*process, std::move(*error));
        else
            send_start(environment, *process);
    }
    return {};
}

// What the server says of the confinement counts. Error: it is not what was required.
std::optional<Error> RemoteBackend::confinement_error(Process& process,
                                                      const peer::PeerStarted& started) {
    RemoteProcess& remote = *process.remote;
    if (!remote.order.sandbox) return std::nullopt;
    const std::string type = started.sandbox_type.value_or("none");
    if (is_sandbox(type)) remote.confinement.type = protocol::SandboxType::linux_seccomp;
    for (const std::string& guarantee : started.missing)
        remote.confinement.missing.push_back(peer::shown(guarantee));
    const bool is_whole = is_sandbox(type) && started.missing.empty();
    if (is_whole || remote.order.sandbox->enforcement == protocol::Enforcement::best_effort)
        return std::nullopt;
    const std::string lacking =
        is_sandbox(type)
            ? fmt::format(" (missing: {})", fmt::join(remote.confinement.missing, ", "))
            : "";
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the server of '{}' ran the command without the sandbox that was "
                             "asked for{}; it is ended",
                             remote.order.environment, lacking),
                 "set sandbox for this environment to what its server can do"};
}

std::string RemoteBackend::on_started(RemoteEnvironment& environment, std::uint64_t serial,
                                      const Message& message) {
    Process* const process = processes_.find(serial);
    if (message.is_error) {
        if (process != nullptr) processes_.fail_start(*process, start_error(*process, message));
        return {};
    }
    if (process == nullptr) { // it was given up meanwhile
        end_there(environment, serial);
        return {};
    }
    Result<peer::PeerStarted> started = peer::read_message<peer::PeerStarted>(message.params);
    if (!started) return cannot_read("answer to process/start", started.error());
    if (std::optional<Error> error = confinement_error(*process, *started)) {
        end_there(environment, serial);
        processes_.fail_start(*process, std::move(*error));
        return {};
    }
    process->is_output_open = true;
    if (process->is_tty() || process->request.pipe_stdin) process->input.open();
    processes_.begin_running(*process);
    if (Process* const running = processes_.find(serial)) drain(*running);
    return {};
}

void RemoteBackend::on_forwarded(Reply reply, const Message& message) {
    if (message.is_error)
        return reply.fail(peer::error_of(message.params, ErrorKind::environment_unavailable));
    reply.send(protocol::Empty{});
}

void RemoteBackend::on_written(Process& process, const Message& message) {
    process.remote->is_writing = false;
    Result<peer::PeerWritten> written = peer::read_message<peer::PeerWritten>(message.params);
    const bool is_accepted = !message.is_error && written && written->status == "accepted";
    if (is_accepted) return write_input(process);
    // What came before it was taken, and nothing may come behind what is missing.
    if (reaches(process) && of(process).peer->is_execward && !process.is_tty())
        of(process).send("process/closeStdin", protocol::CloseStdinParams{id_there(process.serial)},
                         {});
    processes_.close_input(process);
}

void RemoteBackend::on_terminated(Process& process, const Message& message) {
    if (!process.ending) return;
    if (message.is_error) {
        process.remote->missing_end = MissingEnd{processes_.now(), true};
        return processes_.fail_ending(
            process, peer::error_of(message.params, ErrorKind::environment_unavailable));
    }
    Result<peer::PeerTerminated> ended = peer::read_message<peer::PeerTerminated>(message.params);
    const std::vector<std::int64_t> survivors =
        ended ? std::move(ended->survivors) : std::vector<std::int64_t>();
    if (survivors.empty()) await_end(process);
    processes_.finish_ending(process, survivors);
}

std::string RemoteBackend::on_read(Process& process, const Message& message) {
    RemoteProcess& remote = *process.remote;
    const bool is_end_missing = remote.missing_end && remote.missing_end->is_asked;
    if (message.is_error) {
        give_up_gap(process);
        if (is_end_missing && !process.is_closed) lose_process(process); // it is not known there
        return {};
    }
    remote.is_reading = false;
    remote.gap_since.reset();
    Result<peer::PeerReadResult> result = peer::read_message<peer::PeerReadResult>(message.params);
    if (!result) return cannot_read("answer to process/read", result.error());
    if (is_end_missing && remote.missing_end->is_doubtful && !result->exited)
        remote.missing_end.reset(); // it goes on
    remote.events.add(std::move(*result));
    // It has told all that it has, and what is missing was not among that.
    if (remote.events.next() == nullptr) remote.is_gap_given_up = true;
    drain(process);
    return {};
}

// ---------------------------------------------------------------- events

Process* RemoteBackend::find_there(const RemoteEnvironment& environment, std::string_view id) {
    Process* const process = processes_.find(number_in(id).value_or(0));
    const bool is_there = process != nullptr && process->remote &&
                          process->remote->connection == environment.connection;
    return is_there ? process : nullptr;
}

std::string RemoteBackend::on_notification(RemoteEnvironment& environment, const Message& message) {
    const auto take = [&](std::string_view id, std::uint64_t seq, Event event) {
        Process* const process = find_there(environment, id);
        if (process == nullptr) return; // of one that was given up
        postpone_missing_end(*process);
        process->remote->events.add(seq, std::move(event));
        drain(*process);
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
        log::info("environment", "{}: ignored the notification '{}'", environment.settings.id,
                  core::visible(core::shortened(message.method)));
    }
    return {};
}

// Takes all that is there, as far as the log has room and as it was numbered.
void RemoteBackend::drain(Process& process) {
    RemoteProcess& remote = *process.remote;
    if (process.is_starting()) return; // its answer comes first
    bool is_held_up = drain_all(process);
    // What is missing in between will not come any more.
    const bool skips_gaps = std::exchange(remote.is_gap_given_up, false) || remote.loss;
    while (skips_gaps && !is_held_up && remote.events.has_gap()) {
        remote.lost_pieces += remote.events.skip_gap();
        is_held_up = drain_all(process);
    }
    remote.is_held_up = is_held_up;
    if (is_held_up && !remote.loss) {
        RemoteEnvironment& environment = of(process);
        environment.is_held_up = true;
        environment.link->pause(true);
    }
    if (!remote.events.has_gap() || remote.loss)
        remote.gap_since.reset();
    else if (!remote.gap_since)
        remote.gap_since = processes_.now();
    tell_lost_output(process);
    if (remote.loss && !is_held_up && !process.is_closed) note_loss(process);
    processes_.settle(process);
}

// True: there is more than the log has room for, as far as the client takes it.
bool RemoteBackend::drain_all(Process& process) {
    while (drain_events(process)) {
        processes_.settle(process);
        if (!process.log.has_room()) return true;
    }
    return false;
}

// True: there is more than the log has room for.
bool RemoteBackend::drain_events(Process& process) {
    peer::OrderedEvents& events = process.remote->events;
    while (Event* const event = events.next()) {
        if (!drain_one(process, *event)) return true;
        events.take_next();
    }
    return false;
}

// False: not all of it has found room.
bool RemoteBackend::drain_one(Process& process, Event& event) {
    if (peer::OutputPiece* const piece = std::get_if<peer::OutputPiece>(&event)) {
        const std::string_view rest = std::string_view(piece->bytes).substr(piece->taken);
        if (process.is_closed) { // without waiting for that
            process.log.count_lost(rest.size());
            return true;
        }
        piece->taken += processes_.delivery().append(process, stream_of(piece->stream), rest);
        return piece->taken == piece->bytes.size();
    }
    if (peer::PeerEnd* const end = std::get_if<peer::PeerEnd>(&event)) {
        note_end(process, std::move(*end));
        processes_.settle(process); // behind it more output may come
    } else if (const peer::Lost* const lost = std::get_if<peer::Lost>(&event)) {
        process.remote->lost_pieces += lost->count;
    } else {
        process.is_output_open = false;
        if (!process.exit) await_end(process);
    }
    return true;
}

void RemoteBackend::note_end(Process& process, peer::PeerEnd end) {
    peer::make_fit_to_show(end);
    process.remote->denial_count = *end.denial_count;
    process.remote->denials = std::move(end.denials);
    Exit exit;
    exit.code = exit_code(end.exit_code);
    exit.signal = signal_number(end.signal);
    exit.usage.wall_ms = millis(processes_.now() - process.started_at);
    exit.is_usage_known = end.usage.has_value();
    if (end.usage) exit.usage = *end.usage;
    exit.limit_hits = std::move(end.limit_hits);
    if (process.remote->order.sandbox) {
        exit.sandbox_hint = end.sandbox_hint;
        if (end.sandbox_denied && !exit.sandbox_hint && process.remote->denials.empty())
            exit.sandbox_hint = "the server there thinks that the sandbox refused something";
    }
    processes_.note_exit(process, std::move(exit));
    // It has not needed the patience; what else there is of it is ended now.
    if (process.ending && process.ending->kill_at) process.ending->kill_at = processes_.now();
}

} // namespace ew::server
