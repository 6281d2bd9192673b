// Commands that are calls of apply_patch, which models write as they would in a shell.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::patch {

struct PatchCall {
    std::string patch;
    std::string directory = {}; // of `cd DIRECTORY &&`: what the paths are relative to; empty: none
};

// A patch if the command is one of these, and as a whole:
//
//     apply_patch PATCH
//     sh -c 'apply_patch <<EOF …'                 any common shell, -c or -lc
//     sh -c 'cd DIRECTORY && apply_patch <<EOF …'
//
// `applypatch` is the same. The word behind `<<` may have quotes. The body is taken as it is, even
// where a shell would expand it for want of quotes: the patch says what was meant, and nothing in
// it is ever run. DIRECTORY is one word or one quoted string in which a shell expands nothing.
//
// Anything else is no patch. Errors: invalid_params (the command or the script is the patch
// itself).
Result<std::optional<PatchCall>> recognise(const std::vector<std::string>& argv);

} // namespace ew::patch
