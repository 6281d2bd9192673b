// What a running program does about its input.
#pragma once

#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ew::protocol {

enum class InputKind : std::uint8_t {
    line,     // a terminal that takes whole lines and shows what is typed
    password, // a terminal that takes whole lines and does not show them
    raw,      // a terminal that passes on each key: editors, menus, shells with line editing
    pipe,     // its stdin is a pipe that the client can still write to
    none,     // it takes no input
};

enum class Certainty : std::uint8_t {
    kernel,  // from the system calls in which its threads sleep
    termios, // guessed from the mode of the terminal and from silence
};

struct InputState {
    InputKind kind = InputKind::none;
    bool waiting = false; // the program sleeps until there is input
    std::optional<std::uint64_t> since_ms = {};
    Certainty certainty = Certainty::kernel;
};

template <class Visitor>
void fields(Visitor& visit, InputState& state) {
    visit.required("kind", state.kind);
    visit.required("waiting", state.waiting);
    visit.optional("sinceMs", state.since_ms);
    visit.required("certainty", state.certainty);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::InputKind> {
    static constexpr std::array<std::string_view, 5> list = {"line", "password", "raw", "pipe",
                                                             "none"};
};

template <>
struct Names<protocol::Certainty> {
    static constexpr std::array<std::string_view, 2> list = {"kernel", "termios"};
};

} // namespace ew::json
