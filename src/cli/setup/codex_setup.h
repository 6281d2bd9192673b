// Changes Codex's environments.toml so that Codex uses execward.
#pragma once

#include "base/result.h"
#include "cli/setup/codex_environments.h"
#include "cli/setup/settings_file.h"

#include <string>

namespace ew::cli {

// $CODEX_HOME, else HOME/.codex.
Result<std::string> codex_directory();

void print_snippet(const CodexEnvironment& environment);

SettingsFile codex_environments_file(const std::string& directory,
                                     const CodexEnvironment& environment);

// Writes the environment of this id, and prints what a person has to do then. Returns the exit
// status.
int write_codex_setup(const SettingsFile& file, const std::string& id, Consent consent);

} // namespace ew::cli
