#include "server/server.h"

#include "base/log.h"
#include "core/utf8.h"
#include "os/pidfd.h"
#include "protocol/decode.h"
#include "protocol/methods.h"
#include "sandbox/init_place.h"
#include "transcript/recorder.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace ew::server {

using protocol::Message;
using protocol::Method;

namespace {

constexpr std::size_t read_size = 64 << 10;
constexpr Millis kill_again_time{10};

} // namespace

Server::Server(ServerSettings settings, os::StdioEnd in, os::StdioEnd out,
               transcript::Recorder* recorder)
    : settings_(std::move(settings)),
      in_(std::move(in)),
      outbox_(std::move(out)),
      recorder_(recorder),
      deframer_(settings_.framing),
      session_(settings_.session, settings_.has_test_ids),
      now_(clock_now()) {
    outbox_.set_recorder(recorder);
    watch_everything();
}

Server::~Server() = default;

void Server::watch_everything() {
    input_is_watched_ = poller_.watch(in_.get(), {os::Source::client_input, 0}, os::Interest::read);
    input_is_watchable_ = input_is_watched_;
    output_is_watched_ = false;
    output_is_watchable_ =
        poller_.watch(outbox_.fd(), {os::Source::client_output, 0}, os::Interest::none);
    (void)poller_.watch(signals_.get(), {os::Source::signals, 0}, os::Interest::read);
    (void)poller_.watch(bulk_poller_.fd(), {os::Source::bulk, 0}, os::Interest::read);
    watched_processes_.clear();
    watch_process_end(settings_.client_process);
}

void Server::watch_process_end(std::optional<pid_t> process) {
    if (!process) return;
    UniqueFd pidfd = os::open_pidfd(*process);
    if (!pidfd) // over ssh or from a container its number means nothing here
        return log::info("server", "process {} of the client is not here and cannot be watched",
                         *process);
    (void)poller_.watch(pidfd.get(), {os::Source::parent, 0}, os::Interest::read);
    watched_processes_.push_back(std::move(pidfd));
}

bool Server::has_answered_handshake() const {
    return session_.phase() != Session::Phase::new_connection && !outbox_.has_unsent();
}

std::optional<int> Server::run_handshake() {
    while (!is_over() && !has_answered_handshake())
        turn();
    if (ending_) return ending_->status;
    return std::nullopt;
}

int Server::run(pid_t keeper) {
    // What was watched before the fork belongs to the parent too (epoll(7), signalfd(2)).
    poller_ = os::Poller();
    bulk_poller_ = os::Poller();
    signals_ = os::Signals();
    watch_everything();
    watch_process_end(keeper);
    watch_process_end(session_.client_process());
    const ProcessSettings settings = process_settings();
    const LocalSettings local = local_settings();
    processes_ = std::make_unique<ProcessService>(settings, poller_, bulk_poller_, outbox_);
    processes_->set_client_wants_extensions(session_.wants_extensions());
    local_ = std::make_unique<LocalBackend>(local, *processes_, poller_,
                                            os::Cookies::for_this_process());
    processes_->set_local(*local_);
    files_ = std::make_unique<FileService>(FileSettings{settings.selection, settings.side,
                                                        session_.environment().cwd.native,
                                                        local.journal},
                                           poller_, outbox_, local_->sandbox_host());
    gate_ = std::make_unique<Gate>(session_, outbox_);
    remote_ =
        std::make_unique<RemoteBackend>(session_, *processes_, poller_, outbox_, local.open_files);
    exec_ = std::make_unique<ExecService>(ExecService::Parts{
        session_, *gate_, *processes_, local_->sandbox_host(), *remote_, outbox_});
    patches_ =
        std::make_unique<PatchService>(PatchParts{session_, *gate_, *files_, outbox_, poller_});
    if (session_.answers_questions()) gate_->begin_session();
    now_ = clock_now();
    set_now();
    patches_->recover_left_over();
    handle_buffered();
    finish_turn();
    while (!is_over())
        turn();
    exec_->abandon({ErrorKind::shutting_down, "the server has ended"});
    patches_->abandon({ErrorKind::shutting_down,
                       "the server has ended; the next one finishes or undoes the patch"});
    outbox_.flush();
    gate_->flush_all();
    return ending_->status;
}

ProcessSettings Server::process_settings() const {
    ProcessSettings settings = settings_.processes;
    settings.side = server_side();
    return settings;
}

LocalSettings Server::local_settings() const {
    const std::string& state = session_.setup().paths.state_directory;
    LocalSettings settings;
    settings.open_files = os::raise_open_files_limit();
    settings.sandbox = {sandbox::init_place(), state};
    if (!state.empty()) settings.journal = state + "/placeholders";
    return settings;
}

// What a start that asks for a sandbox does not say itself.
ServerSide Server::server_side() const {
    const sandbox::ModeOptions options = mode_options(session_.settings().config.confinement);
    return {hidden_places(session_.setup().paths, session_.database()), options.enforcement,
            options.reports_writes};
}

void Server::turn() {
    const std::span<const os::Token> ready = poller_.wait(next_deadline(), clock_now());
    now_ = clock_now();
    set_now();
    for (const os::Token token : ready)
        if (token.source != os::Source::bulk) dispatch(token);
    if (!input_is_watchable_ && may_read_requests()) read_requests();
    if (std::any_of(ready.begin(), ready.end(),
                    [](os::Token token) { return token.source == os::Source::bulk; }))
        serve_bulk();
    on_time();
    if (ending_) continue_ending();
    finish_turn();
}

void Server::set_now() {
    if (!processes_) return;
    processes_->set_now(now_);
    files_->set_now(now_);
    gate_->set_now(now_);
    exec_->set_now(now_);
    patches_->set_now(now_);
}

void Server::on_time() {
    if (!processes_) return;
    local_->on_time();
    remote_->on_time();
    processes_->on_time(now_);
    files_->on_time(now_);
    exec_->on_news();
    exec_->on_time();
    patches_->on_news();
    patches_->on_time();
    gate_->on_time();
}

void Server::dispatch(os::Token token) {
    switch (token.source) {
    case os::Source::client_input: return read_requests();
    case os::Source::client_output:
        // finish_turn() writes. Asked for nothing, the poller only reports that the reader has
        // gone.
        if (output_is_watched_) return;
        poller_.unwatch(outbox_.fd());
        output_is_watchable_ = false;
        return outbox_.note_client_gone();
    case os::Source::signals: return on_signals();
    case os::Source::parent:
        log::info("server", "the process that this server belongs to has ended");
        watched_processes_.clear(); // or it would be reported for ever
        return begin_ending(0);
    case os::Source::bulk: return; // turn() takes it last
    case os::Source::start: return local_->on_start_report(token.serial);
    case os::Source::output: return local_->on_output(token.serial, 0, OutputPump::lone_budget);
    case os::Source::error_output:
        return local_->on_output(token.serial, 1, OutputPump::lone_budget);
    case os::Source::input: return local_->on_input_room(token.serial);
    case os::Source::machine: return local_->on_machine(); // on_time() begins what waited
    case os::Source::supervisor: return local_->on_supervisor(token.serial);
    case os::Source::clearing: return local_->on_clearing(token.serial);
    case os::Source::file_start: return files_->on_start_report(token.serial);
    case os::Source::file_socket: return files_->on_socket(token.serial);
    case os::Source::file_clearing: return files_->on_clearing(token.serial);
    case os::Source::patch: return patches_->on_errand(token.serial);
    case os::Source::file_watch: return files_->on_watch();
    case os::Source::environment_start: return remote_->on_start_report(token.serial);
    case os::Source::environment_output: return remote_->on_output(token.serial);
    case os::Source::environment_error: return remote_->on_error_text(token.serial);
    case os::Source::environment_input: return remote_->on_input_room(token.serial);
    }
}

void Server::on_signals() {
    const os::Signals::Taken taken = signals_.take();
    if (taken.child && processes_)
        for (const LocalBackend::Stranger child : local_->on_children())
            remote_->on_reaped(child.pid, child.status);
    if (taken.ending == 0) return;
    log::info("server", "ending on {}", os::signal_name(taken.ending));
    begin_ending(128 + taken.ending);
}

// No request after initialize is looked at before there is a worker to serve it.
bool Server::must_fork_first() const {
    return !processes_ && session_.phase() != Session::Phase::new_connection;
}

bool Server::may_read_requests() const {
    return !has_input_ended_ && !must_fork_first() && !ending_ && !has_buffered_requests_ &&
           !outbox_.is_full_of_answers();
}

void Server::read_requests() {
    if (!may_read_requests()) return;
    const std::size_t size = std::max(read_size, std::min(deframer_.buffered(), 16 * read_size));
    const os::IoResult result = in_.read(deframer_.reserve(size), size);
    if (result.state == os::IoState::progress) deframer_.commit(result.count);
    if (result.state == os::IoState::end) has_input_ended_ = true;
    if (result.state == os::IoState::would_block) return;
    handle_buffered();
}

// Handles what was read, as long as there is room for answers; finish_turn() comes back to the
// rest.
void Server::handle_buffered() {
    has_buffered_requests_ = false;
    while (!ending_ && !must_fork_first()) {
        has_buffered_requests_ = outbox_.is_full_of_answers();
        if (has_buffered_requests_) return;
        std::optional<protocol::Frame> frame = deframer_.next();
        if (!frame && has_input_ended_) frame = deframer_.last();
        if (!frame) break;
        handle_frame(*frame);
        reader_.trim();
    }
    if (has_input_ended_ && !must_fork_first()) begin_ending(0);
}

void Server::handle_frame(const protocol::Frame& frame) {
    outbox_.set_framing(deframer_.framing());
    if (frame.error) return Reply(outbox_, {}).fail(*frame.error);
    if (recorder_ != nullptr) recorder_->from_client(frame.text);
    Message message = reader_.read(frame.text);
    switch (message.kind) {
    case Message::Kind::request: return handle_request(message);
    case Message::Kind::notification: return handle_notification(message);
    case Message::Kind::response: return handle_response(message);
    case Message::Kind::refused:
        log::info("server", "refused a message: {}", message.error.message);
        return Reply(outbox_, {}).fail(message.error);
    }
}

void Server::handle_response(const Message& message) {
    if (exec_) {
        Answered answered = exec_->on_answer(message);
        if (answered == Answered::nothing) answered = patches_->on_answer(message);
        if (answered == Answered::everything) {
            exec_->abort_questions();
            patches_->abort_questions();
        }
        if (answered != Answered::nothing) return;
    }
    log::info("server", "ignored an answer to nothing that is being asked");
}

void Server::handle_request(Message& message) {
    Reply reply(outbox_, std::move(message.id));
    const std::optional<Method> method = protocol::method_named(message.method);
    if (!method)
        return reply.fail({ErrorKind::unknown_method,
                           fmt::format("no method '{}'", core::shortened(message.method)),
                           "execward schema prints what there is"});
    const bool is_first = *method == Method::initialize;
    if (Result<void> ready = session_.check_ready(); !is_first && !ready)
        return reply.fail(ready.error());
    if (protocol::takes_no_params(*method))
        if (Result<void> fine = protocol::expect_no_params(message.params); !fine)
            return reply.fail(fine.error());

    if (const Handler handler = handler_of(*method))
        return (this->*handler)(std::move(reply), message.params);
    reply.fail({ErrorKind::unknown_method,
                fmt::format("'{}' is not served by this version", message.method),
                "environment/info and initialize tell what is"});
}

void Server::handle_notification(const Message& message) {
    if (message.method == "initialized") return session_.note_initialized();
    if (message.method == "exit")
        return begin_ending(session_.phase() == Session::Phase::shut_down ? 0 : 1);
    if (message.method == "$/cancelRequest" && processes_) {
        Result<protocol::CancelParams> params =
            protocol::decode<protocol::CancelParams>(message.params);
        if (params && (processes_->cancel(params->id) || exec_->cancel(params->id) ||
                       files_->cancel(params->id) || patches_->cancel(params->id) ||
                       remote_->cancel(params->id)))
            return;
        return log::info("server", "$/cancelRequest names no waiting request");
    }
    log::info("server", "ignored the notification '{}'", core::shortened(message.method));
}

// Takes turns: whoever was not served for want of room comes first the next time.
void Server::serve_bulk() {
    if (bulk_turn_.empty()) {
        const std::span<const os::Token> ready = bulk_poller_.ready_now();
        bulk_turn_.assign(ready.begin(), ready.end());
    }
    const bool is_alone = bulk_turn_.size() == 1 && !local_->has_hot();
    const std::size_t budget = is_alone ? OutputPump::lone_budget : OutputPump::shared_budget;
    while (!bulk_turn_.empty() && outbox_.unsent(Lane::bulk) < Outbox::bulk_mark) {
        const os::Token token = bulk_turn_.front();
        bulk_turn_.pop_front();
        local_->on_output(token.serial, token.source == os::Source::output ? 0 : 1, budget);
        serve_urgent();
    }
}

// Between two reads of floods: requests, what they lead to, and the echo of what was typed.
void Server::serve_urgent() {
    now_ = clock_now();
    set_now();
    read_requests();
    local_->read_hot();
    exec_->on_news();
    if (outbox_.unsent(Lane::priority) > 0) outbox_.flush();
}

void Server::finish_turn() {
    outbox_.flush();
    if (processes_) {
        if (processes_->deliver_pending()) outbox_.flush();
        if (remote_->resume()) outbox_.flush();
        processes_->pause_or_resume_bulk();
    }
    // The client has taken everything: there may be more, and no event will say so.
    has_room_again_ = !outbox_.has_unsent() && processes_ && processes_->has_undelivered();
    if (has_buffered_requests_ && !outbox_.is_full_of_answers()) handle_buffered();
    if (outbox_.client_is_gone() && !ending_) begin_ending(0);

    const bool wants_output = outbox_.has_unsent();
    if (output_is_watchable_ && wants_output != output_is_watched_) {
        output_is_watched_ = wants_output;
        poller_.change(outbox_.fd(), {os::Source::client_output, 0},
                       wants_output ? os::Interest::write : os::Interest::none);
    }
    if (!input_is_watchable_ || may_read_requests() == input_is_watched_) return;
    input_is_watched_ = !input_is_watched_;
    if (input_is_watched_)
        (void)poller_.watch(in_.get(), {os::Source::client_input, 0}, os::Interest::read);
    else
        poller_.unwatch(in_.get());
}

void Server::begin_ending(int status) {
    if (ending_) return;
    ending_ = Ending{status, now_ + ending_time, now_ + polite_time, {}};
    if (!exec_) return;
    local_->refuse_waiting(
        {ErrorKind::shutting_down, "the command was not run: the server is ending"});
    exec_->refuse_all({ErrorKind::shutting_down, "the command was not run: the server is ending"});
    patches_->refuse_all(
        {ErrorKind::shutting_down, "the patch was not applied: the server is ending"});
    exec_->on_news();
    remote_->close_all();
}

void Server::continue_ending() {
    if (!processes_ || (ending_->kill_again && !is_due(ending_->kill_again, now_))) return;
    files_->end_idle();
    if (files_->has_work() && now_ < ending_->polite_deadline) {
        ending_->kill_again = std::min(now_ + kill_again_time, ending_->polite_deadline);
        return;
    }
    files_->refuse_all({ErrorKind::shutting_down, "the server is ending"});
    std::vector<pid_t> spared = files_->clearing_processes();
    const std::vector<pid_t> errands = patches_->errands();
    spared.insert(spared.end(), errands.begin(), errands.end());
    if (now_ < ending_->polite_deadline) {
        const std::vector<pid_t> programs = remote_->programs();
        spared.insert(spared.end(), programs.begin(), programs.end());
    }
    local_->kill_everything(spared);
    ending_->kill_again = now_ + kill_again_time;
}

// True: nothing is left below us, and the client has what it will get.
bool Server::is_over() {
    if (!ending_) return false;
    if (ending_->deadline <= clock_now()) return true;
    const bool has_children =
        processes_ && (::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0);
    const bool has_ends =
        exec_ && (exec_->has_ends_to_tell() || files_->has_endings() || patches_->has_work());
    return !has_children && !has_ends && !outbox_.has_unsent();
}

std::optional<TimePoint> Server::next_deadline() {
    std::optional<TimePoint> next;
    const bool is_input_ready = !input_is_watchable_ && may_read_requests();
    const bool has_requests = has_buffered_requests_ && !outbox_.is_full_of_answers();
    if (is_input_ready || has_requests || has_room_again_) next = now_;
    if (processes_) {
        next = earlier(next, processes_->next_deadline());
        next = earlier(next, local_->next_deadline());
        next = earlier(next, remote_->next_deadline());
        next = earlier(next, exec_->next_deadline());
        next = earlier(next, files_->next_deadline());
        next = earlier(next, patches_->next_deadline());
        next = earlier(next, gate_->next_deadline());
    }
    if (!ending_) return next;
    next = earlier(next, ending_->deadline);
    return earlier(next, ending_->kill_again.value_or(now_));
}

} // namespace ew::server
