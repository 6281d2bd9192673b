// Recognises commands that call apply_patch, which models write as shell commands.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::patch {

struct PatchCall {
    std::string patch;
    std::string directory = {}; // from `cd DIRECTORY &&`: paths are relative to it; empty if none
};

// Returns a patch if the whole command has one of these forms:
//
//     apply_patch PATCH
//     sh -c 'apply_patch <<EOF …'                 any common shell, -c or -lc
//     sh -c 'cd DIRECTORY && apply_patch <<EOF …'
//
// `applypatch` is a synonym. The word behind `<<` may be quoted. The body is taken literally, even
// where a shell would expand it because the word is not quoted: the model meant it literally, and
// nothing in it is ever executed. DIRECTORY is one word or one quoted string without expansions.
//
// Returns nullopt for any other command. Errors: invalid_params (the command or the script is the
// patch itself).
Result<std::optional<PatchCall>> recognise(const std::vector<std::string>& argv);

} // namespace ew::patch
