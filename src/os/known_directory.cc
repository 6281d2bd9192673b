#include "os/known_directory.h"

#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace ew::os {

std::optional<HeldDirectory> hold_directory(const std::string& name) {
    HeldDirectory held;
    held.directory = UniqueFd(::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status = {};
    if (!held.directory || ::fstat(held.directory.get(), &status) != 0) return std::nullopt;
    std::optional<std::string> path =
        link_target(fmt::format("/proc/self/fd/{}", held.directory.get()));
    if (!path) return std::nullopt;
    held.known = {name, std::move(*path), status.st_dev, status.st_ino};
    return held;
}

} // namespace ew::os
