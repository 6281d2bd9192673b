// Edits the text of Codex's environments.toml, which a person edits too. Pure functions; an edited
// text is parsed again and compared before it is returned, so that nothing else can have changed.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

// An [[environments]] table that starts a program. All texts are UTF-8.
struct CodexEnvironment {
    std::string id;
    std::string program;
    std::vector<std::string> args;
};

// Returns true for 1 to 64 letters, digits, - and _, and no name that Codex uses itself.
bool is_codex_id(std::string_view id);

// Returns a whole file with this environment as the default, and without a local one.
std::string codex_snippet(const CodexEnvironment& environment);

// Returns `text` with this environment as the default: the values of a table with this id are
// replaced, a missing table is added at the end, and every other byte stays. Returns `text` itself
// if nothing has to change. Fails if `text` is not TOML, or is written in a way that cannot be
// edited. `file` is a name for messages.
Result<std::string> with_environment(const std::string& text, std::string_view file,
                                     const CodexEnvironment& environment);

// Returns true if Codex can also run commands itself, outside of its environments. Returns false if
// the text is wrong.
bool keeps_local_environment(std::string_view text);

} // namespace ew::cli
