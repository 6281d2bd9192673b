// The output of a process and its end: process/read, process/output, process/exited and
// process/closed.
#pragma once

#include "json/types.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"
#include "protocol/until.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

struct ReadParams {
    std::string process_id = {};
    std::optional<std::uint64_t> after_seq = {};
    std::optional<std::uint64_t> max_bytes = {};
    std::optional<std::uint64_t> wait_ms = {};
    std::optional<Until> until = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("afterSeq", params.after_seq);
    visit.optional("maxBytes", params.max_bytes);
    visit.optional("waitMs", params.wait_ms);
    visit.optional("until", params.until);
}

enum class StreamName : std::uint8_t { out, err, pty };

struct OutputChunk {
    std::uint64_t seq = 0;
    StreamName stream = StreamName::out;
    Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, OutputChunk& chunk) {
    visit.required("seq", chunk.seq);
    visit.required("stream", chunk.stream);
    visit.required("chunk", chunk.chunk);
}

struct Usage {
    std::uint64_t wall_ms = 0;
    std::uint64_t user_ms = 0;
    std::uint64_t system_ms = 0;
    std::uint64_t peak_rss_bytes = 0;
};

template <class Visitor>
void fields(Visitor& visit, Usage& usage) {
    visit.required("wallMs", usage.wall_ms);
    visit.required("userMs", usage.user_ms);
    visit.required("systemMs", usage.system_ms);
    visit.required("peakRssBytes", usage.peak_rss_bytes);
}

struct ReadResult {
    std::vector<OutputChunk> chunks = {};
    std::uint64_t next_seq = 1;
    bool exited = false;
    std::optional<std::int64_t> exit_code = {};
    bool closed = false;
    std::optional<std::string> failure = {};
    bool sandbox_denied = false;
    std::uint64_t first_seq = 1;
    std::uint64_t lost_bytes = 0;
    std::optional<std::string> signal = {};
    bool timed_out = false;
    std::optional<Usage> usage = {};
    std::optional<std::vector<Denial>> denials = {}; // this and the next two: absent without a
    std::optional<std::uint64_t> denial_count = {};  // sandbox, and before the process has ended
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
    std::optional<WaitEnd> wait_end = {}; // of a request with until
};

template <class Visitor>
void fields(Visitor& visit, ReadResult& result) {
    visit.required("chunks", result.chunks);
    visit.required("nextSeq", result.next_seq);
    visit.required("exited", result.exited);
    visit.required("exitCode", result.exit_code);
    visit.required("closed", result.closed);
    visit.required("failure", result.failure);
    visit.required("sandboxDenied", result.sandbox_denied);
    visit.required("firstSeq", result.first_seq);
    visit.required("lostBytes", result.lost_bytes);
    visit.optional("signal", result.signal);
    visit.optional("timedOut", result.timed_out);
    visit.optional("usage", result.usage);
    visit.optional("denials", result.denials);
    visit.optional("denialCount", result.denial_count);
    visit.optional("sandboxHint", result.sandbox_hint);
    visit.optional("limitHits", result.limit_hits);
    visit.optional("waitEnd", result.wait_end);
}

struct OutputEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
    StreamName stream = StreamName::out;
    Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, OutputEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
    visit.required("stream", event.stream);
    visit.required("chunk", event.chunk);
}

struct ExitedEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
    std::int64_t exit_code = 0;
    bool sandbox_denied = false;
    std::optional<std::string> signal = {};
    bool timed_out = false;
    Usage usage = {};
    std::optional<std::vector<Denial>> denials = {}; // this and the next two: only of a sandboxed
    std::optional<std::uint64_t> denial_count = {};  // process
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
};

template <class Visitor>
void fields(Visitor& visit, ExitedEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
    visit.required("exitCode", event.exit_code);
    visit.required("sandboxDenied", event.sandbox_denied);
    visit.optional("signal", event.signal);
    visit.optional("timedOut", event.timed_out);
    visit.required("usage", event.usage);
    visit.optional("denials", event.denials);
    visit.optional("denialCount", event.denial_count);
    visit.optional("sandboxHint", event.sandbox_hint);
    visit.optional("limitHits", event.limit_hits);
}

struct ClosedEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
};

template <class Visitor>
void fields(Visitor& visit, ClosedEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::StreamName> {
    static constexpr std::array<std::string_view, 3> list = {"stdout", "stderr", "pty"};
};

} // namespace ew::json
