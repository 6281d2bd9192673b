// Adds rules to a text that a person edits too, and removes them. Pure. The result is parsed again
// and compared, so that nothing else can have changed.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::config {

// A rule that a person approved.
struct Approval {
    std::vector<std::string> prefix; // words, not patterns
    std::string reason = {};         // may be empty
    std::int64_t unix_ms = 0;        // time of the approval
};

// Appends an allow rule. Returns nullopt if an equal rule exists. Errors: a mistake in the text; a
// prefix that is empty, has an empty or non-UTF-8 word, or cannot be approved; too many rules.
// `file` is a name for messages.
Result<std::optional<std::string>> text_with_rule(const std::string& text, std::string_view file,
                                                  const Approval& approval);

// Removes the allow rules with exactly this prefix, and the comments that text_with_rule() gave
// them. Returns nullopt if there is none. Errors: a mistake in the text; a rule that is not written
// as its own [[rule]] block.
Result<std::optional<std::string>> text_without_rule(const std::string& text, std::string_view file,
                                                     const std::vector<std::string>& prefix);

} // namespace ew::config
