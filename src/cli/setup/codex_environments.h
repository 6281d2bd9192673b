// The text of Codex's environments.toml, which a person edits too. Pure; what is changed is parsed
// again and compared before it is given back, so that nothing else can have changed.
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

// Letters, digits, - and _, at most 64 of them, and no name that Codex uses itself.
bool is_codex_id(std::string_view id);

// A whole file with this environment as the default, and no local one beside it.
std::string codex_snippet(const CodexEnvironment& environment);

// `text` with this environment as the default one: values of a table that has the id are replaced,
// a table that is missing is added at the end, and every other byte stays. Equal to `text`: nothing
// has to change. Errors: `text` is no TOML, or is written so that this cannot be done. `file` is a
// name for messages.
Result<std::string> with_environment(const std::string& text, std::string_view file,
                                     const CodexEnvironment& environment);

// Can Codex run commands itself, too, beside what the environments do? False if the text is wrong.
bool keeps_local_environment(std::string_view text);

} // namespace ew::cli
