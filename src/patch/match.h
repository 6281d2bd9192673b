// Searches lines of a patch in a file: first exactly, then with more and more tolerance for typical
// copying errors of people and programs.
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

// The differences that are disregarded, from strict to lax. Each level is tried on the whole file
// before the next one.
enum class MatchLevel : std::uint8_t {
    exact,           // only line ends
    trailing_blanks, // also ASCII blanks at the end of lines
    both_ends,       // also those at the beginning
    folded,          // also the kind of Unicode dashes, quotation marks and blanks
    canonical,       // also whether an accent is a character of its own (core/text/canonical.h)
};

constexpr std::size_t match_levels = 5;

// Returns the form of the line that is compared on a level. It is a part of the line, or is stored
// in `storage`. Only valid UTF-8 is folded; other bytes stay unchanged.
std::string_view compared_on(MatchLevel level, std::string_view line, std::string& storage);

// All places from the cursor on, at the first level that has any.
struct Places {
    MatchLevel level = MatchLevel::exact;
    std::size_t count = 0;
    std::vector<std::size_t> first = {}; // the first few places, in order; lines count from 0
};

constexpr std::size_t most_places = 5; // size of Places::first

// A range of the lines that a patch searches.
struct WantedLines {
    std::size_t first = 0;
    std::size_t count = 0;
};

// Lines as numbers, which differ if the lines differ on a level. 0 is a line of the file that is
// not wanted.
struct NumberedLines {
    std::vector<std::uint32_t> file = {};
    std::vector<std::uint32_t> wanted = {};
};

// The limit of line comparisons in one update. Each chunk compares all lines behind the previous
// chunk, on each level that it needs: enough for a hundred chunks in a file of a million lines.
constexpr std::size_t most_steps = 100'000'000;

// A file in which lines are searched. It gets all wanted lines in advance and numbers them, so that
// comparing two lines means comparing two numbers.
class Searched {
public:
    // The texts must outlive this object.
    Searched(std::span<const TextLine> file, std::vector<std::string_view> wanted);

    // Returns where the lines are consecutive in the file, from line `from` on. There must be at
    // least one line. Errors: limit, if all calls together exceed most_steps.
    Result<Places> places(WantedLines lines, std::size_t from);

    // The same, but only for the last lines of the file.
    Result<Places> place_at_end(WantedLines lines, std::size_t from);

private:
    const NumberedLines& numbered(MatchLevel level);
    Result<Places> places_on(MatchLevel on, WantedLines lines, std::size_t from);

    std::span<const TextLine> file_;
    std::vector<std::string_view> wanted_;
    std::array<std::optional<NumberedLines>, match_levels> numbered_ = {};
    std::size_t steps_ = 0;
};

// Returns the line of the file with the most similar beginning and end, if at least half of it is
// the same.
std::optional<std::size_t> nearest_line(std::span<const TextLine> file, std::string_view wanted);

} // namespace ew::patch
