// The changes that a patch makes to one file.
#pragma once

#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

enum class PatchChange : std::uint8_t { add, update, remove, move };

// How strictly the lines of a chunk were compared (patch/match.h).
enum class PatchLevel : std::uint8_t { exact, trailing_blanks, both_ends, folded, canonical };

struct PatchMatch {
    std::uint64_t line = 0; // line in the old file, from 1
    PatchLevel level = PatchLevel::exact;
};

template <class Visitor>
void fields(Visitor& visit, PatchMatch& match) {
    visit.required("line", match.line);
    visit.required("level", match.level);
}

struct PatchedFile {
    std::string path = {}; // absolute, symlinks resolved
    PatchChange change = PatchChange::update;
    std::optional<std::string> destination = {}; // the new path of a move
    std::uint64_t added_lines = 0;
    std::uint64_t removed_lines = 0;
    std::vector<PatchMatch> matches = {};
    std::string diff = {}; // safe to show
};

template <class Visitor>
void fields(Visitor& visit, PatchedFile& file) {
    visit.required("path", file.path);
    visit.required("change", file.change);
    visit.optional("destination", file.destination);
    visit.required("addedLines", file.added_lines);
    visit.required("removedLines", file.removed_lines);
    visit.required("matches", file.matches);
    visit.required("diff", file.diff);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::PatchChange> {
    static constexpr std::array<std::string_view, 4> list = {"add", "update", "delete", "move"};
};

template <>
struct Names<protocol::PatchLevel> {
    static constexpr std::array<std::string_view, 5> list = {"exact", "trailingBlanks", "bothEnds",
                                                             "folded", "canonical"};
};

} // namespace ew::json
