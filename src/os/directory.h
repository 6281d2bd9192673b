// An open directory to be listed (readdir(3)).
#pragma once

#include <dirent.h>

#include <memory>
#include <string>

namespace ew::os {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Null, with errno: it cannot be opened.
inline Directory open_directory(const std::string& path) {
    return Directory(::opendir(path.c_str()));
}

} // namespace ew::os
