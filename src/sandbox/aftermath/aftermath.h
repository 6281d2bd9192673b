// What a command leaves for others to execute or obey: what is there before it starts, and what is
// new and dangerous when it has ended. The latter is moved aside, in its own directory, under a
// name that neither git nor an agent looks for.
#pragma once

#include "base/result.h"
#include "sandbox/aftermath/look_journal.h"
#include "sandbox/plan/look_places.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// One sentence for people about a thing that a sweep has found.
std::string described(const SetAside& thing);

// To be called before the command starts. Changes nothing but the journal. Errors: it cannot be
// written.
Result<HeldLook> look_first(const LookPlaces& places, const std::string& journal);

// To be called, outside, when the command has ended. Returns what is new and dangerous, after it
// has been moved, also by an earlier look of this command that was ended.
std::vector<SetAside> look_again(HeldLook look);

// Does so for the commands of servers that were killed.
std::vector<SetAside> sweep_looks(const std::string& journal);

// The text has at most so many bytes. Things that do not fit are counted.
std::string encode_set_aside(const std::vector<SetAside>& things, std::size_t most);
std::optional<std::vector<SetAside>> decode_set_aside(std::string_view text);

} // namespace ew::sandbox
