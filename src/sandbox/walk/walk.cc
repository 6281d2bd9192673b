#include "sandbox/walk/walk.h"

#include "core/text/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ew::sandbox {

namespace {

// On these file systems the number of links to a directory says how many directories are in it
// (statfs(2) lists the numbers). Most directories have none, so most need not be opened.
bool counts_directories(int fd) {
    constexpr std::array<decltype(statfs::f_type), 3> types = {0xef53, 0x58465342, 0x01021994};
    struct statfs status = {};
    return ::fstatfs(fd, &status) == 0 &&
           std::ranges::find(types, status.f_type) != types.end(); // ext4, xfs, tmpfs
}

} // namespace

Walk::Walk(const WalkOrder& order, std::size_t most)
    : tracks_(order), gathered_(tracks_, order.patterns.size()), most_(most) {
    for (const std::string& start : tracks_.starts()) {
        const Tracks::Track track = tracks_.at_start(start);
        if (track != Tracks::no_track) queue_.push_back({start, track});
    }
}

bool Walk::may_visit() {
    if (visited_ >= most_ || gathered_.matches() > most_kept_matches) return false;
    ++visited_;
    return true;
}

bool Walk::go_on(TimePoint until) {
    constexpr std::size_t between_looks = 64; // directories, between looks at the clock
    for (std::size_t count = 1; !queue_.empty() || !last_.empty(); ++count) {
        if (count % between_looks == 0 && clock_now() >= until) return false;
        const bool is_late = queue_.empty();
        std::deque<Next>& from = is_late ? last_ : queue_;
        const Next next = std::move(from.front());
        from.pop_front();
        if (may_visit())
            visit(next, is_late);
        else
            gathered_.add_unsearched(next.path, next.track);
    }
    return true;
}

void Walk::visit(const Next& next, bool is_late) {
    const DirectoryNames names(next.path);
    if (!names.is_open()) return gathered_.add_unreadable(next.path, next.track, errno);
    struct stat status = {};
    if (::fstat(names.fd(), &status) != 0)
        return gathered_.add_unreadable(next.path, next.track, errno);
    if (status.st_dev != device_) has_counts_ = counts_directories(names.fd());
    device_ = status.st_dev;
    go_below(names, next, is_late);
}

void Walk::go_below(const DirectoryNames& names, const Next& next, bool is_late) {
    DirectoryScan scan = scan_directory(names, next.path, next.track, tracks_);
    if (scan.error != 0) gathered_.add_unreadable(next.path, next.track, scan.error);
    if (scan.is_work_tree) gathered_.add_work_tree(next.path);
    for (const auto& [pattern, name] : scan.matches)
        gathered_.add_match(pattern, core::joined(next.path, name));
    for (const auto& [name, track] : scan.below) {
        std::string path = core::joined(next.path, name);
        if (tracks_.is_start(path)) continue; // it has been begun with
        if (has_counts_ && take_leaf(names, path, name, track)) continue;
        std::deque<Next>& to = is_late || is_filled_by_tools(name) ? last_ : queue_;
        to.push_back({std::move(path), track});
    }
}

// Returns false if the directory has to be read: for its names, or for directories in it. The link
// counts of another file system that is mounted there may mean nothing.
bool Walk::take_leaf(const DirectoryNames& names, const std::string& path, std::string_view name,
                     Tracks::Track track) {
    struct stat status = {};
    if (tracks_.seeks_matches(track)) return false;
    if (::fstatat(names.fd(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    constexpr mode_t readable = S_IRUSR | S_IRGRP | S_IROTH;
    if (status.st_dev != device_ || status.st_nlink != 2) return false;
    if ((status.st_mode & readable) != readable) return false;
    const std::string git = std::string(name) + "/.git";
    if (!may_visit())
        gathered_.add_unsearched(path, track);
    else if (::fstatat(names.fd(), git.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        gathered_.add_work_tree(path);
    else
        gathered_.add_unreadable(path, track, errno);
    return true;
}

WalkFindings Walk::findings() const {
    const bool is_late = !queue_.empty() || !last_.empty();
    Gathered all = gathered_;
    for (const std::deque<Next>* const from : {&queue_, &last_})
        for (const Next& next : *from)
            all.add_unsearched(next.path, next.track);
    WalkFindings found = all.take();
    found.is_late = is_late;
    return found;
}

} // namespace ew::sandbox
