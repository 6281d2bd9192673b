// Fits added lines to a file that indents otherwise than the patch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::patch {

// The blanks and tabs before the text of a line, in the patch and in the file.
struct IndentPair {
    std::string_view patch;
    std::string_view file;
};

// Returns the blanks and tabs that the line begins with.
std::string_view indent_of(std::string_view line);

// The rule that makes the file's indentation of the patch's: the same blanks more or less, tabs for
// blanks, blanks for tabs, or else only what the pairs say.
class Reindent {
public:
    // Returns nullopt if the pairs contradict each other.
    static std::optional<Reindent> of(const std::vector<IndentPair>& pairs);

    // Returns the line as the file would indent it, or nullopt if the rule says nothing about it.
    // Lines of nothing but blanks stay as they are.
    std::optional<std::string> apply(std::string_view line) const;

private:
    enum class Kind : std::uint8_t { same, more, less, tabs, blanks, as_paired };

    explicit Reindent(Kind kind, std::string_view prefix = "", std::size_t width = 0)
        : kind_(kind), prefix_(prefix), width_(width) {}

    std::optional<std::string> indent(std::string_view patch) const;
    bool holds_for(const std::vector<IndentPair>& pairs) const;

    Kind kind_;
    std::string prefix_; // that the file has more, or less
    std::size_t width_;  // blanks in place of a tab
    std::map<std::string, std::string, std::less<>> paired_ = {};
};

} // namespace ew::patch
