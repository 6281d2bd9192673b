// What a command is allowed beyond its mode, if a person agrees.
#pragma once

#include "core/judgement/policy_types.h"
#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using core::SandboxPermissions;

// The length of the longest justification; a person is shown all of it.
constexpr std::uint64_t longest_justification = 64 << 10; // bytes

struct NetworkPermission {
    static constexpr bool refuses_others = true;
    bool enabled = false;
    std::vector<std::string> hosts = {}; // HOST or HOST:PORT
};

template <class Visitor>
void fields(Visitor& visit, NetworkPermission& permission) {
    visit.optional("enabled", permission.enabled);
    visit.optional("hosts", permission.hosts);
}

struct FileSystemPermission {
    static constexpr bool refuses_others = true;
    std::vector<std::string> read = {}; // relative paths start from the directory of the call
    std::vector<std::string> write = {};
};

template <class Visitor>
void fields(Visitor& visit, FileSystemPermission& permission) {
    visit.optional("read", permission.read);
    visit.optional("write", permission.write);
}

struct AdditionalPermissions {
    static constexpr bool refuses_others = true;
    std::optional<NetworkPermission> network = {};
    std::optional<FileSystemPermission> file_system = {};
};

template <class Visitor>
void fields(Visitor& visit, AdditionalPermissions& permissions) {
    visit.optional("network", permissions.network);
    visit.optional("fileSystem", permissions.file_system);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<core::SandboxPermissions> {
    static constexpr std::array<std::string_view, 3> list = {"useDefault", "requireEscalated",
                                                             "withAdditionalPermissions"};
};

} // namespace ew::json
