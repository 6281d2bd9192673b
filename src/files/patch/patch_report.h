// The changes of a patch, and the outcome of an interrupted one. A report may be longer than a
// frame: it is sent in pieces and decoded as a whole.
#pragma once

#include "patch/apply.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t longest_report = 24U << 20;     // bytes, encoded
constexpr std::size_t longest_diff = 64U << 10;       // per file
constexpr std::size_t longest_diffs = 1U << 20;       // all files of a patch
constexpr std::size_t most_made_directories = 10'000; // created for the files to add

enum class PatchedKind : std::uint8_t { add, update, remove, move };

// Returns the letter used in lists of changed files: A, M, D, R.
char letter_of(PatchedKind kind);

// All paths are canonical: absolute and without symlinks.
struct PatchedFile {
    PatchedKind kind = PatchedKind::update;
    std::string path = {};              // the changed file; for a move, the old path
    std::string destination = {};       // the new path of a move; else empty
    std::string shown = {};             // `path` as written in the patch
    std::string shown_destination = {}; // `destination` as written in the patch
    // SHA-256 of all bytes; empty if there is no file. An added file and the destination of a move
    // may replace an existing file: for a move see `replaced_digest`.
    std::string old_digest = {};
    std::string new_digest = {};
    std::string replaced_digest = {}; // the file that a move replaces at its destination
    std::vector<patch::ChunkMatch> matches = {};
    std::string diff = {}; // for a person (patch/diff.h); it says if it was cut
    std::uint64_t added = 0;
    std::uint64_t removed = 0; // lines
    bool is_writable = true;   // the file can be changed here: see patch_access.h

    bool operator==(const PatchedFile& other) const;
};

struct PatchReport {
    std::vector<PatchedFile> files = {};
    std::vector<std::string> directories = {}; // directories to create, each after its parent
    // SHA-256 of all members above that identify the change. Two digests are equal if and only if
    // the same files change from the same bytes to the same bytes.
    std::string digest = {};

    bool operator==(const PatchReport&) const = default;
};

std::string digest_of(const PatchReport& report);

std::string encode(const PatchReport& report);
std::optional<PatchReport> decode_report(std::string_view text);

enum class Recovery : std::uint8_t {
    undone,    // now as before the patch
    finished,  // now as after the patch
    left_alone // another process has changed it since; it stays unchanged
};

struct RecoveredFile {
    std::string path = {}; // canonical
    Recovery outcome = Recovery::undone;
    std::string kept = {}; // left_alone: the path that holds the old file; may be empty

    bool operator==(const RecoveredFile&) const = default;
};

struct RecoveryReport {
    std::vector<RecoveredFile> files = {};

    bool operator==(const RecoveryReport&) const = default;
};

} // namespace ew::files
