// The messages of the connection itself: handshake, environment, cancellation, errors.
#pragma once

#include "json/types.h"
#include "protocol/settings.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using json::FileUri;
using json::FlagMap;

struct ClientInfo {
    std::string name = {};
    std::optional<std::string> version = {};
};

template <class Visitor>
void fields(Visitor& visit, ClientInfo& info) {
    visit.required("name", info.name);
    visit.optional("version", info.version);
}

struct ClientCapabilities {
    bool approvals = false;
    bool extensions = false;
    bool input_state = false;
};

template <class Visitor>
void fields(Visitor& visit, ClientCapabilities& capabilities) {
    visit.optional("approvals", capabilities.approvals);
    visit.optional("extensions", capabilities.extensions);
    visit.optional("inputState", capabilities.input_state);
}

struct InitializeParams {
    std::optional<std::string> client_name = {};
    std::optional<ClientInfo> client_info = {};
    std::optional<std::uint64_t> process_id = {};
    std::optional<std::string> resume_session_id = {};
    std::optional<ClientCapabilities> capabilities = {};
    std::optional<Settings> settings = {};
};

template <class Visitor>
void fields(Visitor& visit, InitializeParams& params) {
    constexpr Bounds a_pid = {1, 2147483647};
    visit.optional("clientName", params.client_name);
    visit.optional("clientInfo", params.client_info);
    visit.optional("processId", params.process_id, a_pid);
    visit.optional("resumeSessionId", params.resume_session_id);
    visit.optional("capabilities", params.capabilities);
    visit.optional("settings", params.settings);
}

struct ServerInfo {
    std::string name = {};
    std::string version = {};
};

template <class Visitor>
void fields(Visitor& visit, ServerInfo& info) {
    visit.required("name", info.name);
    visit.required("version", info.version);
}

struct Shell {
    std::string name = {};
    std::string path = {};
};

template <class Visitor>
void fields(Visitor& visit, Shell& shell) {
    visit.required("name", shell.name);
    visit.required("path", shell.path);
}

struct EnvironmentInfo {
    Shell shell = {};
    std::string executor_version = {};
    FileUri cwd = {};
    std::optional<FileUri> user_home_dir = {};
    FileUri temp_dir = {};
    std::string platform_os = {};
    std::vector<FileUri> prepend_path_dirs = {};
    std::vector<FileUri> temporary_directories = {};
    FlagMap capabilities = {};
};

template <class Visitor>
void fields(Visitor& visit, EnvironmentInfo& info) {
    visit.required("shell", info.shell);
    visit.required("executorVersion", info.executor_version);
    visit.required("cwd", info.cwd);
    visit.optional("userHomeDir", info.user_home_dir);
    visit.required("tempDir", info.temp_dir);
    visit.required("platformOs", info.platform_os);
    visit.required("prependPathDirs", info.prepend_path_dirs);
    visit.required("temporaryDirectories", info.temporary_directories);
    visit.required("capabilities", info.capabilities);
}

struct InitializeResult {
    std::string session_id = {};
    ServerInfo server_info = {};
    std::string protocol_version = {};
    FlagMap capabilities = {};
    EnvironmentInfo environment_info = {};
};

template <class Visitor>
void fields(Visitor& visit, InitializeResult& result) {
    visit.required("sessionId", result.session_id);
    visit.required("serverInfo", result.server_info);
    visit.required("protocolVersion", result.protocol_version);
    visit.required("capabilities", result.capabilities);
    visit.required("environmentInfo", result.environment_info);
}

enum class EnvironmentState : std::uint8_t { ready };

struct EnvironmentStatus {
    EnvironmentState status = EnvironmentState::ready;
};

template <class Visitor>
void fields(Visitor& visit, EnvironmentStatus& status) {
    visit.required("status", status.status);
}

struct CancelParams {
    json::Id id = {};
};

template <class Visitor>
void fields(Visitor& visit, CancelParams& params) {
    visit.required("id", params.id);
}

struct ErrorData {
    std::string kind = {};
    std::optional<std::string> hint = {};
    std::optional<std::string> path = {};
    std::optional<std::string> process_id = {}; // cancelled: the process that continues to run
};

template <class Visitor>
void fields(Visitor& visit, ErrorData& data) {
    visit.required("kind", data.kind);
    visit.optional("hint", data.hint);
    visit.optional("path", data.path);
    visit.optional("processId", data.process_id);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::EnvironmentState> {
    static constexpr std::array<std::string_view, 1> list = {"ready"};
};

} // namespace ew::json
