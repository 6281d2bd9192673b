// Text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace ew::core {

// Appends the text so that it is no markup, as content and as the value of an attribute in quotes.
void append_as_content(std::string& out, std::string_view text);

} // namespace ew::core
