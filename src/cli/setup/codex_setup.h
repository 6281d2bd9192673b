// Changes Codex's environments.toml so that Codex uses execward: shows the change, asks, writes it.
#pragma once

#include "base/result.h"
#include "cli/setup/codex_environments.h"

#include <string>

namespace ew::cli {

// $CODEX_HOME, else HOME/.codex.
Result<std::string> codex_directory();

// The file in that directory.
std::string codex_file(const std::string& directory);

void print_snippet(const CodexEnvironment& environment);

enum class Consent { ask, given };

// Shows the change and, with consent, writes it. The file must belong to this user and must not be
// a symbolic link; its mode stays, and the old text is kept beside it. Returns the exit status.
int write_codex_setup(const std::string& directory, const CodexEnvironment& environment,
                      Consent consent);

} // namespace ew::cli
