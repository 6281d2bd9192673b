// Looks for lines of a patch in a file: as they are, and then with less and less regard to what
// people and programs get wrong in copying.
#pragma once

#include "base/result.h"
#include "patch/lines.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ew::patch {

// What is disregarded, from strict to lax. Each level is tried on all of the file before the next.
enum class MatchLevel : std::uint8_t {
    exact,           // nothing but line ends
    trailing_blanks, // blanks of ASCII at the end of lines
    both_ends,       // at the beginning too
    folded,          // which of the dashes, quotation marks and blanks of Unicode it is
};

constexpr std::size_t match_levels = 4;

// The line as it is compared on a level, kept in `storage` if it is none of its parts. Only valid
// UTF-8 is folded; other bytes stay as they are.
std::string_view compared_on(MatchLevel level, std::string_view line, std::string& storage);

// All places from the cursor on, on the first level that has any.
struct Places {
    MatchLevel level = MatchLevel::exact;
    std::size_t count = 0;
    std::vector<std::size_t> first = {}; // the first few of them, in order; lines count from 0
};

constexpr std::size_t most_places = 5; // of Places::first

// Some of the lines that a patch wants, one behind the other.
struct WantedLines {
    std::size_t first = 0;
    std::size_t count = 0;
};

// Lines as numbers, which differ if the lines differ on some level. 0 is a line of the file that is
// not wanted.
struct NumberedLines {
    std::vector<std::uint32_t> file = {};
    std::vector<std::uint32_t> wanted = {};
};

// Lines of the file compared in all searches for one update: each chunk looks at all lines behind
// the one before it, on each level that it needs. A hundred chunks fit a file of a million lines.
constexpr std::size_t most_steps = 100'000'000;

// A file in which lines are looked up. It knows all that are wanted beforehand and gives each a
// number, so that comparing two lines is comparing two numbers.
class Searched {
public:
    // The texts must live as long as this.
    Searched(std::span<const TextLine> file, std::vector<std::string_view> wanted);

    // Where the lines stand together, from a line of the file on. There must be at least one.
    // Errors: limit, once all calls together are beyond most_steps.
    Result<Places> places(WantedLines lines, std::size_t from);

    // The same, with nothing looked at but the last lines of the file.
    Result<Places> place_at_end(WantedLines lines, std::size_t from);

private:
    const NumberedLines& numbered(MatchLevel level);
    Result<Places> places_on(MatchLevel on, WantedLines lines, std::size_t from);

    std::span<const TextLine> file_;
    std::vector<std::string_view> wanted_;
    std::array<std::optional<NumberedLines>, match_levels> numbered_ = {};
    std::size_t steps_ = 0;
};

// The line of the file that begins and ends most like this one, if half of it is the same.
std::optional<std::size_t> nearest_line(std::span<const TextLine> file, std::string_view wanted);

} // namespace ew::patch
