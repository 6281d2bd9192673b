// What is known of a patch that is being applied, so that it can be undone or finished when
// everybody who applied it is gone. It is written before anything is changed, to a file of its own
// below STATE_DIRECTORY/patches, on which a lock is held until all is over.
#pragma once

#include "files/patch/patch_report.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t longest_journal = 24U << 20;

enum class StepKind : std::uint8_t {
    make,    // a file where there was none
    replace, // of a file by another
    remove,
};

// One name in one directory. What is beside it meanwhile is called staged_name().
struct Step {
    StepKind kind = StepKind::make;
    std::string directory = {}; // canonical
    std::string name = {};
    std::string old_digest = {}; // empty: no file
    std::string new_digest = {};
};

struct Journal {
    std::string token = {};
    std::vector<std::string> directories = {}; // that are made, each behind the one it lies in
    std::vector<Step> steps = {};
};

// 32 hexadecimal digits, by chance.
std::string new_token();
bool is_token(std::string_view text);

// Of the step with this number: the new content, and then the old one.
std::string staged_name(std::string_view token, std::size_t step);

// The old content, where two names cannot be exchanged.
std::string old_name(std::string_view token, std::size_t step);

// Files that stay as they are need no step.
Journal journal_of(const PatchReport& report, const std::string& token);

std::string encode(const Journal& journal);

// Absent: it is none, or not all of it has been written, and then nothing was changed.
std::optional<Journal> decode_journal(std::string_view text);

} // namespace ew::files
