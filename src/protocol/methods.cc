#include "protocol/methods.h"

#include <array>

namespace ew::protocol {

namespace {

struct NamedMethod {
    std::string_view name;
    Method method;
};

constexpr std::array<NamedMethod, 45> served = {{
    {"process/read", Method::process_read},
    {"process/write", Method::process_write},
    {"process/start", Method::process_start},
    {"process/signal", Method::process_signal},
    {"process/terminate", Method::process_terminate},
    {"process/resize", Method::process_resize},
    {"process/screen", Method::process_screen},
    {"process/cast", Method::process_cast},
    {"process/closeStdin", Method::process_close_stdin},
    {"process/list", Method::process_list},
    {"exec/command", Method::exec_command},
    {"exec/writeStdin", Method::exec_write_stdin},
    {"exec/wait", Method::exec_wait},
    {"exec/list", Method::exec_list},
    {"exec/terminate", Method::exec_terminate},
    {"exec/terminateAll", Method::exec_terminate_all},
    {"exec/signal", Method::exec_signal},
    {"exec/resize", Method::exec_resize},
    {"exec/screen", Method::exec_screen},
    {"patch/check", Method::patch_check},
    {"patch/apply", Method::patch_apply},
    {"approvals/list", Method::approvals_list},
    {"approvals/revoke", Method::approvals_revoke},
    {"approvals/grant", Method::approvals_grant},
    {"policy/explain", Method::policy_explain},
    {"session/configure", Method::session_configure},
    {"fs/readFile", Method::fs_read_file},
    {"fs/writeFile", Method::fs_write_file},
    {"fs/createDirectory", Method::fs_create_directory},
    {"fs/getMetadata", Method::fs_get_metadata},
    {"fs/canonicalize", Method::fs_canonicalize},
    {"fs/readDirectory", Method::fs_read_directory},
    {"fs/walk", Method::fs_walk},
    {"fs/remove", Method::fs_remove},
    {"fs/copy", Method::fs_copy},
    {"fs/open", Method::fs_open},
    {"fs/readBlock", Method::fs_read_block},
    {"fs/writeBlock", Method::fs_write_block},
    {"fs/close", Method::fs_close},
    {"fs/watchMissing", Method::fs_watch_missing},
    {"environment/info", Method::environment_info},
    {"environment/status", Method::environment_status},
    {"environment/list", Method::environment_list},
    {"initialize", Method::initialize},
    {"shutdown", Method::shutdown},
}};

// Methods of Codex's exec-server protocol that execward does not serve. Before the handshake they
// are refused like any other method; afterwards the answer says that they are not served.
constexpr std::array<std::string_view, 4> reserved_names = {
    "http/request", "capabilityRoots/discoverV1", "capabilities/discoverV2",
    "environmentConfig/read"};

} // namespace

std::optional<Method> method_named(std::string_view name) {
    for (const NamedMethod& entry : served)
        if (entry.name == name) return entry.method;
    for (const std::string_view reserved : reserved_names)
        if (reserved == name) return Method::reserved;
    return std::nullopt;
}

int code_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::parse: return -32700;
    case ErrorKind::unknown_method: return -32601;
    case ErrorKind::invalid_params:
    case ErrorKind::not_running:
    case ErrorKind::unknown_approval: return -32602;
    case ErrorKind::not_found:
    case ErrorKind::unknown_handle: return -32004;
    case ErrorKind::cancelled: return -32800;
    case ErrorKind::spawn_not_found:
    case ErrorKind::spawn_failed:
    case ErrorKind::sandbox_unavailable:
    case ErrorKind::denied:
    case ErrorKind::store_unavailable:
    case ErrorKind::config_invalid:
    case ErrorKind::read_only:
    case ErrorKind::disk_full:
    case ErrorKind::io_failed:
    case ErrorKind::environment_unavailable:
    case ErrorKind::environment_lost:
    case ErrorKind::internal: return -32603;
    case ErrorKind::invalid_request:
    case ErrorKind::not_initialized:
    case ErrorKind::limit:
    case ErrorKind::unknown_process:
    case ErrorKind::pruned_process:
    case ErrorKind::process_exists:
    case ErrorKind::too_many_processes:
    case ErrorKind::not_a_terminal:
    case ErrorKind::stdin_closed:
    case ErrorKind::unknown_session:
    case ErrorKind::permission_denied:
    case ErrorKind::wrong_kind:
    case ErrorKind::handle_exists:
    case ErrorKind::changed:
    case ErrorKind::shutting_down: return -32600;
    }
    return -32603;
}

std::string_view name_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::parse: return "parse";
    case ErrorKind::invalid_request: return "invalidRequest";
    case ErrorKind::unknown_method: return "unknownMethod";
    case ErrorKind::invalid_params: return "invalidParams";
    case ErrorKind::not_initialized: return "notInitialized";
    case ErrorKind::limit: return "limit";
    case ErrorKind::unknown_process: return "unknownProcess";
    case ErrorKind::pruned_process: return "prunedProcess";
    case ErrorKind::process_exists: return "processExists";
    case ErrorKind::too_many_processes: return "tooManyProcesses";
    case ErrorKind::spawn_not_found: return "spawnNotFound";
    case ErrorKind::spawn_failed: return "spawnFailed";
    case ErrorKind::sandbox_unavailable: return "sandboxUnavailable";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::not_a_terminal: return "notATerminal";
    case ErrorKind::not_running: return "notRunning";
    case ErrorKind::unknown_session: return "unknownSession";
    case ErrorKind::shutting_down: return "shuttingDown";
    case ErrorKind::denied: return "denied";
    case ErrorKind::stdin_closed: return "stdinClosed";
    case ErrorKind::unknown_approval: return "unknownApproval";
    case ErrorKind::store_unavailable: return "storeUnavailable";
    case ErrorKind::config_invalid: return "configInvalid";
    case ErrorKind::not_found: return "notFound";
    case ErrorKind::permission_denied: return "permissionDenied";
    case ErrorKind::wrong_kind: return "wrongKind";
    case ErrorKind::read_only: return "readOnly";
    case ErrorKind::disk_full: return "diskFull";
    case ErrorKind::io_failed: return "ioFailed";
    case ErrorKind::changed: return "changed";
    case ErrorKind::unknown_handle: return "unknownHandle";
    case ErrorKind::handle_exists: return "handleExists";
    case ErrorKind::environment_unavailable: return "environmentUnavailable";
    case ErrorKind::environment_lost: return "environmentLost";
    case ErrorKind::internal: return "internal";
    }
    return "internal";
}

} // namespace ew::protocol
