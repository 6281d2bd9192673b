#include "sandbox/plan/repositories.h"

#include "base/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t largest_read = 64 << 10; // bytes that are read of a file of git

std::optional<std::string> content_of(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    std::string text(largest_read, '\0');
    const ssize_t count = ::read(file.get(), text.data(), text.size());
    if (count < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(count));
    return text;
}

bool exists(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0;
}

std::string_view without_line_end(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

// Returns the canonical target that a file of one line names; a relative one starts at the
// directory of the file.
std::optional<std::string> led_to(std::string_view target, const std::string& directory) {
    target = without_line_end(target);
    if (target.empty() || target.find('\0') != std::string_view::npos) return std::nullopt;
    const std::string path =
        target.starts_with('/') ? std::string(target) : joined(directory, target);
    ResolvedPath place = locate(path);
    if (place.kind != ResolvedPath::Kind::directory) return std::nullopt;
    return std::move(place.path);
}

// Reads the names in a directory, in large pieces: this makes the search of a big tree fast enough.
class Names {
public:
    explicit Names(const std::string& directory)
        : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}

    bool is_open() const { return static_cast<bool>(fd_); }

    int fd() const { return fd_.get(); }

    // Calls `take` with each name except . and .., and its d_type.
    template <class Take>
    void each(std::span<char> buffer, Take take) const {
        while (true) {
            const long count = ::syscall(SYS_getdents64, fd_.get(), buffer.data(), buffer.size());
            if (count <= 0) return;
            for (long at = 0; at < count;) {
                const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
                at += entry->d_reclen;
                const std::string_view name = entry->d_name;
                if (name != "." && name != "..") take(name, entry->d_type);
            }
        }
    }

private:
    UniqueFd fd_;
};

bool is_directory(const Names& names, std::string_view name, unsigned char type) {
    if (type != DT_UNKNOWN) return type == DT_DIR;
    struct stat status = {};
    return ::fstatat(names.fd(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

// A directory could not be opened with that error. Could a command make it readable? chmod is
// enough for our own directories. A directory whose owner cannot be found out counts as ours.
bool is_open_to_change(const std::string& path, int error) {
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) return false;
    struct stat status = {};
    return ::lstat(path.c_str(), &status) != 0 || status.st_uid == ::geteuid();
}

// Returns nullopt if there may be directories that we cannot see.
std::optional<std::vector<std::string>> directories_in(const std::string& path) {
    std::vector<std::string> result;
    const Names names(path);
    if (!names.is_open())
        return is_open_to_change(path, errno) ? std::nullopt : std::optional(std::move(result));
    alignas(dirent64) std::array<char, 8192> buffer;
    names.each(buffer, [&](std::string_view name, unsigned char type) {
        if (is_directory(names, name, type)) result.push_back(joined(path, name));
    });
    std::ranges::sort(result);
    return result;
}

void add_if_there(std::vector<GitPin>& to, std::string path) {
    if (exists(path)) to.push_back({std::move(path)});
}

bool uses_worktree_config(const std::string& git_directory) {
    std::string text = content_of(joined(git_directory, "config")).value_or("");
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text.find("worktreeconfig") != std::string::npos;
}

// Git executes hooks and obeys config, and config.worktree where it reads it. commondir redirects
// all of them: git obeys it in any git directory, so a missing one gets a placeholder that leads to
// the directory itself.
void add_pins_of(std::vector<GitPin>& to, const std::string& git_directory, bool has_worktree) {
    const auto at = [&](std::string_view name) { return joined(git_directory, name); };
    to.push_back({at("hooks"), GitPin::StandIn::directory});
    to.push_back({at("config"), GitPin::StandIn::file});
    if (has_worktree)
        to.push_back({at("config.worktree"), GitPin::StandIn::file});
    else
        add_if_there(to, at("config.worktree"));
    to.push_back({at("commondir"), GitPin::StandIn::file, ".\n"});
    add_if_there(to, at("info"));
}

void add_worktree(std::vector<GitPin>& to, const std::string& directory, bool has_config) {
    to.push_back({joined(directory, "commondir")});
    to.push_back({joined(directory, "gitdir")});
    if (has_config) to.push_back({joined(directory, "config.worktree"), GitPin::StandIn::file});
}

// HEAD alone does not decide: a command may remove it, and restore it while hooks is writable.
bool may_be_module(const std::string& path) {
    constexpr std::array<std::string_view, 4> parts = {"HEAD", "config", "hooks", "commondir"};
    return std::ranges::any_of(
        parts, [&path](std::string_view part) { return exists(joined(path, part)); });
}

std::ptrdiff_t levels_between(std::string_view outer, std::string_view inner) {
    return std::ranges::count(inner.substr(outer.size()), '/');
}

// The name of a submodule may contain slashes, and a submodule may have submodules. If there are
// too many for a pin on each, or some cannot be seen, none of them may change.
void add_modules(std::vector<GitPin>& to, const std::string& git_directory) {
    const std::string all = joined(git_directory, "modules");
    std::vector<GitPin> pins;
    std::deque<std::string> queue = {all};
    for (std::size_t seen = 0; !queue.empty(); ++seen) {
        const std::string directory = std::move(queue.front());
        queue.pop_front();
        const bool is_module = directory != all && may_be_module(directory);
        if (is_module) add_pins_of(pins, directory, uses_worktree_config(directory));
        std::optional<std::vector<std::string>> inside =
            directories_in(is_module ? joined(directory, "modules") : directory);
        if (!inside || seen > most_modules || levels_between(all, directory) > most_module_levels) {
            to.push_back({all});
            return;
        }
        for (std::string& path : *inside)
            queue.push_back(std::move(path));
    }
    std::ranges::move(pins, std::back_inserter(to));
}

void add_worktrees(std::vector<GitPin>& to, const std::string& git_directory, bool has_config) {
    const std::string all = joined(git_directory, "worktrees");
    const std::optional<std::vector<std::string>> worktrees = directories_in(all);
    if (!worktrees || worktrees->size() > most_modules) {
        to.push_back({all});
        return;
    }
    for (const std::string& worktree : *worktrees)
        add_worktree(to, worktree, has_config);
}

// Decided by something that confined programs cannot change: commondir leads to another directory.
bool is_linked_worktree(const std::string& git_directory) {
    const std::optional<std::string> common = content_of(joined(git_directory, "commondir"));
    if (!common) return false;
    const std::optional<std::string> directory = led_to(*common, git_directory);
    return directory && *directory != git_directory;
}

} // namespace

bool is_git_directory(const std::string& path) {
    struct stat status = {};
    if (::lstat(joined(path, "HEAD").c_str(), &status) != 0) return false;
    return exists(joined(path, "objects")) || exists(joined(path, "commondir"));
}

std::vector<GitPin> git_pins(const std::string& git_directory) {
    std::vector<GitPin> result;
    const bool has_config = uses_worktree_config(git_directory);
    if (is_linked_worktree(git_directory)) {
        add_worktree(result, git_directory, true);
        return result;
    }
    add_pins_of(result, git_directory, has_config);
    add_modules(result, git_directory);
    add_worktrees(result, git_directory, has_config);
    return result;
}

std::optional<Linked> linked_by(const std::string& git_file) {
    constexpr std::string_view key = "gitdir:";
    const std::optional<std::string> text = content_of(git_file);
    if (!text || !text->starts_with(key)) return std::nullopt;
    std::string_view target = std::string_view(*text).substr(key.size());
    while (target.starts_with(' '))
        target.remove_prefix(1);
    const std::optional<std::string> directory = led_to(target, parent_of(git_file));
    if (!directory) return std::nullopt;
    Linked linked{*directory, *directory};
    const std::optional<std::string> common = content_of(joined(*directory, "commondir"));
    if (!common) return linked;
    linked.common_directory = led_to(*common, *directory).value_or(*directory);
    return linked;
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

namespace {

// Directories that tools fill with thousands of files, and that are unlikely to contain a
// repository.
bool is_filled_by_tools(std::string_view name) {
    constexpr std::array<std::string_view, 8> names = {"node_modules", "target", ".venv",  "venv",
                                                       "__pycache__",  "build",  ".cache", "dist"};
    return std::ranges::find(names, name) != names.end();
}

// On these file systems the number of links to a directory says how many directories are in it
// (statfs(2) lists the numbers). Most directories have none, so most need not be opened.
bool counts_directories(int fd) {
    constexpr std::array<decltype(statfs::f_type), 3> types = {0xef53, 0x58465342, 0x01021994};
    struct statfs status = {};
    return ::fstatfs(fd, &status) == 0 &&
           std::ranges::find(types, status.f_type) != types.end(); // ext4, xfs, tmpfs
}

class Walk {
public:
    Walk(const std::string& root, std::size_t most_visited,
         const std::function<bool(const std::string&)>& skips)
        : root_(root), left_(most_visited), skips_(skips) {}

    Repositories run() {
        queue_.push_back(root_);
        while ((!queue_.empty() || !last_.empty()) && found_.is_complete)
            visit_next();
        std::ranges::sort(found_.work_trees);
        std::ranges::sort(found_.unreadable);
        return std::move(found_);
    }

private:
    bool may_visit() {
        if (left_ == 0) found_.is_complete = false;
        return left_ > 0 && left_-- > 0;
    }

    void visit_next() {
        is_late_ = queue_.empty();
        std::deque<std::string>& from = is_late_ ? last_ : queue_;
        const std::string directory = std::move(from.front());
        from.pop_front();
        if (!may_visit()) return;
        const Names names(directory);
        if (!names.is_open()) return note_unreadable(directory, errno);
        struct stat status = {};
        if (::fstat(names.fd(), &status) != 0) return;
        if (status.st_dev != device_) has_counts_ = counts_directories(names.fd());
        device_ = status.st_dev;
        names.each(buffer_, [&](std::string_view name, unsigned char type) {
            if (name == ".git") {
                if (directory != root_) found_.work_trees.push_back(directory);
            } else if (type != DT_REG && is_directory(names, name, type)) {
                go_on(names, directory, name);
            }
        });
    }

    // Judges the nearest directory that can be reached: the directories below it could be
    // anybody's.
    void note_unreadable(std::string directory, int error) {
        if (!is_open_to_change(directory, error)) return;
        while (directory != root_ && !exists(directory))
            directory = parent_of(directory);
        if (found_.unreadable.empty() || found_.unreadable.back() != directory)
            found_.unreadable.push_back(std::move(directory));
    }

    void go_on(const Names& names, const std::string& directory, std::string_view name) {
        std::string path = joined(directory, name);
        if (skips_(path)) return;
        if (has_counts_ && has_no_directories(names, name)) {
            if (!may_visit()) return;
            struct stat status = {};
            const std::string git = std::string(name) + "/.git";
            if (::fstatat(names.fd(), git.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
                found_.work_trees.push_back(std::move(path));
            else
                note_unreadable(path, errno);
            return;
        }
        (is_late_ || is_filled_by_tools(name) ? last_ : queue_).push_back(std::move(path));
    }

    // The link counts of another file system that is mounted there may mean nothing.
    bool has_no_directories(const Names& names, std::string_view name) const {
        struct stat status = {};
        return ::fstatat(names.fd(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
                   0 &&
               status.st_dev == device_ && status.st_nlink == 2;
    }

    const std::string& root_;
    std::size_t left_;
    const std::function<bool(const std::string&)>& skips_;
    Repositories found_;
    std::deque<std::string> queue_;
    std::deque<std::string> last_; // directories to search after all others
    bool is_late_ = false;
    dev_t device_ = 0;
    bool has_counts_ = false;
    alignas(dirent64) std::array<char, 32768> buffer_;
};

} // namespace

Repositories find_repositories(const std::string& root, std::size_t most_visited,
                               const std::function<bool(const std::string&)>& skips) {
    return Walk(root, most_visited, skips).run();
}

} // namespace ew::sandbox
