// Finds the project that a directory belongs to.
#pragma once

#include <string>

namespace ew::config {

// Returns the top level of the git work tree that contains the workspace, else the workspace.
// Symlinks are resolved if it exists. `workspace` must be absolute. As in git (safe.directory in
// git-config(1)), a .git of another user (except root) does not count, because anybody can create
// one in /tmp.
std::string project_root(const std::string& workspace);

// Returns the directory of a project's rules: PROJECT/.execward/rules.d.
std::string project_rules_dir(const std::string& project);

} // namespace ew::config
