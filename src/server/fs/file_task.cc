#include "server/fs/file_task.h"

#include "core/text/paths.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ew::server {

namespace {

bool overlap(std::string_view left, std::string_view right) {
    if (left.empty() || right.empty()) return false;
    return core::is_at_or_below(left, right) || core::is_at_or_below(right, left);
}

} // namespace

bool is_writing(const FileTask& task) {
    switch (task.request.verb) {
    case files::Verb::write_file:
    case files::Verb::create_directory:
    case files::Verb::remove:
    case files::Verb::copy:
    case files::Verb::open_replace:
    case files::Verb::commit:
    case files::Verb::patch_apply: return true;
    case files::Verb::read_file:
    case files::Verb::metadata:
    case files::Verb::canonicalize:
    case files::Verb::read_directory:
    case files::Verb::walk:
    case files::Verb::open:
    case files::Verb::read_block:
    case files::Verb::write_block:
    case files::Verb::watch_missing:
    case files::Verb::patch_check: break;
    }
    return false;
}

bool must_wait(const FileTask& later, const FileTask& earlier) {
    if (later.handle && earlier.handle == later.handle) return true;
    if (!is_writing(later) && !is_writing(earlier)) return false;
    const auto paths = [](const FileTask& task) {
        return std::array<std::string_view, 2>{task.request.path, task.request.other_path};
    };
    const std::array<std::string_view, 2> ours = paths(later);
    const std::array<std::string_view, 2> theirs = paths(earlier);
    return std::ranges::any_of(ours, [&theirs](std::string_view path) {
        return std::ranges::any_of(theirs,
                                   [path](std::string_view other) { return overlap(path, other); });
    });
}

} // namespace ew::server
