// A patch in the format of Codex's apply_patch tool: files to add, to delete and to update. An
// update consists of chunks of lines, whose position is found by content and not by line numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ew::patch {

enum class LineKind : std::uint8_t { context, removed, added };

struct Line {
    LineKind kind = LineKind::context;
    std::string text; // without its line end
};

// Consecutive lines of the file, and the lines that replace them.
struct Chunk {
    std::size_t line = 0;                   // the line of the patch where it begins
    std::vector<std::string> contexts = {}; // from `@@ …`: single lines before it, in this order
    std::vector<Line> lines = {};
    bool is_at_end = false; // `*** End of File`
};

struct Addition {
    std::string contents;
};

struct Deletion {};

struct Update {
    std::string destination = {};   // from `*** Move to: …`; empty if the file is not moved
    std::vector<Chunk> chunks = {}; // may be empty if the file is moved
};

struct FileChange {
    std::size_t line = 0; // in the patch
    std::string path = {};
    std::variant<Addition, Deletion, Update> change = {};
};

struct Patch {
    std::vector<FileChange> changes;
};

} // namespace ew::patch
