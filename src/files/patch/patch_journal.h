// The record of a patch that is being applied. With it, the patch can be undone or finished after
// the processes that applied it have died. It is written before any change, to its own file in
// STATE_DIRECTORY/patches, and stays locked until the patch is complete.
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
    make,    // create a file where there was none
    replace, // replace a file by another
    remove,
};

// One name in one directory. staged_name() is the name used next to it meanwhile.
struct Step {
    StepKind kind = StepKind::make;
    std::string directory = {}; // canonical
    std::string name = {};
    std::string old_digest = {}; // empty if there was no file
    std::string new_digest = {};
};

struct Journal {
    std::string token = {};
    std::vector<std::string> directories = {}; // directories to create, each after its parent
    std::vector<Step> steps = {};
};

// Returns 32 random hexadecimal digits.
std::string new_token();
bool is_token(std::string_view text);

// The name that holds the new content of this step first, and the old content after the exchange.
std::string staged_name(std::string_view token, std::size_t step);

// The name that holds the old content if two names cannot be exchanged.
std::string old_name(std::string_view token, std::size_t step);

// Unchanged files need no step.
Journal journal_of(const PatchReport& report, const std::string& token);

std::string encode(const Journal& journal);

// Returns nullopt if `text` is not a complete journal. Then nothing was changed.
std::optional<Journal> decode_journal(std::string_view text);

} // namespace ew::files
