// A patch in the format of Codex's apply_patch tool: files to add, to delete and to update. An
// update consists of chunks of lines, which are looked for in the file and not counted.
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
    std::string text; // without its end
};

// Lines that stand together in the file, and what is to stand there.
struct Chunk {
    std::size_t line = 0;                   // of the patch, where it begins
    std::vector<std::string> contexts = {}; // of `@@ …`: single lines before it, in this order
    std::vector<Line> lines = {};
    bool is_at_end = false; // `*** End of File`
};

struct Addition {
    std::string contents;
};

struct Deletion {};

struct Update {
    std::string destination = {};   // of `*** Move to: …`; empty: it stays where it is
    std::vector<Chunk> chunks = {}; // may be empty if it moves
};

struct FileChange {
    std::size_t line = 0; // of the patch
    std::string path = {};
    std::variant<Addition, Deletion, Update> change = {};
};

struct Patch {
    std::vector<FileChange> changes;
};

} // namespace ew::patch
