// Changes to a JSON text that a person edits too, with the comments and the trailing commas that
// editors allow. Only what has to change does, and every other byte stays. Pure.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

struct TextMember {
    std::string name = {};
    std::string value = {}; // JSON text on one line
};

// Returns `text` with an object at this path that has these members; other members of the object
// stay, and objects on the way to it are added. Returns `text` itself if nothing has to change.
// Errors: the text is no JSON object, has a name twice on the path, or something else than an
// object there. `file` is a name for messages.
Result<std::string> with_object(const std::string& text, std::string_view file,
                                const std::vector<std::string>& path,
                                const std::vector<TextMember>& members);

} // namespace ew::json
