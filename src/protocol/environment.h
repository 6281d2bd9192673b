// The messages of environment/list: the places where commands can run.
#pragma once

#include "json/types.h"
#include "protocol/session.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

enum class EnvironmentEntryState : std::uint8_t {
    local,    // this machine
    idle,     // not used yet
    starting, // its program runs but has not answered yet
    ready,
    failed, // the last attempt to reach it failed, or the connection was lost
};

// The server of an environment.
struct EnvironmentServer {
    std::string name = {};
    std::optional<std::string> version = {};
};

template <class Visitor>
void fields(Visitor& visit, EnvironmentServer& server) {
    visit.required("name", server.name);
    visit.optional("version", server.version);
}

struct EnvironmentEntry {
    std::string id = {};
    bool is_default = false;
    EnvironmentEntryState state = EnvironmentEntryState::local;
    std::optional<std::string> program = {}; // this and the next: how the server is reached
    std::optional<std::vector<std::string>> args = {};
    std::optional<EnvironmentServer> server = {}; // this and the next three: its report when ready
    std::optional<std::string> cwd = {};
    std::optional<Shell> shell = {};
    std::optional<bool> confines = {}; // it can confine programs
    std::uint64_t processes = 0;       // the number of processes in it
    std::optional<std::string> failure = {};
};

template <class Visitor>
void fields(Visitor& visit, EnvironmentEntry& entry) {
    visit.required("id", entry.id);
    visit.required("isDefault", entry.is_default);
    visit.required("state", entry.state);
    visit.optional("program", entry.program);
    visit.optional("args", entry.args);
    visit.optional("server", entry.server);
    visit.optional("cwd", entry.cwd);
    visit.optional("shell", entry.shell);
    visit.optional("confines", entry.confines);
    visit.required("processes", entry.processes);
    visit.optional("failure", entry.failure);
}

struct EnvironmentListResult {
    std::vector<EnvironmentEntry> environments = {};
};

template <class Visitor>
void fields(Visitor& visit, EnvironmentListResult& result) {
    visit.required("environments", result.environments);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::EnvironmentEntryState> {
    static constexpr std::array<std::string_view, 5> list = {"local", "idle", "starting", "ready",
                                                             "failed"};
};

} // namespace ew::json
