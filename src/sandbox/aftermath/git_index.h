// The entries of a git index (gitformat-index(5)) that lead into other repositories. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct GitIndex {
    std::vector<std::string> gitlinks = {};           // paths of submodules in the work tree
    std::vector<std::string> sparse_directories = {}; // each stands for all that is below it
    std::string shared = {}; // the hexadecimal name of the shared index; empty: none
};

// `id_size` is the size of an object id: 20 bytes, or 32 with SHA-256. Returns nullopt if the bytes
// are no index of the versions 2 to 4 with such ids.
std::optional<GitIndex> read_git_index(std::string_view bytes, std::size_t id_size);

} // namespace ew::sandbox
