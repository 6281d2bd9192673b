// An open directory whose entries can be read (readdir(3)).
#pragma once

#include <dirent.h>

#include <memory>
#include <string>

namespace ew::os {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Returns null and sets errno if the directory cannot be opened.
inline Directory open_directory(const std::string& path) {
    return Directory(::opendir(path.c_str()));
}

} // namespace ew::os
