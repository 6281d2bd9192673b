// What belongs together as one project.
#pragma once

#include <string>

namespace ew::config {

// The top level of the git work tree that the workspace is in, else the workspace; with symbolic
// links resolved if it exists. `workspace` is absolute. As with git (safe.directory in
// git-config(1)), a .git of another user, but root, makes no project: anybody can put one into
// /tmp.
std::string project_root(const std::string& workspace);

// Where a project has its rules: PROJECT/.execward/rules.d.
std::string project_rules_dir(const std::string& project);

} // namespace ew::config
