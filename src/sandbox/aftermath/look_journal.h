// The journal of looks: a directory with one file for each command that runs. It says what has to
// be looked at when the command has ended, and what was there before. A server that is killed
// leaves its files unlocked, and the next start finishes these looks.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/plan/look_places.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ew::sandbox {

// A file of the journal that nobody else finishes as long as the descriptor is open.
struct HeldLook {
    std::string path = {};
    UniqueFd lock = {}; // open and locked; the content can be read through it
};

struct SetAside {
    std::string path = {};     // where the command had left it
    std::string danger = {};   // "core.fsmonitor", "a link to /etc", …
    std::string moved_to = {}; // empty: it could not be moved

    bool operator==(const SetAside&) const = default;
};

void append(std::string& to, const SetAside& thing);

// Takes one from the front of what append() has made. Returns nullopt if the rest is not a whole
// one.
std::optional<SetAside> take_set_aside(std::string_view& text);

struct LookRecord {
    LookPlaces places = {};
    std::set<std::string> before = {};    // see Look
    std::vector<SetAside> set_aside = {}; // so far: the look may end before it can tell

    bool operator==(const LookRecord&) const = default;
};

std::string encode_look(const LookRecord& record);
std::optional<LookRecord> decode_look(std::string_view text);

// The journal of looks lies beside the journal of placeholders.
std::string look_journal_beside(const std::string& placeholders);

// Makes the journal (mode 0700) and a locked file in it. Errors: the disk is full, or cannot be
// written.
Result<HeldLook> keep_look(const LookRecord& record, const std::string& journal);

// Returns nullopt if the file is not one of ours.
std::optional<LookRecord> read_look(int file);

// Adds a thing that the look has moved. Best effort.
void note_set_aside(const HeldLook& look, const SetAside& thing);

// To be called when the look is done.
void forget_look(const HeldLook& look);

// Returns the records in the journal, of commands that run or whose server was killed; at most
// most_looks.
constexpr std::size_t most_looks = 1024;
std::vector<LookRecord> known_looks(const std::string& journal);

// Takes over the looks of killed servers, at most most_looks.
std::vector<HeldLook> abandoned_looks(const std::string& journal);

} // namespace ew::sandbox
