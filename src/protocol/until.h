// What a request waits for, and what ended its wait.
#pragma once

#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::protocol {

// Exactly one of them.
struct UntilPattern {
    static constexpr bool refuses_others = true;
    std::optional<std::string> text = {};
    std::optional<std::string> regex = {}; // in the syntax of RE2
};

template <class Visitor>
void fields(Visitor& visit, UntilPattern& pattern) {
    visit.optional("text", pattern.text);
    visit.optional("regex", pattern.regex);
}

constexpr std::uint64_t highest_port = 65535;

// The first of these ends the wait; so do the end of the program, and the time limit.
struct Until {
    static constexpr bool refuses_others = true;
    std::optional<UntilPattern> pattern = {};
    std::optional<std::uint64_t> bytes = {};
    std::optional<std::uint64_t> quiet_ms = {};
    std::optional<std::uint64_t> port = {}; // the program listens on this TCP port; 0: on any
    bool input = false;                     // the program waits for input
    // Where the output that counts begins, as a number of bytes from its beginning. Absent: where
    // the answer begins, and for a request that types, what comes after.
    std::optional<std::uint64_t> from = {};
};

template <class Visitor>
void fields(Visitor& visit, Until& until) {
    visit.optional("pattern", until.pattern);
    visit.optional("bytes", until.bytes);
    visit.optional("quietMs", until.quiet_ms);
    visit.optional("port", until.port, json::Bounds{0, highest_port});
    visit.optional("input", until.input);
    visit.optional("from", until.from);
}

struct UntilMatch {
    std::string text = {};
    std::uint64_t line = 0;   // the line that it begins in, counted from 1 where the wait began
    std::uint64_t offset = 0; // of its first byte in the output of the program
};

template <class Visitor>
void fields(Visitor& visit, UntilMatch& match) {
    visit.required("text", match.text);
    visit.required("line", match.line);
    visit.required("offset", match.offset);
}

enum class WaitEndReason : std::uint8_t { exit, pattern, bytes, quiet, port, input, time };

struct WaitEnd {
    WaitEndReason reason = WaitEndReason::exit;
    std::optional<UntilMatch> match = {};   // of the pattern
    std::optional<std::uint64_t> port = {}; // that the program listens on
};

template <class Visitor>
void fields(Visitor& visit, WaitEnd& end) {
    visit.required("reason", end.reason);
    visit.optional("match", end.match);
    visit.optional("port", end.port);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::WaitEndReason> {
    static constexpr std::array<std::string_view, 7> list = {"exit", "pattern", "bytes", "quiet",
                                                             "port", "input",   "time"};
};

} // namespace ew::json
