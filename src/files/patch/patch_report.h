// What a patch changes, and what became of one that was interrupted. Texts of a report may be
// longer than a frame: it is sent in pieces, and decoded as a whole.
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
constexpr std::size_t longest_diff = 64U << 10;       // of one file
constexpr std::size_t longest_diffs = 1U << 20;       // of all files of a patch
constexpr std::size_t most_made_directories = 10'000; // that files to add need

enum class PatchedKind : std::uint8_t { add, update, remove, move };

// As lists of changed files have it: A, M, D, R.
char letter_of(PatchedKind kind);

// All paths are canonical: absolute, and no component is a link.
struct PatchedFile {
    PatchedKind kind = PatchedKind::update;
    std::string path = {};              // what is changed; for a move, what is there no longer
    std::string destination = {};       // of a move; else empty
    std::string shown = {};             // `path` as the patch has it
    std::string shown_destination = {}; // the same of `destination`
    // SHA-256 of all bytes; empty: there is no file. Of an added file, and of the destination of a
    // move, there may be an old one, which is replaced: for a move see `replaced_digest`.
    std::string old_digest = {};
    std::string new_digest = {};
    std::string replaced_digest = {}; // of what a move replaces at its destination
    std::vector<patch::ChunkMatch> matches = {};
    std::string diff = {}; // for a person to read (patch/diff.h); what is cut is said in it
    std::uint64_t added = 0;
    std::uint64_t removed = 0; // lines
    bool is_writable = true;   // it could be changed here: see patch_access.h

    bool operator==(const PatchedFile& other) const;
};

struct PatchReport {
    std::vector<PatchedFile> files = {};
    std::vector<std::string> directories = {}; // that are made, each behind the one it lies in
    // SHA-256 over all of the above that says what is changed: equal if and only if the same files
    // go from the same bytes to the same bytes.
    std::string digest = {};

    bool operator==(const PatchReport&) const = default;
};

std::string digest_of(const PatchReport& report);

std::string encode(const PatchReport& report);
std::optional<PatchReport> decode_report(std::string_view text);

enum class Recovery : std::uint8_t {
    undone,    // as before the patch
    finished,  // as after the patch
    left_alone // somebody has changed it since, and it stays as it is
};

struct RecoveredFile {
    std::string path = {}; // canonical
    Recovery outcome = Recovery::undone;
    std::string kept = {}; // of left_alone: where what was there before the patch is; or empty

    bool operator==(const RecoveredFile&) const = default;
};

struct RecoveryReport {
    std::vector<RecoveredFile> files = {};

    bool operator==(const RecoveryReport&) const = default;
};

} // namespace ew::files
