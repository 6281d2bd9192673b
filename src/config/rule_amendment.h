// Changes the one rules file that execward itself writes: approved.toml in the user's rules.d. A
// person's own text in it, including comments and order, stays unchanged. A reader sees the file
// before or after a change, and a successful change is on disk.
#pragma once

#include "base/result.h"
#include "config/approved_text.h"

#include <string>
#include <vector>

namespace ew::config {

constexpr const char* approved_file = "approved.toml";

// Appends an allow rule to user_dir/approved.toml, unless an equal rule exists. Creates the file
// and missing directories for this user only. Errors: a prefix that must not be allowed; a
// directory or file that others can write, or a symlink; a file with a mistake, which stays
// unchanged; a full disk. Waits up to two seconds for another execward.
Result<void> append_rule(const std::string& user_dir, const Approval& approval);

// Removes the allow rules in user_dir/approved.toml whose prefix is exactly these words, and the
// comments that append_rule() gave them. Returns false if there is none. Errors: as above, and a
// rule whose notation cannot be cut out of the text (rule = [{…}]).
Result<bool> remove_rule(const std::string& user_dir, const std::vector<std::string>& prefix);

} // namespace ew::config
