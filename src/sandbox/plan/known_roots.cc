#include "sandbox/plan/known_roots.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace ew::sandbox {

bool KnownRoots::agree(const std::string& name, const ResolvedPath& place) {
    struct stat status = {};
    if (place.kind != ResolvedPath::Kind::directory) return true;
    if (::stat(place.path.c_str(), &status) != 0) return false;
    const os::KnownDirectory now = {name, place.path, status.st_dev, status.st_ino};
    const auto known = std::ranges::find(known_, name, &os::KnownDirectory::name);
    if (known != known_.end()) return *known == now;
    const auto added = std::ranges::find(new_, name, &os::KnownDirectory::name);
    if (added != new_.end()) return *added == now;
    if (known_.size() + new_.size() >= most_roots) return false;
    new_.push_back(now);
    return true;
}

std::string KnownRoots::changed(const std::string& name) {
    return fmt::format("'{}' is not the directory that it was when this session first named it, or "
                       "the session has named more than {} roots",
                       name, most_roots);
}

} // namespace ew::sandbox
