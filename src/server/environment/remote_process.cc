#include "server/environment/remote_process.h"

#include "core/output/utf8.h"
#include "peer/peer.h"
#include "protocol/envelope.h"
#include "server/environment/remote_reports.h"
#include "server/process/process_service.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace ew::server {

namespace {

constexpr char end_of_file = '\x04'; // the default of a terminal (termios(3))

// The params of process/start that every version reads.
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

Error cancelled() {
    return {ErrorKind::cancelled, "the start was cancelled"};
}

} // namespace

RemoteProcess::RemoteProcess(const Parts& parts, RemoteStart order)
    : process_(parts.process),
      processes_(parts.processes),
      order_(std::move(order)),
      there_(parts.connection, parts.process.serial),
      output_({parts.process, parts.processes, parts.outbox, there_}, order_.sandbox.has_value()) {}

TimePoint RemoteProcess::answer_deadline() const {
    return processes_.now() + RemoteConnection::answer_patience;
}

// ---------------------------------------------------------------- start

std::optional<Error> RemoteProcess::hindrance() const {
    if (order_.for_execward != connection().peer()->is_execward)
        return Error{ErrorKind::environment_unavailable,
                     fmt::format("the command was not run: the server of '{}' is another one than "
                                 "when the command was judged",
                                 order_.environment),
                     "run it again"};
    return connection().hindrance(order_.sandbox.has_value());
}

void RemoteProcess::send_start() {
    const os::SpawnRequest& request = process_.request;
    const peer::Peer& peer = *connection().peer();
    StartThere start;
    start.process_id = there_.id();
    start.argv = request.argv;
    start.cwd = peer.path_text(request.directory);
    start.env = request.environment;
    start.tty = process_.is_tty();
    start.pipe_stdin = request.pipe_stdin;
    start.arg0 = request.arg0;
    start.env_policy = order_.inherited;
    start.sandbox = order_.sandbox;
    if (request.terminal && peer.is_execward)
        start.size = protocol::WindowSize{request.terminal->rows, request.terminal->cols};
    there_.start(start, processes_.now() + connection().settings().initialize_timeout);
}

std::string RemoteProcess::on_started(const protocol::Message& answer) {
    if (answer.is_error) {
        processes_.fail_start(process_, start_error(process_.request.argv.front(), answer));
        return {};
    }
    Result<peer::PeerStarted> started = peer::read_message<peer::PeerStarted>(answer.params);
    if (!started) return cannot_read("answer to process/start", started.error());
    confinement_ = confinement_told(*started, order_);
    if (std::optional<Error> error = confinement_error(confinement_, order_)) {
        there_.end();
        processes_.fail_start(process_, std::move(*error));
        return {};
    }
    process_.is_output_open = true;
    if (process_.is_tty() || process_.request.pipe_stdin) process_.input.open();
    ProcessService& processes = processes_;
    const std::uint64_t serial = process_.serial;
    processes.begin_running(process_);
    if (processes.find(serial) != nullptr) output_.drain();
    return {};
}

// The start is still answered: either it failed, or the program runs and will be ended.
void RemoteProcess::call_off_start() {
    if (!there_.is_reached()) return processes_.fail_start(process_, cancelled());
    there_.end();
    (void)processes_.expect_end(process_);
}

void RemoteProcess::give_up_start(Error error) {
    error.message += ": it was starting the command, which is ended if it runs yet";
    processes_.fail_start(process_, std::move(error));
}

void RemoteProcess::lose(const Error& error) {
    if (process_.is_closed) return output_.end_ending(error);
    if (!process_.is_starting()) return output_.lose(error);
    Error unsure = error;
    unsure.message += "; it was starting the command, which may have run";
    processes_.fail_start(process_, std::move(unsure));
}

// ---------------------------------------------------------------- input

void RemoteProcess::write_input() {
    InputQueue& input = process_.input;
    if (is_writing_ || !input.is_open() || !there_.is_reached()) return;
    if (input.is_empty()) {
        if (!input.is_ending()) return;
        there_.close_input();
        return processes_.close_input(process_);
    }
    const std::string_view bytes = input.queued().substr(0, write_size);
    there_.write(bytes);
    is_writing_ = true;
    input.consume(bytes.size());
    processes_.release_held_writes(process_);
}

void RemoteProcess::on_written(const protocol::Message& answer) {
    is_writing_ = false;
    Result<peer::PeerWritten> written = peer::read_message<peer::PeerWritten>(answer.params);
    const bool is_accepted = !answer.is_error && written && written->status == "accepted";
    if (is_accepted) return write_input();
    // Earlier input was taken. No input may follow the piece that is missing.
    if (there_.is_reached() && connection().peer()->is_execward && !process_.is_tty())
        there_.close_input();
    processes_.close_input(process_);
}

// As on this machine, except that a terminal always gets the default end-of-file character.
void RemoteProcess::end_input() {
    if (!process_.is_tty()) return process_.input.end();
    process_.input.end_terminal(end_of_file, true);
}

// ---------------------------------------------------------------- signals

void RemoteProcess::signal(Reply reply, const protocol::SignalParams& params) {
    const bool is_interrupt = params.signal == protocol::SignalName::interrupt;
    if (!there_.is_reached()) {
        if (is_interrupt) return reply.send(protocol::Empty{});
        return reply.fail({ErrorKind::not_running,
                           fmt::format("process '{}' has ended", core::shortened(process_.id)),
                           "process/read tells how it ended", "processId"});
    }
    const bool is_known_everywhere = is_interrupt && params.scope == protocol::SignalScope::group;
    if (!is_known_everywhere && !connection().peer()->is_execward)
        return reply.fail({ErrorKind::environment_unavailable,
                           fmt::format("the server of '{}' only knows the signal interrupt, for "
                                       "the process group",
                                       order_.environment),
                           "exec/terminate ends the process; execward there knows all signals",
                           "signal"});
    there_.signal(std::move(reply), params, answer_deadline());
}

void RemoteProcess::interrupt() {
    if (there_.is_reached()) there_.interrupt();
}

void RemoteProcess::resize(Reply reply, const protocol::WindowSize& size) {
    if (!there_.is_reached()) return reply.send(protocol::Empty{}); // like a lost terminal
    if (!connection().peer()->is_execward)
        return reply.fail({ErrorKind::environment_unavailable,
                           fmt::format("the server of '{}' cannot change the size of a terminal",
                                       order_.environment),
                           "execward there can", "size"});
    process_.sizes.note(process_.log.end(), {size.rows, size.cols}, processes_.now());
    there_.resize(std::move(reply), size, answer_deadline());
}

// ---------------------------------------------------------------- ending

// Only the remote server knows the descendants that outlived the leader. Servers other than
// execward can only be asked to end them while their output is open.
bool RemoteProcess::has_left_overs() const {
    return there_.is_reached() && (connection().peer()->is_execward || process_.is_output_open);
}

void RemoteProcess::begin_ending(std::uint64_t grace_ms) {
    using Phase = Ending::Phase;
    const bool is_polite = grace_ms > 0;
    if (process_.ending && (is_polite || process_.ending->phase == Phase::killing)) return;
    if (!process_.ending) process_.ending = Ending{Phase::polite};
    Ending& ending = *process_.ending;
    if (!is_polite) ending.phase = Phase::killing;
    ending.kill_at.reset();
    ending.give_up = deadline_after(answer_deadline(), grace_ms);
    if (!there_.is_reached()) { // its loss follows soon, and reports everything else
        ending.give_up = processes_.now() + 2 * RemoteConnection::status_patience;
        return;
    }
    // Servers other than execward have no grace time: the closest request is the signal that a
    // terminal sends.
    if (!is_polite || connection().peer()->is_execward)
        return there_.terminate(grace_ms, ending.give_up);
    ending.kill_at = deadline_after(processes_.now(), grace_ms);
    there_.interrupt();
}

void RemoteProcess::on_terminated(const protocol::Message& answer) {
    if (!process_.ending) return;
    if (answer.is_error) {
        output_.doubt_end();
        return processes_.fail_ending(
            process_, peer::error_of(answer.params, ErrorKind::environment_unavailable));
    }
    Result<peer::PeerTerminated> ended = peer::read_message<peer::PeerTerminated>(answer.params);
    const std::vector<std::int64_t> survivors =
        ended ? std::move(ended->survivors) : std::vector<std::int64_t>();
    if (survivors.empty()) output_.await_end();
    processes_.finish_ending(process_, survivors);
}

// The remote server does not answer, or is gone.
void RemoteProcess::give_up_ending() {
    if (process_.ending->phase == Ending::Phase::calling_off_start)
        return processes_.fail_start(process_, cancelled());
    if (!there_.is_reached()) return processes_.finish_ending(process_, {});
    processes_.fail_ending(
        process_, {ErrorKind::environment_unavailable,
                   fmt::format("the server of '{}' has not answered in {} ms; the process may "
                               "still run",
                               order_.environment, RemoteConnection::answer_patience.count()),
                   "environment/list shows its state"});
}

void RemoteProcess::check_timers() {
    output_.check_timers();
    if (!process_.ending) return;
    const TimePoint now = processes_.now();
    if (is_due(process_.ending->kill_at, now)) {
        process_.ending->kill_at.reset();
        process_.ending->phase = Ending::Phase::killing;
        if (there_.is_reached()) there_.terminate(0, process_.ending->give_up);
    }
    if (!is_due(process_.ending->give_up, now)) return;
    // The answer may be among messages that are not read, because the client does not read.
    if (connection().is_held_up())
        process_.ending->give_up = answer_deadline();
    else
        give_up_ending();
}

std::optional<TimePoint> RemoteProcess::next_deadline() const {
    const std::optional<TimePoint> next = output_.next_deadline();
    if (!process_.ending) return next;
    return earlier(next, earlier(process_.ending->kill_at, process_.ending->give_up));
}

SandboxState RemoteProcess::sandbox_state() const {
    const bool is_confined = confinement_.type != protocol::SandboxType::none;
    return {is_confined, confinement_, {}, output_.denials(), output_.denial_count(), {}};
}

} // namespace ew::server
