// Changes a settings file of a client so that the client uses execward: shows the change, asks,
// writes it. Everything else in the file stays.
#pragma once

#include "base/result.h"

#include <sys/types.h>

#include <functional>
#include <string>

namespace ew::cli {

enum class Consent { ask, given };

struct SettingsFile {
    std::string directory = {};
    std::string name = {};
    bool is_of_project = false; // its directory must be no link; a new file can be read by others

    // Returns the changed text, or the same one if nothing has to change. `path` is for messages.
    std::function<Result<std::string>(const std::string& text, const std::string& path)> change =
        {};
    std::function<void()> print_snippet = {}; // for the person to add by hand
    std::string comment = "#";                // how a comment begins in the snippet
};

// Where the file is, for messages.
std::string shown_path(const SettingsFile& file);

// Shows the change and, with consent, writes it. The file must belong to this user and must not be
// a symbolic link; its mode stays, and the old text is kept beside it. Returns the exit status, and
// in `text` what is in the file then.
int write_settings(const SettingsFile& file, Consent consent, std::string& text);

} // namespace ew::cli
