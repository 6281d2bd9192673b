#include "server/environment/remote_connection.h"

#include "base/log.h"
#include "core/environment.h"
#include "core/output/utf8.h"
#include "core/text/display.h"
#include "os/poller.h"
#include "os/spawn.h"
#include "peer/link.h"
#include "peer/peer.h"
#include "peer/peer_messages.h"
#include "protocol/envelope.h"
#include "protocol/framing.h"
#include "protocol/session.h"
#include "server/environment/connection_listener.h"
#include "server/environment/remote_reports.h"
#include "server/request/start_request.h"
#include "server/session/session.h"
#include "version.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace {

using Kind = PendingRequest::Kind;

constexpr std::size_t read_size = 64 << 10;

// All of our variables, except those that execward sets for its own programs.
core::Variables inherited() {
    core::EnvironmentPolicy all;
    all.ignore_default_excludes = true;
    return core::apply(all, own_environment());
}

// The program without its arguments: they may hold a token.
std::string program_of(const config::Environment& settings) {
    return core::shortened(core::visible(settings.program));
}

// The program of the link. `directory`: where it runs if the settings do not say.
os::SpawnRequest spawn_request(const config::Environment& settings, const std::string& directory,
                               const rlimit& open_files) {
    os::SpawnRequest request;
    request.argv = {settings.program};
    request.argv.insert(request.argv.end(), settings.args.begin(), settings.args.end());
    request.environment = core::overlaid(inherited(), settings.env);
    request.directory = settings.cwd.empty() ? directory : settings.cwd;
    limit_open_files(request, open_files);
    return request;
}

Error loss_of(const config::Environment& settings, const peer::Peer* peer, std::string_view why) {
    return {ErrorKind::environment_lost,
            fmt::format("the connection to '{}' was lost: {}", settings.id, why),
            peer != nullptr && peer->is_execward
                ? "execward there ends what it ran; the next command connects again"
                : "what ran there may still run; the next command connects again"};
}

Error start_failure_of(const config::Environment& settings, std::string_view why) {
    return {ErrorKind::environment_unavailable,
            fmt::format("the environment '{}' could not be started: {}", settings.id, why),
            fmt::format("try its program by hand, with its args: {}", program_of(settings))};
}

} // namespace

RemoteConnection::RemoteConnection(config::Environment settings, const Parts& parts)
    : settings_(std::move(settings)), parts_(parts) {}

RemoteConnection::~RemoteConnection() = default;

std::optional<Error> RemoteConnection::hindrance(bool wants_sandbox) const {
    if (!wants_sandbox || peer_->confines) return std::nullopt;
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the command was not run: the server of '{}' cannot say what confines "
                             "a program",
                             settings_.id),
                 "run a newer server there, or execward; or set sandbox for this environment"};
}

// ---------------------------------------------------------------- begun and greeted

void RemoteConnection::connect(TimePoint now) {
    switch (state_) {
    case State::ready:
    case State::starting: return;
    case State::ending: is_wanted_ = true; return;
    case State::idle:
    case State::failed: return start(now);
    }
}

void RemoteConnection::start(TimePoint now) {
    log::info("environment", "{}: starting {}", settings_.id, program_of(settings_));
    log::debug("environment", "{}: its arguments: {}", settings_.id,
               core::visible(fmt::format("{}", fmt::join(settings_.args, " "))));
    serial_ = parts_.serials.next();
    state_ = State::starting;
    deadline_ = now + settings_.initialize_timeout;
    is_wanted_ = false;
    is_held_up_ = false;
    ignored_lines_ = 0;
    trouble_.clear();
    const peer::Link::Tokens tokens = {
        token_of(Source::environment_start, serial_), token_of(Source::environment_output, serial_),
        token_of(Source::environment_error, serial_), token_of(Source::environment_input, serial_)};
    Result<std::unique_ptr<peer::Link>> link = peer::Link::begin(
        tokens,
        spawn_request(settings_, parts_.session.environment().cwd.native, parts_.open_files),
        parts_.poller);
    if (link) {
        link_ = std::move(*link);
        return;
    }
    trouble_ = link.error().message;
    deadline_ = now; // not now: the caller is not ready for the failure
}

void RemoteConnection::on_event(Source source, TimePoint now) {
    if (!link_) return;
    if (source == Source::environment_start) return on_start_report(now);
    if (source == Source::environment_output) return on_output(now);
    if (source == Source::environment_error) return link_->read_error_text();
    if (source == Source::environment_input) link_->on_room();
}

void RemoteConnection::on_start_report(TimePoint now) {
    if (Result<void> started = link_->on_start_report(); !started) {
        trouble_ = started.error().message;
        link_.reset(); // no program has started
        return finish_losing(now);
    }
    if (!link_->is_running()) return;
    protocol::InitializeParams params;
    params.client_name = "execward";
    params.client_info = {"execward", std::string(program_version)};
    params.capabilities = {.extensions = true};
    send("initialize", params, {Kind::initialize});
}

std::string RemoteConnection::on_initialized(const protocol::Message& message) {
    if (message.is_error)
        return fmt::format(
            "it refused initialize: {}",
            peer::error_of(message.params, ErrorKind::environment_unavailable).message);
    Result<peer::Peer> peer = peer::peer_of(message.params);
    if (!peer) return peer.error().message;
    peer_ = std::make_unique<peer::Peer>(std::move(*peer));
    state_ = State::ready;
    deadline_.reset();
    failure_.reset();
    link_->forget_error_text(); // banners and output of shell profiles
    link_->send("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n");
    log::info("environment", "{}: {} {} is ready", settings_.id, peer_->name, peer_->version);
    parts_.listener.on_ready(*this);
    return {};
}

// ---------------------------------------------------------------- what is sent and read

void RemoteConnection::send_line(std::string_view line) {
    link_->send(line);
}

std::size_t RemoteConnection::unsent() const {
    return link_ ? link_->unsent() : 0;
}

void RemoteConnection::on_output(TimePoint now) {
    const std::uint64_t serial = serial_;
    const bool is_open = link_->read(read_size);
    handle_frames(now);
    if (!is_open && serial_ == serial) lose("", now);
}

void RemoteConnection::handle_frames(TimePoint now) {
    const std::uint64_t serial = serial_;
    while (link_ && serial_ == serial && !is_held_up_ && state_ != State::ending) {
        const std::optional<protocol::Frame> frame = link_->next();
        if (!frame) return;
        std::string trouble = handle_frame(*frame);
        parts_.reader.trim();
        if (!trouble.empty()) return lose(std::move(trouble), now);
    }
}

// Returns what is wrong with the frame, or an empty text.
std::string RemoteConnection::handle_frame(const protocol::Frame& frame) {
    using MessageKind = protocol::Message::Kind;
    if (frame.error) return "it sent a message that is too long";
    const protocol::Message message = parts_.reader.read(frame.text);
    switch (message.kind) {
    case MessageKind::response: return on_response(message);
    case MessageKind::notification: return parts_.listener.on_notification(*this, message);
    case MessageKind::request: {
        if (link_->unsent() > most_unsent) return "it does not read what it is sent";
        ByteBuffer out;
        protocol::write_error(out, message.id,
                              {ErrorKind::unknown_method, "this client serves no requests"});
        out.append('\n');
        link_->send(out.view());
        return {};
    }
    case MessageKind::refused: break;
    }
    return ignore_line(frame);
}

// The program of the link may also print lines of its own: a greeting, a warning.
std::string RemoteConnection::ignore_line(const protocol::Frame& frame) {
    const std::string shown = core::visible(core::shortened(frame.text));
    log::info("environment", "{}: ignored a line that is no message: {}", settings_.id, shown);
    if (++ignored_lines_ > most_ignored_lines)
        return fmt::format("it sent {} lines that are no messages; the last one: {}",
                           ignored_lines_, shown);
    if (!is_ready()) link_->note_strange_line(shown);
    return {};
}

std::string RemoteConnection::on_response(const protocol::Message& message) {
    std::optional<PendingRequest> request = requests_.take(number_in(message.id.json).value_or(0));
    if (!request) {
        log::info("environment", "{}: ignored an answer to nothing", settings_.id);
        return {};
    }
    switch (request->kind) {
    case Kind::initialize: return on_initialized(message);
    case Kind::forwarded:
        if (message.is_error)
            request->reply->fail(
                peer::error_of(message.params, ErrorKind::environment_unavailable));
        else
            request->reply->send(protocol::Empty{});
        return {};
    case Kind::probe:
    case Kind::unwatched: return {}; // no answer to these matters
    case Kind::start:
    case Kind::read:
    case Kind::write:
    case Kind::terminate: break;
    }
    return parts_.listener.on_answer(*this, *request, message);
}

// ---------------------------------------------------------------- held up

void RemoteConnection::hold_up() {
    is_held_up_ = true;
    link_->pause(true);
}

bool RemoteConnection::resume(TimePoint now) {
    if (!std::exchange(is_held_up_, false)) return false;
    parts_.listener.on_room(*this);
    if (is_held_up_) return false;
    requests_.postpone(now + answer_patience);
    handle_frames(now);
    if (link_ && !is_held_up_ && state_ != State::ending) link_->pause(false);
    return true;
}

// ---------------------------------------------------------------- what takes too long

void RemoteConnection::on_time(TimePoint now) {
    if (is_ready()) return check_ready(now);
    if (!is_due(deadline_, now)) return;
    deadline_.reset();
    if (state_ == State::ending || !link_)
        finish_losing(now);
    else if (state_ == State::starting)
        lose(fmt::format("it has not answered initialize in {} ms",
                         settings_.initialize_timeout.count()),
             now);
}

// While the connection is held up, its answers are not read, so a missing answer proves nothing.
void RemoteConnection::check_ready(TimePoint now) {
    if (is_held_up_) return;
    if (link_->unsent() > most_unsent) return lose("it does not read what it is sent", now);
    if (!link_->has_lost_input()) return expire_requests(now);
    // Most often the output of the server ends at the same time, and may still hold messages.
    if (!deadline_)
        deadline_ = now + status_patience;
    else if (is_due(deadline_, now))
        lose("it no longer reads what it is sent", now);
}

void RemoteConnection::expire_requests(TimePoint now) {
    std::vector<PendingRequest> due = requests_.take_due(now);
    const Error error = {ErrorKind::environment_unavailable,
                         fmt::format("the server of '{}' does not answer", settings_.id),
                         "environment/list shows its state"};
    bool answers_nothing = false;
    for (PendingRequest& request : due) {
        answers_nothing |= request.kind == Kind::probe;
        if (request.reply) request.reply->fail(error);
        parts_.listener.on_unanswered(request, error);
    }
    if (answers_nothing) return lose("it has stopped answering", now);
    if (due.empty() || requests_.has_probe()) return;
    PendingRequest probe = {Kind::probe};
    probe.deadline = now + answer_patience;
    send("environment/status", protocol::Empty{}, std::move(probe));
}

std::optional<TimePoint> RemoteConnection::next_deadline() const {
    if (!is_ready()) return deadline_;
    if (is_held_up_) return std::nullopt;
    return link_->has_lost_input() ? deadline_ : earlier(deadline_, requests_.next_deadline());
}

// ---------------------------------------------------------------- its end

void RemoteConnection::lose(std::string trouble, TimePoint now) {
    if (state_ == State::ending) return;
    was_ready_ = is_ready();
    trouble_ = std::move(trouble);
    state_ = State::ending;
    deadline_ = now + status_patience;
    link_->pause(true);
    link_->close_input();
    if (link_->has_exited()) finish_losing(now);
}

void RemoteConnection::finish_losing(TimePoint now) {
    std::string why = std::exchange(trouble_, {});
    if (link_) {
        link_->read_error_text();
        const std::string ending = link_->ending();
        why = why.empty() ? ending : fmt::format("{} ({})", why, ending);
    }
    log::info("environment", "{}: {}", settings_.id, why);
    const bool was_ready = std::exchange(was_ready_, false);
    const Error error =
        was_ready ? loss_of(settings_, peer_.get(), why) : start_failure_of(settings_, why);
    failure_ = error;
    state_ = State::failed;
    deadline_.reset();
    const std::uint64_t ended = std::exchange(serial_, 0);
    link_.reset();
    requests_.fail_all(error);
    if (was_ready) {
        parts_.listener.on_lost(*this, ended, error);
    } else {
        parts_.listener.on_failed(*this, ended, error);
        is_wanted_ = false; // the calls that waited for it have failed with it
    }
    if (is_wanted_ && state_ != State::starting) start(now);
}

void RemoteConnection::close() {
    is_wanted_ = false;
    if (link_) link_->close_input();
}

bool RemoteConnection::note_reaped(pid_t pid, int status, TimePoint now) {
    if (!link_ || !link_->note_reaped(pid, status)) return false;
    if (state_ == State::ending) finish_losing(now);
    return true;
}

std::optional<pid_t> RemoteConnection::program() const {
    if (!link_ || link_->has_exited()) return std::nullopt;
    return link_->pid();
}

} // namespace ew::server
