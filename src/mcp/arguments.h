// The arguments of the tools. Each struct refuses members that it does not know: a model that
// misspells one must learn of it. tools.cc has their schemas.
#pragma once

#include "json/types.h"
#include "protocol/until.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

// How long a tool may wait, at most, and the usual time: SDKs give up after 60 s.
constexpr std::uint64_t longest_wait_ms = 600'000;
constexpr std::uint64_t usual_wait_ms = 30'000;

enum class OnCancel : std::uint8_t { keep, stop };

struct RunArguments {
    static constexpr bool refuses_others = true;
    std::optional<std::string> command = {}; // either this or argv
    std::optional<std::vector<std::string>> argv = {};
    std::optional<std::string> cwd = {};
    std::optional<std::string> stdin_text = {};
    bool tty = false;
    bool background = false;
    std::optional<std::uint64_t> timeout_ms = {};
    std::optional<std::string> until_text = {};
    std::optional<std::uint64_t> until_port = {};
    OnCancel on_cancel = OnCancel::keep;
    bool network = false;
    std::vector<std::string> write_paths = {};
    std::optional<std::string> reason = {};
};

template <class Visitor>
void fields(Visitor& visit, RunArguments& arguments) {
    visit.optional("command", arguments.command);
    visit.optional("argv", arguments.argv, json::Bounds{1});
    visit.optional("cwd", arguments.cwd);
    visit.optional("stdin", arguments.stdin_text);
    visit.optional("tty", arguments.tty);
    visit.optional("background", arguments.background);
    visit.optional("timeout_ms", arguments.timeout_ms, json::Bounds{0, longest_wait_ms});
    visit.optional("until_text", arguments.until_text);
    visit.optional("until_port", arguments.until_port, json::Bounds{0, protocol::highest_port});
    visit.optional("on_cancel", arguments.on_cancel);
    visit.optional("network", arguments.network);
    visit.optional("write_paths", arguments.write_paths);
    visit.optional("reason", arguments.reason);
}

struct ReadArguments {
    static constexpr bool refuses_others = true;
    std::string id = {};
    std::optional<std::uint64_t> after = {};
    std::uint64_t wait_ms = 0;
};

template <class Visitor>
void fields(Visitor& visit, ReadArguments& arguments) {
    visit.required("id", arguments.id);
    visit.optional("after", arguments.after, json::Bounds{0, std::uint64_t{1} << 53});
    visit.optional("wait_ms", arguments.wait_ms, json::Bounds{0, longest_wait_ms});
}

struct WaitArguments {
    static constexpr bool refuses_others = true;
    std::string id = {};
    std::optional<std::string> until_text = {}; // this, until_regex or neither
    std::optional<std::string> until_regex = {};
    std::optional<std::uint64_t> until_port = {};
    bool until_input = false;
    std::optional<std::uint64_t> until_quiet_ms = {};
    bool from_start = false;
    std::uint64_t timeout_ms = usual_wait_ms;
};

template <class Visitor>
void fields(Visitor& visit, WaitArguments& arguments) {
    visit.required("id", arguments.id);
    visit.optional("until_text", arguments.until_text);
    visit.optional("until_regex", arguments.until_regex);
    visit.optional("until_port", arguments.until_port, json::Bounds{0, protocol::highest_port});
    visit.optional("until_input", arguments.until_input);
    visit.optional("until_quiet_ms", arguments.until_quiet_ms, json::Bounds{0, longest_wait_ms});
    visit.optional("from_start", arguments.from_start);
    visit.optional("timeout_ms", arguments.timeout_ms, json::Bounds{0, longest_wait_ms});
}

struct ScreenArguments {
    static constexpr bool refuses_others = true;
    std::string id = {};
};

template <class Visitor>
void fields(Visitor& visit, ScreenArguments& arguments) {
    visit.required("id", arguments.id);
}

struct SendArguments {
    static constexpr bool refuses_others = true;
    std::string id = {};
    std::string text = {};
    bool close = false;
    std::optional<std::uint64_t> wait_ms = {};
};

template <class Visitor>
void fields(Visitor& visit, SendArguments& arguments) {
    visit.required("id", arguments.id);
    visit.optional("text", arguments.text);
    visit.optional("close", arguments.close);
    visit.optional("wait_ms", arguments.wait_ms, json::Bounds{0, longest_wait_ms});
}

struct StopArguments {
    static constexpr bool refuses_others = true;
    std::string id = {};
    std::optional<std::uint64_t> grace_ms = {};
};

template <class Visitor>
void fields(Visitor& visit, StopArguments& arguments) {
    visit.required("id", arguments.id);
    visit.optional("grace_ms", arguments.grace_ms, json::Bounds{0, usual_wait_ms});
}

struct ListArguments {
    static constexpr bool refuses_others = true;
};

template <class Visitor>
void fields(Visitor&, ListArguments&) {}

struct PatchArguments {
    static constexpr bool refuses_others = true;
    std::string patch = {};
    std::optional<std::string> cwd = {};
    std::optional<std::string> reason = {};
};

template <class Visitor>
void fields(Visitor& visit, PatchArguments& arguments) {
    visit.required("patch", arguments.patch);
    visit.optional("cwd", arguments.cwd);
    visit.optional("reason", arguments.reason);
}

struct CheckArguments {
    static constexpr bool refuses_others = true;
    std::optional<std::string> command = {}; // either this or argv
    std::optional<std::vector<std::string>> argv = {};
    std::optional<std::string> cwd = {};
};

template <class Visitor>
void fields(Visitor& visit, CheckArguments& arguments) {
    visit.optional("command", arguments.command);
    visit.optional("argv", arguments.argv, json::Bounds{1});
    visit.optional("cwd", arguments.cwd);
}

} // namespace ew::mcp

namespace ew::json {

template <>
struct Names<mcp::OnCancel> {
    static constexpr std::array<std::string_view, 2> list = {"keep", "stop"};
};

} // namespace ew::json
