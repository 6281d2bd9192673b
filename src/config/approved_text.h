// Rules added to and cut out of a text that a person edits too. Pure; the result is parsed again
// and compared before it is given back, so that nothing else can have changed.
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
    std::int64_t unix_ms = 0;        // when
};

// Absent: an equal allow rule is there. Errors: there is a mistake in the text; the prefix is
// empty, has a word that is empty or no UTF-8, or is one that would allow everything; there are too
// many rules. `file` is a name for messages.
Result<std::optional<std::string>> text_with_rule(const std::string& text, std::string_view file,
                                                  const Approval& approval);

// Without the allow rules that have exactly this prefix, and the comments that text_with_rule()
// gave them. Absent: there is none. Errors: there is a mistake in the text; a rule is not written
// as a block [[rule]] of its own.
Result<std::optional<std::string>> text_without_rule(const std::string& text, std::string_view file,
                                                     const std::vector<std::string>& prefix);

} // namespace ew::config
