// Files of settings and rules that are reached through a link, as dotfiles often are. What counts
// then is who can change the target of a symlink, and whether there are other names (hard links).
#pragma once

#include "base/result.h"
#include "config/paths.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::config {

// Returns the file that a symlink at this path leads to. Returns nullopt if the path is no symlink,
// or leads nowhere.
std::optional<std::string> target_of_link(const std::string& path);

// Returns why the file at this path must not be trusted: it has another name, under which confined
// programs may write it; or it is the target of a symlink, and they may write to its place, because
// it is in one of the `writable` directories, or other users may. Returns an empty string if it may
// be trusted.
std::string distrust_of_link(const std::string& path, const std::vector<std::string>& writable);

// Returns an error if distrust_of_link() has a reason: a confined command could write the settings
// of later ones.
Result<void> check_link(const std::string& path, const std::vector<std::string>& writable);

// Returns the targets of links at the file of settings and among the files of rules.
std::vector<std::string> link_targets(const Paths& paths);

} // namespace ew::config
