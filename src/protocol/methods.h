// The names of methods and the codes of errors.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ew::protocol {

constexpr std::string_view protocol_version = "1.0";

enum class Method : std::uint8_t {
    process_read,
    process_write,
    process_start,
    process_signal,
    process_terminate,
    process_resize,
    process_screen,
    process_cast,
    process_close_stdin,
    process_list,
    exec_command,
    exec_write_stdin,
    exec_wait,
    exec_list,
    patch_check,
    patch_apply,
    exec_terminate,
    exec_terminate_all,
    exec_signal,
    exec_resize,
    exec_screen,
    approvals_list,
    approvals_revoke,
    approvals_grant,
    policy_explain,
    session_configure,
    fs_read_file,
    fs_write_file,
    fs_create_directory,
    fs_get_metadata,
    fs_canonicalize,
    fs_read_directory,
    fs_walk,
    fs_remove,
    fs_copy,
    fs_open,
    fs_read_block,
    fs_write_block,
    fs_close,
    fs_watch_missing,
    environment_info,
    environment_status,
    environment_list,
    initialize,
    shutdown,
    reserved, // a method of the protocol that this version does not serve
};

std::optional<Method> method_named(std::string_view name);

// The JSON-RPC code of an error (schema/protocol.json lists them), and its name in error.data.kind.
int code_of(ErrorKind kind);
std::string_view name_of(ErrorKind kind);

} // namespace ew::protocol
