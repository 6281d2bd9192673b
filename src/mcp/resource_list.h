// The resources of processes: their names, and what lists say about them.
#pragma once

#include "protocol/exec_list.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

enum class ResourceKind : std::uint8_t { output, screen, cast };

inline constexpr std::array<ResourceKind, 3> every_kind = {
    ResourceKind::output, ResourceKind::screen, ResourceKind::cast};

struct ResourceName {
    std::string process = {};
    ResourceKind kind = ResourceKind::output;
};

std::string uri_of(std::string_view process, ResourceKind kind);

// Returns nullopt for a URI that is not one of a process.
std::optional<ResourceName> resource_named(std::string_view uri);

std::string_view media_type_of(ResourceKind kind);

// The members of the results of resources/list and resources/templates/list.
std::string resource_list(const std::vector<protocol::ExecProcessInfo>& processes);
std::string template_list();

} // namespace ew::mcp
