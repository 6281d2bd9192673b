#include "server/process/output_delivery.h"

#include "core/text/text.h"
#include "json/base64.h"
#include "json/writer.h"
#include "os/signals.h"
#include "protocol/process_output.h"
#include "server/process/consumer.h"
#include "server/process/sandbox_report.h"

#include <array>
#include <string>

namespace ew::server {

using core::OutputLog;

namespace {

// Writes base64 of bytes in two pieces: the boundary may fall inside a group of three.
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

std::string_view stream_name(OutputLog::Kind kind) {
    if (kind == OutputLog::Kind::err) return "stderr";
    return kind == OutputLog::Kind::pty ? "pty" : "stdout";
}

} // namespace

void OutputDelivery::commit(Process& process, core::Stream stream, std::size_t count) {
    Delivery& delivery = process.delivery;
    if (is_quiet(process)) delivery.burst = 0;
    delivery.last_output = now_;
    const std::uint64_t begin = process.log.end();
    process.log.commit(stream, count, now_);
    if (process.is_tty()) {
        process.times.note(begin, process.log.oldest(), now_);
        std::string output;
        process.log.copy(begin, process.log.end(), output);
        process.key_modes.feed(output);
        keep_screen_up(process);
    }
    process.reads.look_at(process.log);
    if (process.consumer != nullptr) process.consumer->look_at(process.log);
    delivery.burst += count;
    delivery.typed_burst += count;
}

std::size_t OutputDelivery::append(Process& process, core::Stream stream, std::string_view bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && process.log.has_room()) {
        OutputLog::Space space = process.log.space(stream, bytes.size() - taken);
        const std::size_t count = space.size[0] + space.size[1];
        for (std::size_t i = 0, at = taken; i < space.size.size(); at += space.size[i++])
            (void)bytes.copy(space.at[i], space.size[i], at);
        commit(process, stream, count);
        taken += count;
    }
    return taken;
}

bool OutputDelivery::deliver(Process& process) {
    if (process.consumer != nullptr && !process.consumer->takes_output()) return false;
    bool has_delivered = false;
    while (process.log.has_undelivered()) {
        const Lane lane = lane_for(process);
        if (!has_room(lane)) break;
        send(process, process.log.next_undelivered(), lane);
        process.log.mark_delivered();
        has_delivered = true;
    }
    if (process.log.has_room()) process.backend->resume_reading(process);
    return has_delivered;
}

// Returns the lane in which the next message cannot overtake an earlier one.
Lane OutputDelivery::lane_for(const Process& process) const {
    const bool would_overtake_itself = outbox_.bulk_sent() < process.delivery.bulk_end;
    return is_interactive(process) && !would_overtake_itself ? Lane::priority : Lane::bulk;
}

bool OutputDelivery::has_room(Lane lane) const {
    if (outbox_.client_is_gone()) return true; // nothing is queued any more
    const std::size_t mark = lane == Lane::bulk ? Outbox::bulk_mark : Outbox::priority_mark;
    return outbox_.unsent(lane) < mark;
}

void OutputDelivery::end_message(Process& process, Lane lane) {
    outbox_.end();
    if (lane == Lane::bulk) process.delivery.bulk_end = outbox_.bulk_queued();
}

// Sends the output of a command as text.
void OutputDelivery::send_delta(Process& process, const OutputLog::Entry& entry, Lane lane) {
    if (entry.size == 0 || process.consumer->has_ended()) return;
    std::string bytes;
    bytes.reserve(entry.size);
    bytes.append(entry.bytes[0]).append(entry.bytes[1]);
    ByteBuffer& out = outbox_.begin(lane);
    out.append(std::string_view(R"({"jsonrpc":"2.0","method":"exec/outputDelta)"));
    out.append(process.consumer->delta_header());
    json::write_number(out, entry.seq);
    out.append(std::string_view(R"(,"stream":")"));
    out.append(stream_name(entry.kind));
    out.append(std::string_view(R"(","delta":)"));
    json::write_string(out, core::lossy(bytes));
    out.append(std::string_view("}}"));
    end_message(process, lane);
}

void OutputDelivery::send(Process& process, const OutputLog::Entry& entry, Lane lane) {
    if (process.consumer != nullptr) return send_delta(process, entry, lane);
    ByteBuffer& out = outbox_.begin(lane);
    switch (entry.kind) {
    case OutputLog::Kind::out:
    case OutputLog::Kind::err:
    case OutputLog::Kind::pty:
        out.append(std::string_view(R"({"jsonrpc":"2.0","method":"process/output)"));
        out.append(process.delivery.header);
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
        out.append(process.delivery.header);
        json::write_number(out, entry.seq);
        out.append(std::string_view("}}"));
        break;
    }
    end_message(process, lane);
}

void OutputDelivery::note_typing(Process& process) {
    process.delivery.last_input = now_;
    process.delivery.typed_until = now_ + interactive_time;
    process.delivery.typed_burst = 0;
}

bool OutputDelivery::is_interactive(const Process& process) const {
    const Delivery& delivery = process.delivery;
    const bool was_quiet = delivery.burst <= interactive_burst;
    const bool was_typed_to = now_ < delivery.typed_until && delivery.typed_burst <= typed_burst;
    return was_quiet || was_typed_to;
}

bool OutputDelivery::is_quiet(const Process& process) const {
    return now_ - process.delivery.last_output >= interactive_time;
}

} // namespace ew::server
