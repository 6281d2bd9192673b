// The settings of git that make it neither run a program nor follow a path, whatever their value or
// with the values that are listed. Pure. All other settings count as dangerous.
#pragma once

#include "sandbox/aftermath/git_settings.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// `levels_to_work_tree` belongs to a submodule: how many ".." lead from its git directory to the
// work tree of the repository that contains it. Only with it is core.worktree harmless, if the path
// stays below that work tree.
// Returns "core.fsmonitor" for each dangerous setting, and "line 3" for each line that is not
// understood; each once, in the order of the file.
std::vector<std::string> dangers_in_settings(std::string_view text,
                                             std::optional<std::size_t> levels_to_work_tree = {});

bool is_harmless(const GitSetting& setting, std::optional<std::size_t> levels_to_work_tree);

// A URL or path to which git itself speaks, without a helper program that the URL names.
bool is_plain_url(std::string_view url);

} // namespace ew::sandbox
