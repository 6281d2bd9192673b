// The one file of rules that execward itself writes: approved.toml in the user's rules.d. What a
// person wrote there, comments and order, stays as it is. Whoever reads the file sees it before or
// after a change, and a change that has succeeded is on the disk.
#pragma once

#include "base/result.h"
#include "config/approved_text.h"

#include <string>
#include <vector>

namespace ew::config {

constexpr const char* approved_file = "approved.toml";

// Appends an allow rule to user_dir/approved.toml, unless an equal one is there. Makes file and
// directories that are missing, for this user only. Errors: a prefix that must not be allowed; a
// directory or file that is not only ours, or a symbolic link; a file with a mistake in it, which
// is left alone; a full disk. May wait for another execward, at most two seconds.
Result<void> append_rule(const std::string& user_dir, const Approval& approval);

// Removes the allow rules in user_dir/approved.toml that have exactly these words as prefix, each
// with the comment that append_rule() gave it. False: there is none. Errors: as above, and a rule
// written so that it cannot be cut out of the text (rule = [{…}]).
Result<bool> remove_rule(const std::string& user_dir, const std::vector<std::string>& prefix);

} // namespace ew::config
