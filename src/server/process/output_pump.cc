#include "server/process/output_pump.h"

#include "core/text/text.h"
#include "json/base64.h"
#include "json/writer.h"
#include "os/signals.h"
#include "server/connection/source.h"
#include "server/process/sandbox_report.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ew::server {

using core::OutputLog;

namespace {

os::Token token_of(const Process& process, std::size_t stream) {
    return server::token_of(stream == 0 ? Source::output : Source::error_output, process.serial);
}

void consume(OutputLog::Space& space, std::size_t count) {
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t here = std::min(count, space.size[i]);
        space.at[i] += here;
        space.size[i] -= here;
        count -= here;
    }
}

os::IoResult read_into(int fd, const OutputLog::Space& space) {
    if (space.size[0] == 0) return os::read_some(fd, space.at[1], space.size[1]);
    if (space.size[1] == 0) return os::read_some(fd, space.at[0], space.size[0]);
    const std::array<iovec, 2> parts = {
        {{space.at[0], space.size[0]}, {space.at[1], space.size[1]}}};
    return os::read_some(fd, parts.data(), 2);
}

// Base64 of bytes that lie in two pieces: the piece boundary may fall inside a group of three.
void write_base64(ByteBuffer& out, std::array<std::string_view, 2> bytes) {
    if (bytes[1].empty()) return json::write_base64(out, bytes[0]);
    constexpr std::size_t spill = 4;
    const std::size_t size = json::base64_size(bytes[0].size() + bytes[1].size());
    char* at = out.reserve(size + 2 + spill);
    *at++ = '"';
    const std::size_t whole = bytes[0].size() / 3 * 3;
    json::encode_base64(bytes[0].substr(0, whole), at);
    at += json::base64_size(whole);

    std::string_view rest = bytes[0].substr(whole);
    std::array<char, 3> group = {};
    std::size_t in_group = rest.copy(group.data(), rest.size());
    if (in_group > 0) {
        const std::size_t taken = bytes[1].copy(group.data() + in_group, 3 - in_group);
        bytes[1].remove_prefix(taken);
        in_group += taken;
        json::encode_base64({group.data(), in_group}, at);
        at += 4;
    }
    json::encode_base64(bytes[1], at);
    at += json::base64_size(bytes[1].size());
    *at = '"';
    out.commit(size + 2);
}

void note_open_streams(Process& process) {
    process.is_output_open = process.streams[0].fd || process.streams[1].fd;
}

std::string_view stream_name(OutputLog::Kind kind) {
    if (kind == OutputLog::Kind::err) return "stderr";
    return kind == OutputLog::Kind::pty ? "pty" : "stdout";
}

} // namespace

void OutputPump::watch(Process& process) {
    for (std::size_t i = 0; i < process.streams.size(); ++i)
        if (process.streams[i].fd) start_watching(process, i);
    note_open_streams(process);
}

bool OutputPump::read(Process& process, std::size_t index, std::size_t budget, TimePoint now) {
    OutputStream& stream = process.streams[index];
    if (!stream.fd) return false;
    if (process.is_given_up) {
        discard(stream, process, index);
        return false;
    }
    if (!process.log.has_room()) {
        set_masked(process, index, true);
        return false;
    }

    const auto [count, has_ended] = fill(process, stream, budget, now);
    if (has_ended && process.is_tty() && !process.exit) {
        // Its session lives and may open it again. Closing our side would send it a SIGHUP.
        rest_terminal(process, now);
    } else if (has_ended) {
        process.log.flush(stream.name);
        end_stream(process, index);
    }
    classify(process, now);
    return !has_ended && count >= budget;
}

// A pipe that gave less than was asked for is empty for now; a terminal hands out at most one
// line-discipline buffer at a time, so only "would block" says that.
OutputPump::Filled OutputPump::fill(Process& process, OutputStream& stream, std::size_t budget,
                                    TimePoint now) {
    OutputLog::Space space = process.log.space(stream.name, budget);
    std::size_t total = 0;
    bool has_ended = false;
    bool is_empty_now = false;
    while (space.size[0] + space.size[1] > 0) {
        const os::IoResult result = read_into(stream.fd.get(), space);
        has_ended = result.state == os::IoState::end;
        if (result.state != os::IoState::progress) {
            is_empty_now = true;
            break;
        }
        is_empty_now =
            stream.name != core::Stream::pty && result.count < space.size[0] + space.size[1];
        consume(space, result.count);
        total += result.count;
        if (is_empty_now) break;
    }
    commit(process, stream.name, total, now);
    stream.backlog = is_empty_now ? 0 : stream.backlog - std::min(stream.backlog, total);
    if (total > 0) process.terminal_patience = Millis(0);
    return {total, has_ended};
}

void OutputPump::commit(Process& process, core::Stream stream, std::size_t count, TimePoint now) {
    if (now - process.last_output >= interactive_time) process.burst = 0;
    process.last_output = now;
    process.log.commit(stream, count, now);
    if (process.exec) process.exec->look_at(process.log);
    process.burst += count;
    process.typed_burst += count;
}

std::size_t OutputPump::append(Process& process, core::Stream stream, std::string_view bytes,
                               TimePoint now) {
    std::size_t taken = 0;
    while (taken < bytes.size() && process.log.has_room()) {
        OutputLog::Space space = process.log.space(stream, bytes.size() - taken);
        const std::size_t count = space.size[0] + space.size[1];
        for (std::size_t i = 0, at = taken; i < space.size.size(); at += space.size[i++])
            (void)bytes.copy(space.at[i], space.size[i], at);
        commit(process, stream, count, now);
        taken += count;
    }
    return taken;
}

void OutputPump::discard(OutputStream& stream, Process& process, std::size_t index) {
    std::array<char, 64 << 10> nowhere;
    const os::IoResult result = os::read_some(stream.fd.get(), nowhere.data(), nowhere.size());
    process.log.count_lost(result.count);
    if (result.state == os::IoState::end) end_stream(process, index);
}

void OutputPump::end_stream(Process& process, std::size_t index) {
    OutputStream& stream = process.streams[index];
    poller_of(stream).unwatch(stream.fd.get());
    stream.fd.reset();
    stream.backlog = 0;
    note_open_streams(process);
}

void OutputPump::end_silent_streams(Process& process) {
    for (std::size_t i = 0; i < process.streams.size(); ++i) {
        const OutputStream& stream = process.streams[i];
        if (!stream.fd || os::readable_bytes(stream.fd.get()) > 0) continue;
        process.log.flush(stream.name);
        end_stream(process, i);
    }
}

bool OutputPump::deliver(Process& process, TimePoint now) {
    if (process.exec && !process.exec->is_begun) return false;
    bool has_delivered = false;
    while (process.log.has_undelivered()) {
        const Lane lane = lane_for(process, now);
        if (!has_room(lane)) break;
        send(process, process.log.next_undelivered(), lane);
        process.log.mark_delivered();
        has_delivered = true;
    }
    if (!process.log.has_room()) return has_delivered;
    for (std::size_t i = 0; i < process.streams.size(); ++i)
        if (!process.terminal_retry) set_masked(process, i, false);
    return has_delivered;
}

Lane OutputPump::lane_for(const Process& process, TimePoint now) const {
    const bool would_overtake_itself = outbox_.bulk_sent() < process.bulk_end;
    return is_interactive(process, now) && !would_overtake_itself ? Lane::priority : Lane::bulk;
}

bool OutputPump::has_room(Lane lane) const {
    if (outbox_.client_is_gone()) return true; // nothing is kept any more
    const std::size_t mark = lane == Lane::bulk ? Outbox::bulk_mark : Outbox::priority_mark;
    return outbox_.unsent(lane) < mark;
}

// A command's output as text. What comes after exec/end is only kept for who asks.
void OutputPump::send_delta(Process& process, const OutputLog::Entry& entry, Lane lane) {
    if (entry.size == 0 || process.exec->is_end_sent) return;
    std::string bytes;
    bytes.reserve(entry.size);
    bytes.append(entry.bytes[0]).append(entry.bytes[1]);
    ByteBuffer& out = outbox_.begin(lane);
    out.append(std::string_view(R"({"jsonrpc":"2.0","method":"exec/outputDelta)"));
    out.append(process.exec->header);
    json::write_number(out, entry.seq);
    out.append(std::string_view(R"(,"stream":")"));
    out.append(stream_name(entry.kind));
    out.append(std::string_view(R"(","delta":)"));
    json::write_string(out, core::lossy(bytes));
    out.append(std::string_view("}}"));
    outbox_.end();
    if (lane == Lane::bulk) process.bulk_end = outbox_.bulk_queued();
}

void OutputPump::send(Process& process, const OutputLog::Entry& entry, Lane lane) {
    if (process.exec) return send_delta(process, entry, lane);
    ByteBuffer& out = outbox_.begin(lane);
    switch (entry.kind) {
    case OutputLog::Kind::out:
    case OutputLog::Kind::err:
    case OutputLog::Kind::pty:
        out.append(std::string_view(R"({"jsonrpc":"2.0","method":"process/output)"));
        out.append(process.header);
        json::write_number(out, entry.seq);
        out.append(std::string_view(R"(,"stream":")"));
        out.append(stream_name(entry.kind));
        out.append(std::string_view(R"(","chunk":)"));
        write_base64(out, entry.bytes);
        out.append(std::string_view("}}"));
        break;
    case OutputLog::Kind::exited: {
        out.append(std::string_view(R"({"jsonrpc":"2.0","method":"process/exited","params":)"));
        protocol::ExitedEvent event;
        event.process_id = process.id;
        event.seq = entry.seq;
        event.exit_code = process.exit->code;
        if (process.exit->signal != 0) event.signal = os::signal_name(process.exit->signal);
        event.timed_out = process.timed_out;
        event.usage = process.exit->usage;
        add_sandbox_report(event, process);
        json::write_value(out, event);
        out.append('}');
        break;
    }
    case OutputLog::Kind::closed:
        out.append(std::string_view(R"({"jsonrpc":"2.0","method":"process/closed)"));
        out.append(process.header);
        json::write_number(out, entry.seq);
        out.append(std::string_view("}}"));
        break;
    }
    outbox_.end();
    if (lane == Lane::bulk) process.bulk_end = outbox_.bulk_queued();
}

void OutputPump::rest_terminal(Process& process, TimePoint now) {
    process.terminal_patience =
        std::clamp(process.terminal_patience * 2, shortest_patience, longest_patience);
    process.terminal_retry = now + process.terminal_patience;
    set_masked(process, 0, true);
}

void OutputPump::retry_terminal(Process& process) {
    process.terminal_retry.reset();
    set_masked(process, 0, false);
}

void OutputPump::note_typing(Process& process, TimePoint now) {
    process.typed_until = now + interactive_time;
    process.typed_burst = 0;
    set_bulk(process, false);
}

bool OutputPump::is_interactive(const Process& process, TimePoint now) const {
    const bool was_quiet = process.burst <= interactive_burst;
    const bool was_typed_to = now < process.typed_until && process.typed_burst <= typed_burst;
    return was_quiet || was_typed_to;
}

void OutputPump::classify(Process& process, TimePoint now) {
    set_bulk(process, !is_interactive(process, now));
}

void OutputPump::set_bulk(Process& process, bool is_bulk) {
    for (std::size_t i = 0; i < process.streams.size(); ++i) {
        OutputStream& stream = process.streams[i];
        if (!stream.fd || stream.is_bulk == is_bulk) continue;
        if (!stream.is_masked) poller_of(stream).unwatch(stream.fd.get());
        stream.is_bulk = is_bulk;
        if (!stream.is_masked) start_watching(process, i);
    }
}

// Not watched at all, since a hang-up is reported whatever one is interested in (epoll_ctl(2)).
void OutputPump::set_masked(Process& process, std::size_t index, bool is_masked) {
    OutputStream& stream = process.streams[index];
    if (!stream.fd || stream.is_masked == is_masked) return;
    stream.is_masked = is_masked;
    if (is_masked)
        poller_of(stream).unwatch(stream.fd.get());
    else
        start_watching(process, index);
}

void OutputPump::start_watching(Process& process, std::size_t index) {
    OutputStream& stream = process.streams[index];
    (void)poller_of(stream).watch(stream.fd.get(), token_of(process, index), os::Interest::read);
}

void OutputPump::pause_or_resume_bulk(ProcessTable& table, TimePoint now) {
    const bool should_pause = !has_room(Lane::bulk);
    if (should_pause == bulk_is_paused_) return;
    bulk_is_paused_ = should_pause;
    poller_.change(bulk_poller_.fd(), token_of(Source::bulk),
                   should_pause ? os::Interest::none : os::Interest::read);
    if (!should_pause) return;
    // What has gone quiet must not be paused with the floods: its next output is news to a person.
    table.for_each([&](Process& process) {
        if (now - process.last_output >= interactive_time) set_bulk(process, false);
    });
}

} // namespace ew::server
