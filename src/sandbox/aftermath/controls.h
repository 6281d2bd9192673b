// The entries of a git directory by which git is told what to run and where to look: its settings,
// its hooks, and what leads to others of them.
#pragma once

#include "sandbox/aftermath/place.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// These are protected by mounts while a command runs, if they exist before.
constexpr std::array<const char*, 5> protected_controls = {"config", "config.worktree", "hooks",
                                                           "commondir", "info"};
// These have the URLs of remotes in files of their own (gitrepository-layout(5)).
constexpr std::array<const char*, 2> old_remotes = {"remotes", "branches"};

struct ControlContext {
    std::optional<std::size_t> levels_to_work_tree = {}; // see dangers_in_settings()
    bool is_worktree = false;                            // linked: it has a commondir
};

struct ControlDanger {
    std::string reason = {};
    std::string identity = {}; // of the content
};

// `name` is one of the above and exists, as something else than a link. Returns nullopt if it is
// harmless.
std::optional<ControlDanger> judge_control(const Place& git, const std::string& name,
                                           const ControlContext& context);

// The path in a file of one line, as git reads it.
std::string_view without_line_end(std::string_view text);

constexpr std::size_t longest_line = 4096; // bytes of such a file

} // namespace ew::sandbox
