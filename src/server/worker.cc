#include "server/worker.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "os/io.h"
#include "os/proc.h"
#include "protocol/decode.h"
#include "protocol/methods.h"
#include "sandbox/launch/init_place.h"
#include "server/connection/source.h"
#include "server/request/sandbox_request.h"
#include "server/request/start_request.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace ew::server {

namespace {

constexpr Millis kill_again_time{10};

// Returns the path of the journal of placeholders, or an empty text for no journal.
std::string placeholder_journal(const Session& session) {
    const std::string& state = session.setup().paths.state_directory;
    return state.empty() ? "" : state + "/placeholders";
}

LocalSettings local_settings(const Session& session, const rlimit& open_files) {
    LocalSettings settings;
    settings.open_files = open_files;
    settings.sandbox = {sandbox::init_place(), session.setup().paths.state_directory};
    settings.journal = placeholder_journal(session);
    return settings;
}

FileSettings file_settings(const ServerSettings& settings, const Session& session) {
    return {settings.processes.selection, server_side(session), session.environment().cwd.native,
            placeholder_journal(session)};
}

} // namespace

Worker::Worker(const ServerSettings& settings, Connection& connection, Session& session,
               pid_t keeper)
    : keeper_(keeper),
      connection_(connection),
      outbox_(connection.outbox()),
      session_(session),
      lifeline_(poller_),
      open_files_(os::raise_open_files_limit()),
      processes_(settings.processes, outbox_, now_),
      process_requests_(processes_, server_side(session)),
      local_(local_settings(session, open_files_), processes_, {poller_, bulk_poller_},
             os::Cookies::with_own_mark()),
      files_(file_settings(settings, session), poller_, outbox_, local_.starts().host(), now_),
      records_(session, warnings_to(outbox_), now_),
      gate_(session, records_, warnings_to(outbox_)),
      approvals_(session, gate_, records_),
      questions_(session, outbox_, !settings.mcp),
      remote_(session, processes_, poller_, outbox_, open_files_),
      host_questions_(HostQuestions::Parts{session, gate_, records_, questions_, processes_, now_}),
      exec_(Calls::Parts{session, gate_, records_, questions_, processes_, local_.starts().host(),
                         remote_, outbox_, host_questions_, now_}),
      patches_(PatchParts{session, gate_, records_, questions_, files_, outbox_, poller_, now_}),
      methods_(Services{&session, &process_requests_, &exec_, &patches_, &files_, &approvals_,
                        &remote_}) {
    way_out_.proxies =
        core::proxies_of(session.setup().config.confinement.network_proxy, own_environment());
    local_.starts().host().set_way_out(way_out_);
    connection_.watch(poller_);
    (void)poller_.watch(bulk_poller_.fd(), token_of(Source::bulk), os::Interest::read);
    lifeline_.watch(settings.client_process);
    lifeline_.watch(keeper);
    lifeline_.watch(session.client_process());
    processes_.set_client_wants_extensions(session.wants_extensions());
    processes_.set_local(local_);
    process_requests_.set_host_attendant(host_questions_);
    connection_.set_secrecy(
        [this](const protocol::Message& message) { return holds_hidden_input(message); });
    if (session.answers_questions()) records_.begin_session();
}

int Worker::run() {
    patches_.recover_left_over();
    handle_messages(); // messages that arrived together with initialize
    finish_turn();
    while (!is_over())
        turn();
    exec_.abandon({ErrorKind::shutting_down, "the server has ended"});
    process_requests_.abandon({ErrorKind::shutting_down, "the server has ended"});
    patches_.abandon({ErrorKind::shutting_down,
                      "the server has ended; the next one finishes or undoes the patch"});
    outbox_.flush();
    records_.flush_all();
    return ending_->status;
}

void Worker::turn() {
    const std::span<const os::Token> ready = poller_.wait(next_deadline(), clock_now());
    now_ = clock_now();
    bool is_bulk_ready = false;
    for (const os::Token token : ready) {
        if (source_of(token) == Source::bulk)
            is_bulk_ready = true;
        else
            dispatch(token);
    }
    if (connection_.is_always_readable()) read_messages();
    if (is_bulk_ready) serve_bulk();
    on_time();
    if (ending_) continue_ending();
    finish_turn();
}

void Worker::on_time() {
    connection_.on_time(now_);
    local_.starts().on_time();
    remote_.environments().on_time(now_);
    processes_.on_time();
    process_requests_.on_time();
    files_.on_time();
    exec_.on_news();
    questions_.on_time(now_);
    exec_.on_time();
    patches_.on_news();
    patches_.on_time();
    records_.on_time();
}

void Worker::dispatch(os::Token token) {
    switch (source_of(token)) {
    case Source::client_input: return read_messages();
    case Source::client_output: return connection_.on_output_report();
    case Source::signals: return on_signals();
    case Source::parent: lifeline_.note_parent_end(); return begin_ending(0);
    case Source::bulk: return; // turn() serves this source last
    case Source::start: return local_.on_start_report(token.serial);
    case Source::output:
        return local_.streams().on_output(token.serial, 0, StreamReader::lone_budget);
    case Source::error_output:
        return local_.streams().on_output(token.serial, 1, StreamReader::lone_budget);
    case Source::input: return local_.on_input_room(token.serial);
    case Source::machine: return local_.starts().on_machine(); // on_time() begins waiting starts
    case Source::supervisor: return local_.on_supervisor(token.serial);
    case Source::clearing: return local_.on_clearing(token.serial);
    case Source::file_start: return files_.on_start_report(token.serial);
    case Source::file_socket: return files_.on_socket(token.serial);
    case Source::file_clearing: return files_.on_clearing(token.serial);
    case Source::patch: return patches_.on_errand(token.serial);
    case Source::file_watch: return files_.on_watch();
    case Source::environment_start:
    case Source::environment_output:
    case Source::environment_error:
    case Source::environment_input:
        return remote_.environments().on_event(source_of(token), token.serial, now_);
    }
}

void Worker::on_signals() {
    const os::Signals::Taken taken = lifeline_.take_signals();
    if (taken.child)
        for (const LocalBackend::Stranger child : local_.on_children())
            remote_.environments().on_reaped(child.pid, child.status, now_);
    if (::getppid() != keeper_) {
        lifeline_.note_parent_end();
        begin_ending(0);
    }
    if (taken.ending == 0) return;
    log::info("server", "ending on {}", os::signal_name(taken.ending));
    begin_ending(128 + taken.ending);
}

void Worker::read_messages() {
    if (ending_) return;
    connection_.read();
    handle_messages();
}

void Worker::handle_messages() {
    while (!ending_) {
        protocol::Message* const message = connection_.next();
        if (message == nullptr) break;
        handle(*message);
    }
    if (connection_.has_ended()) begin_ending(0);
}

void Worker::handle(protocol::Message& message) {
    switch (message.kind) {
    case protocol::Message::Kind::request: {
        Reply reply(outbox_, std::move(message.id));
        Result<protocol::Method> method = check_request(session_, message);
        if (!method) return reply.fail(method.error());
        return methods_.handle(*method, std::move(reply), message);
    }
    case protocol::Message::Kind::notification: return handle_notification(message);
    case protocol::Message::Kind::response: return handle_answer(message);
    case protocol::Message::Kind::refused: return; // the connection has answered it
    }
}

void Worker::handle_notification(const protocol::Message& message) {
    if (message.method == "initialized") return session_.note_initialized();
    if (message.method == "exit")
        return begin_ending(session_.phase() == Session::Phase::shut_down ? 0 : 1);
    if (message.method == "$/cancelRequest") {
        Result<protocol::CancelParams> params =
            protocol::decode<protocol::CancelParams>(message.params);
        if (params && cancel(params->id)) return;
        return log::info("server", "$/cancelRequest names no waiting request");
    }
    log::info("server", "ignored the notification '{}'", core::shortened(message.method));
}

bool Worker::cancel(const json::Id& request) {
    return process_requests_.cancel(request) || exec_.cancel(request) || files_.cancel(request) ||
           patches_.cancel(request) || remote_.environments().cancel(request);
}

bool Worker::holds_hidden_input(const protocol::Message& message) {
    if (message.method != "exec/writeStdin" && message.method != "process/write") return false;
    auto params = protocol::decode<protocol::CloseStdinParams>(message.params);
    if (!params) return true; // the process is not known
    const Process* const process = processes_.find(params->process_id);
    return process != nullptr && hides_input(*process);
}

void Worker::handle_answer(const protocol::Message& message) {
    if (!questions_.on_answer(message))
        log::info("server", "ignored an answer to nothing that is being asked");
}

// Serves the streams in turns: a stream that found no room is the first in the next turn.
void Worker::serve_bulk() {
    if (bulk_turn_.empty()) {
        const std::span<const os::Token> ready = bulk_poller_.ready_now();
        bulk_turn_.assign(ready.begin(), ready.end());
    }
    const bool is_alone = bulk_turn_.size() == 1 && !local_.streams().has_hot();
    const std::size_t budget = is_alone ? StreamReader::lone_budget : StreamReader::shared_budget;
    while (!bulk_turn_.empty() && outbox_.unsent(Lane::bulk) < Outbox::bulk_mark) {
        const os::Token token = bulk_turn_.front();
        bulk_turn_.pop_front();
        local_.streams().on_output(token.serial, source_of(token) == Source::output ? 0 : 1,
                                   budget);
        serve_urgent();
    }
}

// Called between two reads of floods: handles requests and their results, and echoes typed input.
void Worker::serve_urgent() {
    now_ = clock_now();
    read_messages();
    local_.streams().read_hot();
    exec_.on_news();
    if (outbox_.unsent(Lane::priority) > 0) outbox_.flush();
}

void Worker::finish_turn() {
    outbox_.flush();
    if (processes_.deliver_pending()) outbox_.flush();
    if (remote_.resume()) {
        exec_.on_news(); // what was held up may have been the exit of a program
        outbox_.flush();
    }
    local_.streams().pause_or_resume_bulk();
    // The client has taken everything. More output may be waiting, and no event will report that.
    has_room_again_ = !outbox_.has_unsent() && processes_.has_undelivered();
    if (connection_.has_postponed()) handle_messages();
    if (outbox_.client_is_gone()) begin_ending(0);
    connection_.update_interest(!ending_);
}

void Worker::begin_ending(int status) {
    if (ending_) return;
    ending_ = Ending{status, now_ + ending_time, now_ + polite_time, now_ + clearing_time};
    const Error not_run = {ErrorKind::shutting_down,
                           "the command was not run: the server is ending"};
    local_.starts().refuse_waiting(not_run);
    questions_.close();
    exec_.refuse_queued(not_run);
    patches_.refuse_all(
        {ErrorKind::shutting_down, "the patch was not applied: the server is ending"});
    exec_.on_news();
    remote_.environments().close_all();
}

void Worker::continue_ending() {
    if (ending_->kill_again && !is_due(ending_->kill_again, now_)) return;
    files_.end_idle();
    if (files_.has_work() && now_ < ending_->polite_deadline) {
        ending_->kill_again = std::min(now_ + kill_again_time, ending_->polite_deadline);
        return;
    }
    files_.refuse_all({ErrorKind::shutting_down, "the server is ending"});
    std::vector<pid_t> spared = files_.clearing_processes();
    const std::vector<pid_t> errands = patches_.errands();
    spared.insert(spared.end(), errands.begin(), errands.end());
    if (now_ < ending_->polite_deadline) {
        const std::vector<pid_t> programs = remote_.environments().programs();
        spared.insert(spared.end(), programs.begin(), programs.end());
    }
    local_.trees().kill_everything(spared);
    ending_->kill_again = now_ + kill_again_time;
}

TimePoint Worker::ending_deadline() {
    const bool clears = files_.has_endings() || !local_.trees().clearing_processes().empty();
    return clears ? ending_->clearing_deadline : ending_->deadline;
}

// Returns true if nothing is left below this process and the client has taken everything, or if
// the deadline has passed.
bool Worker::is_over() {
    if (!ending_) return false;
    if (ending_deadline() <= clock_now()) return true;
    const bool has_ends = exec_.has_ends_to_tell() || files_.has_endings() || patches_.has_work();
    return !os::has_children() && !has_ends && !outbox_.has_unsent();
}

std::optional<TimePoint> Worker::next_deadline() {
    std::optional<TimePoint> next;
    if (connection_.is_ready(!ending_) || has_room_again_) next = now_;
    next = earlier(next, connection_.next_deadline());
    next = earlier(next, processes_.next_deadline());
    next = earlier(next, process_requests_.next_deadline());
    next = earlier(next, local_.starts().next_deadline());
    next = earlier(next, remote_.environments().next_deadline());
    next = earlier(next, questions_.next_deadline());
    next = earlier(next, exec_.next_deadline());
    next = earlier(next, files_.next_deadline());
    next = earlier(next, patches_.next_deadline());
    next = earlier(next, records_.next_deadline());
    if (!ending_) return next;
    next = earlier(next, ending_deadline());
    return earlier(next, ending_->kill_again.value_or(now_));
}

} // namespace ew::server
