// Connections to the servers of other environments: begun, greeted, lost.
#include "base/log.h"
#include "core/environment.h"
#include "core/output/utf8.h"
#include "core/text/display.h"
#include "os/proc.h"
#include "server/connection/source.h"
#include "server/environment/remote_backend.h"
#include "server/request/start_request.h"
#include "server/session/environment_choice.h"
#include "version.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

using State = RemoteEnvironment::State;

constexpr std::size_t read_size = 64 << 10;

// All of ours, but not what execward tells its own programs.
core::Variables inherited() {
    core::EnvironmentPolicy all;
    all.ignore_default_excludes = true;
    return core::apply(all, own_environment());
}

// Without its arguments: they may hold a token.
std::string program_of(const config::Environment& settings) {
    return core::shortened(core::visible(settings.program));
}

} // namespace

const peer::Peer* RemoteBackend::connect(std::string_view environment) {
    RemoteEnvironment& found = *find(environment);
    switch (found.state) {
    case State::ready: return &*found.peer;
    case State::starting: break;
    case State::ending: found.is_wanted = true; break;
    case State::idle:
    case State::failed: start(found); break;
    }
    return nullptr;
}

Error RemoteBackend::failure(std::string_view environment) {
    return find(environment)
        ->failure.value_or(
            Error{ErrorKind::environment_unavailable,
                  fmt::format("the connection to '{}' was lost again and again", environment),
                  "environment/list tells its state"});
}

void RemoteBackend::start(RemoteEnvironment& environment) {
    const config::Environment& settings = environment.settings;
    os::SpawnRequest request;
    request.argv = {settings.program};
    request.argv.insert(request.argv.end(), settings.args.begin(), settings.args.end());
    request.environment = core::overlaid(inherited(), settings.env);
    request.directory = settings.cwd.empty() ? session_.environment().cwd.native : settings.cwd;
    limit_open_files(request, open_files_);
    log::info("environment", "{}: starting {}", settings.id, program_of(settings));
    log::debug("environment", "{}: its arguments: {}", settings.id,
               core::visible(fmt::format("{}", fmt::join(settings.args, " "))));
    environment.connection = ++last_connection_;
    environment.state = State::starting;
    environment.deadline = processes_.now() + settings.initialize_timeout;
    environment.is_wanted = false;
    environment.is_held_up = false;
    environment.ignored_lines = 0;
    environment.trouble.clear();
    const std::uint64_t serial = environment.connection;
    const peer::Link::Tokens tokens = {
        token_of(Source::environment_start, serial), token_of(Source::environment_output, serial),
        token_of(Source::environment_error, serial), token_of(Source::environment_input, serial)};
    Result<std::unique_ptr<peer::Link>> link =
        peer::Link::begin(tokens, std::move(request), poller_);
    if (link) {
        environment.link = std::move(*link);
        return;
    }
    environment.trouble = link.error().message;
    environment.deadline =
        processes_.now(); // not from here: whoever needs it is in the middle of something
}

void RemoteBackend::on_start_report(std::uint64_t connection) {
    RemoteEnvironment* const environment = find(connection);
    if (environment == nullptr) return;
    if (Result<void> started = environment->link->on_start_report(); !started) {
        environment->trouble = started.error().message;
        environment->link.reset(); // there is no program that could have ended
        return finish_losing(*environment);
    }
    if (environment->link->is_running()) handshake(*environment);
}

void RemoteBackend::handshake(RemoteEnvironment& environment) {
    protocol::InitializeParams params;
    params.client_name = "execward";
    params.client_info = {"execward", std::string(program_version)};
    params.capabilities = {false, true};
    environment.send("initialize", params, {RemoteRequest::Kind::initialize});
}

void RemoteBackend::on_output(std::uint64_t connection) {
    RemoteEnvironment* const environment = find(connection);
    if (environment == nullptr) return;
    const bool is_open = environment->link->read(read_size);
    handle_frames(*environment);
    if (!is_open && environment->connection == connection) lose(*environment, "");
}

void RemoteBackend::on_error_text(std::uint64_t connection) {
    if (RemoteEnvironment* const environment = find(connection))
        environment->link->read_error_text();
}

void RemoteBackend::on_input_room(std::uint64_t connection) {
    if (RemoteEnvironment* const environment = find(connection)) environment->link->on_room();
}

void RemoteBackend::on_reaped(pid_t pid, int status) {
    for (const auto& environment : environments_) {
        if (!environment->link || !environment->link->note_reaped(pid, status)) continue;
        if (environment->state == State::ending) finish_losing(*environment);
        return;
    }
}

void RemoteBackend::handle_frames(RemoteEnvironment& environment) {
    const std::uint64_t connection = environment.connection;
    while (environment.link && environment.connection == connection && !environment.is_held_up &&
           environment.state != State::ending) {
        const std::optional<protocol::Frame> frame = environment.link->next();
        if (!frame) return;
        const std::string trouble = handle_frame(environment, *frame);
        reader_.trim();
        if (!trouble.empty()) return lose(environment, trouble);
    }
}

// Returns what is wrong with it; empty: nothing.
std::string RemoteBackend::handle_frame(RemoteEnvironment& environment,
                                        const protocol::Frame& frame) {
    using Kind = protocol::Message::Kind;
    if (frame.error) return "it sent a message that is too long";
    const protocol::Message message = reader_.read(frame.text);
    switch (message.kind) {
    case Kind::response: return on_response(environment, message);
    case Kind::notification: return on_notification(environment, message);
    case Kind::request: {
        if (environment.link->unsent() > most_unsent) return "it does not read what it is sent";
        ByteBuffer out;
        protocol::write_error(out, message.id,
                              {ErrorKind::unknown_method, "this client serves no requests"});
        out.append('\n');
        environment.link->send(out.view());
        return {};
    }
    case Kind::refused: break;
    }
    return ignore_line(environment, frame);
}

// What leads to the server may say something too: a greeting, a warning.
std::string RemoteBackend::ignore_line(RemoteEnvironment& environment,
                                       const protocol::Frame& frame) {
    const std::string shown = core::visible(core::shortened(frame.text));
    log::info("environment", "{}: ignored a line that is no message: {}", environment.settings.id,
              shown);
    if (++environment.ignored_lines > most_ignored_lines)
        return fmt::format("it sent {} lines that are no messages; the last one: {}",
                           environment.ignored_lines, shown);
    if (!environment.is_ready()) environment.link->note_strange_line(shown);
    return {};
}

// `trouble`: why we end it; empty: the other side has.
void RemoteBackend::lose(RemoteEnvironment& environment, std::string trouble) {
    if (environment.state == State::ending) return;
    const bool was_ready = environment.is_ready();
    environment.trouble = std::move(trouble);
    environment.state = State::ending;
    environment.was_ready = was_ready;
    environment.deadline = processes_.now() + status_patience;
    environment.link->pause(true);
    environment.link->close_input();
    if (environment.link->has_exited()) finish_losing(environment);
}

void RemoteBackend::finish_losing(RemoteEnvironment& environment) {
    std::string why = environment.trouble;
    if (environment.link) {
        environment.link->read_error_text();
        const std::string ending = environment.link->ending();
        why = why.empty() ? ending : fmt::format("{} ({})", why, ending);
    }
    const bool was_ready = environment.was_ready;
    const std::string& id = environment.settings.id;
    log::info("environment", "{}: {}", id, why);
    Error error = {ErrorKind::environment_lost,
                   fmt::format("the connection to '{}' was lost: {}", id, why),
                   environment.peer && environment.peer->is_execward
                       ? "execward there ends what it ran; the next command connects again"
                       : "what ran there may still run; the next command connects again"};
    if (!was_ready)
        error = {ErrorKind::environment_unavailable,
                 fmt::format("the environment '{}' could not be started: {}", id, why),
                 fmt::format("try its program by hand, with its args: {}",
                             program_of(environment.settings))};
    environment.failure = error;
    environment.state = State::failed;
    environment.was_ready = false;
    environment.deadline.reset();
    const std::uint64_t ended = std::exchange(environment.connection, 0);
    environment.link.reset();
    fail_requests(environment, error);
    if (was_ready)
        lose_processes(ended, error);
    else
        fail_what_waits(environment, error);
    if (!was_ready) {
        news_.push_back({id, ended, error});
        environment.is_wanted = false; // whoever waits has failed with it
    }
    if (environment.is_wanted && environment.state != State::starting) start(environment);
}

void RemoteBackend::fail_requests(RemoteEnvironment& environment, const Error& error) {
    std::map<std::uint64_t, RemoteRequest> requests = std::move(environment.requests);
    environment.requests.clear();
    for (auto& [id, request] : requests)
        if (request.reply) request.reply->fail(error);
}

std::vector<std::uint64_t> RemoteBackend::processes_over(std::uint64_t connection) {
    return processes_.table().serials_of([&](const Process& process) {
        return process.remote && process.remote->connection == connection;
    });
}

// Starts that were not sent, because there was nobody to send them to.
void RemoteBackend::fail_what_waits(const RemoteEnvironment& environment, const Error& error) {
    for (const std::uint64_t serial : processes_over(0)) {
        Process* const process = processes_.find(serial);
        if (process != nullptr && &of(*process) == &environment)
            processes_.fail_start(*process, error);
    }
}

void RemoteBackend::lose_processes(std::uint64_t connection, const Error& error) {
    for (const std::uint64_t serial : processes_over(connection)) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue;
        if (process->is_closed) {
            end_ending(*process, error);
            continue;
        }
        process->remote->loss = error;
        if (!process->is_starting()) {
            drain(*process);
            continue;
        }
        Error unsure = error;
        unsure.message += "; it was starting the command, which may have run";
        processes_.fail_start(*process, std::move(unsure));
    }
}

bool RemoteBackend::resume() {
    bool has_resumed = false;
    const auto is_lost_and_held_up = [](const Process& process) {
        return process.remote && process.remote->loss && process.remote->is_held_up;
    };
    for (const std::uint64_t serial : processes_.table().serials_of(is_lost_and_held_up)) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue;
        drain(*process);
        has_resumed |= !process->remote->is_held_up;
    }
    processes_.for_each([&](Process& process) {
        if (process.remote) tell_lost_output(process);
    });
    for (const auto& environment : environments_) {
        if (!environment->is_held_up) continue;
        environment->is_held_up = false;
        for (const std::uint64_t serial : processes_over(environment->connection)) {
            Process* const process = processes_.find(serial);
            if (process != nullptr && process->remote->is_held_up) drain(*process);
        }
        if (environment->is_held_up) continue;
        has_resumed = true;
        for (auto& [id, request] : environment->requests)
            if (request.deadline)
                request.deadline = std::max(*request.deadline, processes_.now() + answer_patience);
        handle_frames(*environment);
        if (environment->link && !environment->is_held_up && environment->state != State::ending)
            environment->link->pause(false);
    }
    return has_resumed;
}

void RemoteBackend::close_all() {
    for (const auto& environment : environments_) {
        environment->is_wanted = false;
        if (environment->link) environment->link->close_input();
    }
}

std::vector<pid_t> RemoteBackend::programs() const {
    std::vector<pid_t> pids;
    for (const auto& environment : environments_) {
        if (!environment->link || environment->link->has_exited()) continue;
        pids.push_back(environment->link->pid());
        for (const os::ProcessIdentity& process : os::descendants_of(environment->link->pid()))
            pids.push_back(process.pid);
    }
    return pids;
}

protocol::EnvironmentListResult RemoteBackend::list() {
    using EntryState = protocol::EnvironmentEntryState;
    protocol::EnvironmentListResult result = environment_list(session_.settings());
    for (protocol::EnvironmentEntry& entry : result.environments) {
        const RemoteEnvironment* const environment = find(entry.id);
        processes_.for_each([&](const Process& process) {
            const bool is_there = process.remote ? process.remote->order.environment == entry.id
                                                 : environment == nullptr;
            if (is_there && process.is_running()) ++entry.processes;
        });
        if (environment == nullptr) continue; // this machine
        switch (environment->state) {
        case State::idle: entry.state = EntryState::idle; break;
        case State::starting: entry.state = EntryState::starting; break;
        case State::ready: entry.state = EntryState::ready; break;
        case State::failed:
        case State::ending: entry.state = EntryState::failed; break;
        }
        if (environment->failure && entry.state == EntryState::failed)
            entry.failure = environment->failure->message;
        if (!environment->peer) continue;
        const peer::Peer& peer = *environment->peer;
        protocol::EnvironmentServer& server = entry.server.emplace();
        server.name = peer.name;
        if (!peer.version.empty()) server.version = peer.version;
        entry.shell = {peer.shell.name, peer.shell.path};
        const std::vector<std::string>& roots = environment->settings.workspace_roots;
        const std::string& directory = roots.empty() ? peer.directory : roots.front();
        if (!directory.empty()) entry.cwd = directory;
        entry.confines = peer.confines;
    }
    return result;
}

} // namespace ew::server
