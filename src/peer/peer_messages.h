// The messages of an exec-server, read leniently: only members that all versions send are required.
// Texts and lists may have any length; those that are kept are cut to a readable length. Output is
// kept whole, because the framing limits it.
#pragma once

#include "base/result.h"
#include "json/types.h"
#include "protocol/process_output.h"
#include "protocol/sandbox.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {
struct Value;
}

namespace ew::peer {

struct PeerStarted {
    std::optional<std::string> sandbox_type = {}; // "none", "linuxSeccomp", "macosSeatbelt", …
    std::vector<std::string> missing = {};        // names of guarantees
};

template <class Visitor>
void fields(Visitor& visit, PeerStarted& result) {
    visit.optional("sandboxType", result.sandbox_type);
    visit.optional("missing", result.missing);
}

// How a process ended, from process/exited or process/read.
struct PeerEnd {
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::string> signal = {};
    bool sandbox_denied = false;
    std::optional<protocol::Usage> usage = {};
    std::vector<protocol::Denial> denials = {};
    std::optional<std::uint64_t> denial_count = {};
    std::optional<std::string> sandbox_hint = {};
    std::vector<std::string> limit_hits = {};
};

template <class Visitor>
void end_fields(Visitor& visit, PeerEnd& end) {
    visit.optional("exitCode", end.exit_code);
    visit.optional("signal", end.signal);
    visit.optional("sandboxDenied", end.sandbox_denied);
    visit.optional("usage", end.usage);
    visit.optional("denials", end.denials);
    visit.optional("denialCount", end.denial_count);
    visit.optional("sandboxHint", end.sandbox_hint);
    visit.optional("limitHits", end.limit_hits);
}

struct PeerOutput {
    std::string process_id = {};
    std::uint64_t seq = 0;
    protocol::StreamName stream = protocol::StreamName::out;
    json::Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerOutput& output) {
    visit.required("processId", output.process_id);
    visit.required("seq", output.seq);
    visit.required("stream", output.stream);
    visit.required("chunk", output.chunk);
}

struct PeerExited {
    std::string process_id = {};
    std::uint64_t seq = 0;
    PeerEnd end = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerExited& exited) {
    visit.required("processId", exited.process_id);
    visit.required("seq", exited.seq);
    end_fields(visit, exited.end);
}

struct PeerReadResult {
    std::vector<protocol::OutputChunk> chunks = {};
    std::uint64_t next_seq = 1;
    bool exited = false;
    bool closed = false;
    PeerEnd end = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerReadResult& result) {
    visit.required("chunks", result.chunks);
    visit.required("nextSeq", result.next_seq);
    visit.optional("exited", result.exited);
    visit.optional("closed", result.closed);
    end_fields(visit, result.end);
}

struct PeerWritten {
    std::string status = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerWritten& result) {
    visit.required("status", result.status);
}

struct PeerTerminated {
    bool running = false;
    std::vector<std::int64_t> survivors = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerTerminated& result) {
    visit.optional("running", result.running);
    visit.optional("survivors", result.survivors);
}

// Reads one of these messages. Errors: invalid_params with the reason.
template <class Struct>
Result<Struct> read_message(const json::Value* value);

// Makes a text of the server safe to show to a person: it is cut, and hides or moves nothing.
std::string shown(std::string_view text);

// Does the same for the texts of an end.
void make_fit_to_show(PeerEnd& end);

// Converts an error object. Keeps its kind if execward has one with this name, else uses
// `otherwise`. The texts are safe to show.
Error error_of(const json::Value* value, ErrorKind otherwise);

} // namespace ew::peer
