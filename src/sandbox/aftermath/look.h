// One look at the places of a command (LookPlaces): what a program outside would execute or obey
// there. It reads no work tree: only the protected names at the roots, the git directories, and the
// entries that an index has for other repositories.
#pragma once

#include "sandbox/plan/look_places.h"

#include <set>
#include <string>
#include <vector>

namespace ew::sandbox {

// Something that must not stay where it is.
struct Danger {
    std::string holder = {}; // the directory in which it is moved aside
    std::string name = {};   // its path below the holder
    std::string reason = {}; // "core.fsmonitor", "a link to /etc", …

    bool operator==(const Danger&) const = default;
};

// Returns keys of what exists before a command starts: each dangerous thing with what it is now,
// and each setting or hook that is protected while the command runs, so that its content does not
// matter. Neither of them is the command's work.
std::set<std::string> seen_before(const LookPlaces& places);

// The key in seen_before() of a protected setting or hook.
std::string protected_key(const std::string& path);

// Returns the dangers that have no key in `before`. Gives the owner of a directory the rights that
// he needs to look into it, for the time of the look.
std::vector<Danger> dangers_after(const LookPlaces& places, const std::set<std::string>& before);

} // namespace ew::sandbox
