// The template of the page, as it was when this program was built: page.html, page.css, page.js.
#pragma once

#include <string_view>

namespace ew::report {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;

} // namespace ew::report
