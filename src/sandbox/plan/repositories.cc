#include "sandbox/plan/repositories.h"

#include "base/unique_fd.h"
#include "sandbox/walk/directory_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <iterator>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t largest_read = 64 << 10; // bytes that are read of a file of git

// Looks before it opens: a program may have put a link to a device there, and some devices act when
// they are opened.
std::optional<std::string> content_of(const std::string& path) {
    const UniqueFd place = open_without_links(locate_last(path).path, O_PATH);
    struct stat status = {};
    if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    const std::string own = fmt::format("/proc/self/fd/{}", place.get());
    const UniqueFd file(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(largest_read, '\0');
    const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (count < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(count));
    return text;
}

std::string_view without_line_end(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

// Returns the canonical target that a file of one line names; a relative one starts at the
// directory of the file. Adds the links on the way.
std::optional<std::string> led_to(std::string_view target, const std::string& directory,
                                  std::vector<std::string>& links) {
    target = without_line_end(target);
    if (target.empty() || target.find('\0') != std::string_view::npos) return std::nullopt;
    const std::string path =
        target.starts_with('/') ? std::string(target) : joined(directory, target);
    ResolvedPath place = locate(path);
    if (place.kind != ResolvedPath::Kind::directory) return std::nullopt;
    for (Link& link : way_to(path).links)
        links.push_back(std::move(link.path));
    return std::move(place.path);
}

// Returns nullopt if there may be directories that we cannot see. A link to a directory counts as a
// directory.
std::optional<std::vector<std::string>> directories_in(const std::string& path) {
    std::vector<std::string> result;
    const DirectoryNames names(path);
    if (!names.is_open())
        return may_be_entered(path, errno) ? std::nullopt : std::optional(std::move(result));
    alignas(dirent64) std::array<char, 8192> buffer;
    const bool is_complete = names.each(buffer, [&](std::string_view name, unsigned char type) {
        const std::string inner = joined(path, name);
        if (names.is_directory(name, type) ||
            (type != DT_REG && locate_last(inner).kind == ResolvedPath::Kind::directory))
            result.push_back(inner);
    });
    if (!is_complete) return std::nullopt;
    std::ranges::sort(result);
    return result;
}

// Git executes hooks and obeys config, config.worktree and info. commondir redirects all of them:
// git obeys it in any git directory, so a missing one gets a placeholder that leads to the
// directory itself.
void add_pins_of(std::vector<GitPin>& to, const std::string& git_directory) {
    const auto at = [&](std::string_view name) { return joined(git_directory, name); };
    to.push_back({at("hooks"), GitPin::StandIn::directory});
    to.push_back({at("config"), GitPin::StandIn::file});
    to.push_back({at("config.worktree"), GitPin::StandIn::file});
    to.push_back({at("commondir"), GitPin::StandIn::file, ".\n"});
    to.push_back({at("info"), GitPin::StandIn::directory});
}

// HEAD alone does not decide: a command may remove it, and restore it while hooks is writable.
bool may_be_module(const std::string& path) {
    constexpr std::array<std::string_view, 4> parts = {"HEAD", "config", "hooks", "commondir"};
    return std::ranges::any_of(
        parts, [&path](std::string_view part) { return exists(joined(path, part)); });
}

// Returns where the path leads. A link on it must not change either.
std::string followed(std::vector<GitPin>& to, std::string path) {
    if (!is_link(path)) return path;
    std::string target = locate(path).path;
    to.push_back({std::move(path)});
    return target;
}

// Where there are no submodules, none can be made: git would take it for the repository of a
// submodule that has this name.
std::string modules_of(std::vector<GitPin>& to, const std::string& git_directory) {
    std::string all = joined(git_directory, "modules");
    if (!exists(all)) to.push_back({all, GitPin::StandIn::directory});
    return followed(to, std::move(all));
}

struct Level {
    std::string path; // canonical
    std::size_t depth;
};

// In place of pins on what is below the directory.
void pin_whole(std::vector<GitPin>& pins, const std::string& directory) {
    std::erase_if(pins, [&](const GitPin& pin) { return is_below(pin.path, directory); });
    pins.push_back({directory});
}

// The name of a submodule may contain slashes, and a submodule may have submodules. If there are
// too many for a pin on each, or some cannot be seen, none of them may change.
void add_modules(std::vector<GitPin>& to, const std::string& git_directory) {
    std::vector<GitPin> pins;
    const std::string all = modules_of(pins, git_directory);
    std::deque<Level> queue = {{all, 0}};
    for (std::size_t seen = 0; !queue.empty(); ++seen) {
        const Level level = std::move(queue.front());
        queue.pop_front();
        const bool is_module = level.depth > 0 && may_be_module(level.path);
        if (is_module) add_pins_of(pins, level.path);
        std::optional<std::vector<std::string>> inside =
            directories_in(is_module ? modules_of(pins, level.path) : level.path);
        if (!inside || seen > most_modules || level.depth > most_module_levels) {
            pin_whole(pins, all);
            break;
        }
        for (std::string& path : *inside)
            queue.push_back({followed(pins, std::move(path)), level.depth + 1});
    }
    std::ranges::move(pins, std::back_inserter(to));
}

// A linked worktree has submodules of its own.
void add_worktree(std::vector<GitPin>& to, const std::string& directory) {
    to.push_back({joined(directory, "commondir")});
    to.push_back({joined(directory, "gitdir")});
    to.push_back({joined(directory, "config.worktree"), GitPin::StandIn::file});
    add_modules(to, directory);
}

void add_worktrees(std::vector<GitPin>& to, const std::string& git_directory) {
    const std::string all = followed(to, joined(git_directory, "worktrees"));
    const std::optional<std::vector<std::string>> worktrees = directories_in(all);
    if (!worktrees || worktrees->size() > most_modules) {
        to.push_back({all});
        return;
    }
    for (const std::string& worktree : *worktrees)
        add_worktree(to, followed(to, worktree));
}

// A file in hooks counts too. Further down there is nothing that git executes.
bool is_open_inside(const std::string& path) {
    const auto may_write = [](const std::string& at) {
        return ::faccessat(AT_FDCWD, at.c_str(), W_OK, AT_EACCESS) == 0;
    };
    struct stat status = {};
    if (::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid()) return true;
    if (may_write(path)) return true;
    const DirectoryNames names(path);
    if (!names.is_open()) return false;
    alignas(dirent64) std::array<char, 8192> buffer;
    bool is_open = false;
    names.each(buffer, [&](std::string_view name, unsigned char) {
        is_open = is_open || may_write(joined(path, name));
    });
    return is_open;
}

} // namespace

bool is_git_directory(const std::string& path) {
    struct stat status = {};
    if (::lstat(joined(path, "HEAD").c_str(), &status) != 0) return false;
    return exists(joined(path, "objects")) || exists(joined(path, "commondir"));
}

Linked linked_from(const std::string& git_directory) {
    Linked linked{git_directory, git_directory};
    const std::optional<std::string> common = content_of(joined(git_directory, "commondir"));
    if (!common) return linked;
    linked.common_directory = led_to(*common, git_directory, linked.links).value_or(git_directory);
    return linked;
}

std::vector<GitPin> git_pins(const std::string& git_directory) {
    std::vector<GitPin> result;
    if (linked_from(git_directory).common_directory != git_directory) {
        // Git ignores these while commondir leads elsewhere.
        for (const std::string_view name : {"hooks", "config", "info"})
            result.push_back({joined(git_directory, name)});
        add_worktree(result, git_directory);
    } else {
        add_pins_of(result, git_directory);
        add_modules(result, git_directory);
    }
    add_worktrees(result, git_directory);
    return result;
}

std::optional<Linked> linked_by(const std::string& git_file) {
    constexpr std::string_view key = "gitdir:";
    const std::optional<std::string> text = content_of(git_file);
    if (!text || !text->starts_with(key)) return std::nullopt;
    std::string_view target = std::string_view(*text).substr(key.size());
    while (target.starts_with(' '))
        target.remove_prefix(1);
    std::vector<std::string> links;
    const std::optional<std::string> directory = led_to(target, parent_of(git_file), links);
    if (!directory) return std::nullopt;
    Linked linked = linked_from(*directory);
    std::ranges::move(links, std::back_inserter(linked.links));
    return linked;
}

bool is_out_of_our_hands(const std::string& git) {
    struct stat status = {};
    if (::lstat(git.c_str(), &status) != 0 || status.st_uid == ::geteuid()) return false;
    if (making_of(git) != Making::impossible || !S_ISDIR(status.st_mode)) return false;
    return std::ranges::none_of(git_pins(git), [](const GitPin& pin) {
        return making_of(pin.path) != Making::impossible || is_open_inside(pin.path);
    });
}

bool is_inside_repository(const std::string& directory) {
    for (std::string above = directory; above != "/";) {
        above = parent_of(above);
        const std::string git = joined(above, ".git");
        struct stat status = {};
        if (::stat(git.c_str(), &status) != 0) continue;
        if (S_ISREG(status.st_mode) || is_git_directory(git)) return true;
    }
    return false;
}

} // namespace ew::sandbox
