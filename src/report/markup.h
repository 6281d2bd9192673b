// Text of an HTML page. This is the one place where text of others gets into it: whatever does not
// stand in the source of this program is escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::report {

// Markup that stands in the source of this program.
class Literal {
public:
    template <std::size_t size>
    consteval Literal(const char (&text)[size]) : text_(text, size - 1) {} // NOLINT: is implicit

    constexpr std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

// Returns the text on one line, safe as the content of an element and in a quoted attribute. A text
// with anything invisible is written as core::visible() does.
std::string escaped(std::string_view text);

class Markup {
public:
    Markup& operator<<(Literal markup) {
        page_ += markup.text();
        return *this;
    }

    // Appends foreign text on one line, cut after `most` bytes, with the number of bytes left out.
    Markup& text(std::string_view foreign, std::size_t most = std::string_view::npos);

    // The same, with its line ends and tabs.
    Markup& lines(std::string_view foreign, std::size_t most);

    Markup& number(long long number);
    Markup& decimal(double number); // with two digits behind the point

    // Appends what another Markup has.
    Markup& part(const Markup& other) {
        page_ += other.page_;
        return *this;
    }

    std::size_t size() const { return page_.size(); }

    const std::string& page() const { return page_; }

private:
    void left_out(std::size_t bytes);

    std::string page_;
};

} // namespace ew::report
