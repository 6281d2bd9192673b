#include "server/approval/writable_places.h"

#include "core/text/paths.h"
#include "os/programs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::server {

namespace {

bool is_inside(std::string_view path, const std::vector<std::string>& places) {
    return std::ranges::any_of(
        places, [&](const std::string& place) { return core::is_at_or_below(path, place); });
}

} // namespace

void WritablePlaces::add(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        if (is_inside(path, paths_)) continue;
        if (paths_.size() == most)
            paths_ = {"/"};
        else
            paths_.push_back(path);
    }
}

std::function<bool(std::string_view)> stays_inside(std::vector<std::string> roots) {
    return [roots = std::move(roots)](std::string_view path) {
        const std::optional<std::string> real = os::shared_real_path(std::string(path));
        return real && is_inside(*real, roots);
    };
}

} // namespace ew::server
