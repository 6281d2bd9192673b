#include "server/connection/connection.h"

#include "base/log.h"
#include "mcp/dialect.h"
#include "server/connection/reply.h"
#include "server/connection/source.h"
#include "transcript/recorder.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::server {

namespace {

constexpr std::size_t read_size = 64 << 10;

} // namespace

Connection::Connection(os::StdioEnd in, os::StdioEnd out, protocol::Framing framing,
                       transcript::Recorder* recorder)
    : in_(std::move(in)), outbox_(std::move(out)), recorder_(recorder), deframer_(framing) {
    outbox_.set_recorder(recorder);
}

void Connection::set_dialect(mcp::Dialect& dialect) {
    dialect_ = &dialect;
    outbox_.set_dialect(&dialect);
}

void Connection::open_dialect(const protocol::Settings& settings) {
    dialect_->open(settings, clock_now());
    outbox_.take_from_dialect();
}

void Connection::on_time(TimePoint now) {
    if (dialect_ == nullptr) return;
    const bool is_behind = outbox_.unsent(Lane::priority) >= Outbox::priority_mark;
    dialect_->on_time(now, is_behind ? mcp::Reader::is_behind : mcp::Reader::takes);
    outbox_.take_from_dialect();
}

std::optional<TimePoint> Connection::next_deadline() const {
    return dialect_ == nullptr ? std::nullopt : dialect_->next_deadline();
}

bool Connection::has_translated() const {
    return dialect_ != nullptr && dialect_->wires().has_for_server();
}

// Returns the next message that the dialect has for the server, or null.
protocol::Message* Connection::next_translated() {
    std::optional<std::string> text = dialect_->wires().next_for_server();
    if (!text) return nullptr;
    const std::size_t size = text->size();
    translated_ = std::move(*text);
    translated_.append(ByteBuffer::padding, ' ');
    message_ = reader_.read(std::string_view(translated_).substr(0, size));
    return &message_;
}

void Connection::watch(os::Poller& poller) {
    poller_ = &poller;
    input_is_watched_ = poller.watch(in_.get(), token_of(Source::client_input), os::Interest::read);
    input_is_watchable_ = input_is_watched_;
    output_is_watched_ = false;
    output_is_watchable_ =
        poller.watch(outbox_.fd(), token_of(Source::client_output), os::Interest::none);
}

// While no interest is set, the poller reports only that the reader is gone (epoll_ctl(2)).
void Connection::on_output_report() {
    if (output_is_watched_) return; // flushed at the end of this turn of the loop
    poller_->unwatch(outbox_.fd());
    output_is_watchable_ = false;
    outbox_.note_client_gone();
}

bool Connection::may_read() const {
    return !has_input_ended_ && !has_postponed_ && !outbox_.is_full_of_answers();
}

void Connection::read() {
    if (!may_read()) return;
    const std::size_t size = std::max(read_size, std::min(deframer_.buffered(), 16 * read_size));
    const os::IoResult result = in_.read(deframer_.reserve(size), size);
    if (result.state == os::IoState::progress) deframer_.commit(result.count);
    if (result.state == os::IoState::end) has_input_ended_ = true;
    is_drained_ = false;
}

// Hands the frame to the dialect. Returns false if there is none.
bool Connection::translate(const protocol::Frame& frame) {
    if (dialect_ == nullptr) return false;
    if (frame.error)
        dialect_->refuse(*frame.error);
    else
        dialect_->from_client(frame.text, clock_now());
    outbox_.take_from_dialect();
    return true;
}

protocol::Message* Connection::next() {
    for (;;) {
        reader_.trim();
        has_postponed_ = outbox_.is_full_of_answers();
        if (has_postponed_) return nullptr;
        if (dialect_ != nullptr)
            if (protocol::Message* const message = next_translated()) return message;
        std::optional<protocol::Frame> frame = deframer_.next();
        if (!frame && has_input_ended_) frame = deframer_.last();
        is_drained_ = !frame;
        if (is_drained_) return nullptr;
        if (translate(*frame)) continue;
        outbox_.set_framing(deframer_.framing());
        if (frame->error) {
            Reply(outbox_, {}).fail(*frame->error);
            continue;
        }
        message_ = reader_.read(frame->text);
        if (recorder_ != nullptr) record(frame->text);
        if (message_.kind != protocol::Message::Kind::refused) return &message_;
        log::info("server", "refused a message: {}", message_.error.message);
        Reply(outbox_, {}).fail(message_.error);
    }
}

void Connection::record(std::string_view text) {
    const bool has_secret = message_.kind != protocol::Message::Kind::refused && holds_secret_ &&
                            holds_secret_(message_);
    if (has_secret)
        recorder_->from_client(transcript::without_input(text));
    else
        recorder_->from_client(text);
}

bool Connection::is_ready(bool wants_messages) const {
    return wants_messages && ((is_always_readable() && may_read()) || has_postponed());
}

void Connection::update_interest(bool wants_messages) {
    const bool wants_output = outbox_.has_unsent();
    if (output_is_watchable_ && wants_output != output_is_watched_) {
        output_is_watched_ = wants_output;
        poller_->change(outbox_.fd(), token_of(Source::client_output),
                        wants_output ? os::Interest::write : os::Interest::none);
    }
    const bool wants_input = wants_messages && may_read();
    if (!input_is_watchable_ || wants_input == input_is_watched_) return;
    input_is_watched_ = wants_input;
    if (wants_input)
        (void)poller_->watch(in_.get(), token_of(Source::client_input), os::Interest::read);
    else
        poller_->unwatch(in_.get());
}

} // namespace ew::server
