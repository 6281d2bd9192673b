#include "sandbox/plan/repository_search.h"

#include "sandbox/plan/directory_names.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <iterator>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

// Directories that tools fill with thousands of files, and that are unlikely to contain a
// repository.
bool is_filled_by_tools(std::string_view name) {
    constexpr std::array<std::string_view, 8> names = {"node_modules", "target", ".venv",  "venv",
                                                       "__pycache__",  "build",  ".cache", "dist"};
    return std::ranges::find(names, name) != names.end();
}

// Directories of a .git in which git keeps what is its own: no work trees, and repositories only in
// modules, which git_pins() finds.
bool is_of_git_itself(std::string_view name) {
    constexpr std::array<std::string_view, 5> names = {"objects", "refs", "logs", "modules", "lfs"};
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
        while (!queue_.empty() || !last_.empty())
            visit_next();
        std::ranges::sort(found_.work_trees);
        std::ranges::sort(found_.unreadable);
        return std::move(found_);
    }

private:
    bool may_visit() { return left_ > 0 && left_-- > 0; }

    void visit_next() {
        is_late_ = queue_.empty();
        std::deque<std::string>& from = is_late_ ? last_ : queue_;
        const std::string directory = std::move(from.front());
        from.pop_front();
        if (!may_visit()) return found_.unsearched.push_back(directory);
        const DirectoryNames names(directory);
        if (!names.is_open()) return note_unreadable(directory, errno);
        struct stat status = {};
        if (::fstat(names.fd(), &status) != 0) return note_unreadable(directory, errno);
        if (status.st_dev != device_) has_counts_ = counts_directories(names.fd());
        device_ = status.st_dev;
        const bool is_in_git = directory.ends_with("/.git");
        const bool is_read = names.each(buffer_, [&](std::string_view name, unsigned char type) {
            if (name == ".git" && directory != root_) found_.work_trees.push_back(directory);
            if (type == DT_REG || (is_in_git && is_of_git_itself(name))) return;
            if (names.is_directory(name, type)) go_on(names, directory, name);
        });
        if (!is_read) note_unreadable(directory, errno);
    }

    // Judges the nearest directory that can be reached: the directories below it could be
    // anybody's.
    void note_unreadable(std::string directory, int error) {
        if (!may_be_entered(directory, error)) return;
        while (directory != root_ && !exists(directory))
            directory = parent_of(directory);
        if (found_.unreadable.empty() || found_.unreadable.back() != directory)
            found_.unreadable.push_back(std::move(directory));
    }

    void go_on(const DirectoryNames& names, const std::string& directory, std::string_view name) {
        std::string path = joined(directory, name);
        if (skips_(path)) return;
        if (has_counts_ && has_no_directories(names, name)) {
            if (!may_visit()) return found_.unsearched.push_back(std::move(path));
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
    bool has_no_directories(const DirectoryNames& names, std::string_view name) const {
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
