// A change of a protected file of git's settings: git writes "config.lock" and renames it to
// "config", which is a mount in the sandbox and cannot be replaced. If only harmless settings
// differ, the change is carried out outside, in the file itself, so that the mount stays.
#pragma once

#include "sandbox/aftermath/look_journal.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct SettingsChange {
    enum class Outcome : std::uint8_t {
        other,   // it is about another file, or cannot be carried out: the kernel decides
        made,    // the file has the new content, and the lock is removed
        refused, // `reason` names the settings
    };

    Outcome outcome = Outcome::other;
    std::string reason = {};

    bool operator==(const SettingsChange&) const = default;
};

// Could a rename between these two absolute paths be such a change? Looks at the text only.
bool may_be_settings_change(std::string_view from, std::string_view to);

// Carries out the rename to `to` if it is the file of a repository of the record. No path of the
// program's is opened: both files are found from the record. The content is read once, judged, and
// written as it was read.
SettingsChange change_settings(const LookRecord& record, const std::string& to);

std::string encode_change(const SettingsChange& change);
SettingsChange decode_change(std::string_view text);

// Returns the names of the settings that differ and may not be changed by a command, and the lines
// that are not understood. Pure.
std::vector<std::string> dangers_in_change(std::string_view before, std::string_view after);

} // namespace ew::sandbox
