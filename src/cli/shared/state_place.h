// Where `execward run` and `execward doctor` keep what they find out.
#pragma once

#include "config/paths.h"

#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace ew::cli {

// The state directory, or empty if it would be in a home that does not exist: as root it could be
// made, and nobody would look for anything there.
inline std::string state_place(const config::Paths& paths) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr || !paths.state_directory.starts_with(std::string(home) + '/'))
        return paths.state_directory;
    struct stat info = {};
    return ::stat(home, &info) == 0 ? paths.state_directory : "";
}

} // namespace ew::cli
