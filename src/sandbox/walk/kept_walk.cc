#include "sandbox/walk/kept_walk.h"

#include "core/text/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <functional>
#include <map>

namespace ew::sandbox {

namespace {

constexpr std::uint32_t name_changes = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t end_of_watch = IN_IGNORED | IN_UNMOUNT;

// Is this error one of the directory and its path, of which a later change is an event?
bool is_lasting(int error) {
    constexpr std::array<int, 5> errors = {EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG};
    return std::ranges::find(errors, error) != errors.end();
}

// The names of a crowded directory are read in no order, so a further walk may find others.
bool is_crowded(const std::vector<std::pair<std::uint32_t, std::string>>& matches) {
    if (matches.size() <= most_matches) return false;
    std::map<std::uint32_t, std::size_t> counts;
    return std::ranges::any_of(
        matches, [&counts](const auto& match) { return ++counts[match.first] > most_matches; });
}

} // namespace

KeptWalk::KeptWalk(WalkOrder order, std::size_t most)
    : order_(std::move(order)), most_(most), tracks_(order_) {
    if (!watches_.are_open()) stop(State::unfit);
    for (const std::string& path : tracks_.starts()) {
        const Tracks::Track track = tracks_.at_start(path);
        if (track == Tracks::no_track) continue;
        UniqueFd place(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!place) stop(State::unfit);
        starts_.push_back({path, std::move(place), make(starts_.size(), nullptr, {}, track)});
    }
}

std::unique_ptr<KeptWalk::Directory> KeptWalk::make(std::size_t start, Directory* above,
                                                    std::string name, Tracks::Track track) {
    std::unique_ptr<Directory> directory(new Directory{start, above, std::move(name), track});
    unread_.insert(directory.get());
    if (++directories_ > most_) stop(State::unfit);
    return directory;
}

// Nothing tells that a directory above a start was exchanged, or closed.
bool KeptWalk::Start::is_still_there() const {
    const DirectoryNames names(path);
    struct stat now = {};
    struct stat held = {};
    return names.is_open() && ::fstat(names.fd(), &now) == 0 && ::fstat(place.get(), &held) == 0 &&
           now.st_dev == held.st_dev && now.st_ino == held.st_ino;
}

// Returns the path from the start.
std::string KeptWalk::way_to(const Directory& directory) {
    if (directory.above == nullptr) return ".";
    if (directory.above->above == nullptr) return directory.name;
    return core::joined(way_to(*directory.above), directory.name);
}

std::string KeptWalk::path_of(const Directory& directory) const {
    const std::string& start = starts_[directory.start].path;
    return directory.above == nullptr ? start : core::joined(start, way_to(directory));
}

// Other walks of this process change the working directory too.
bool KeptWalk::enter_start_of(const Directory& directory) {
    if (entered_ == directory.start) return true;
    if (::fchdir(starts_[directory.start].place.get()) != 0) return false;
    entered_ = directory.start;
    return true;
}

bool KeptWalk::is_below(const Directory& directory, const Directory& above) {
    for (const Directory* here = directory.above; here != nullptr; here = here->above)
        if (here == &above) return true;
    return false;
}

KeptWalk::Directory* KeptWalk::find_below(const Directory& directory, std::string_view name) {
    const auto found = std::ranges::lower_bound(
        directory.below, name, {}, [](const auto& each) -> std::string_view { return each->name; });
    return found != directory.below.end() && (*found)->name == name ? found->get() : nullptr;
}

// Further steps would change nothing: the first reason counts.
KeptWalk::State KeptWalk::stop(State state) {
    if (state_ != State::lost && state_ != State::unfit) state_ = state;
    return state_;
}

KeptWalk::State KeptWalk::take_changes() {
    const auto take_one = [this](const Change& change) { take(change); };
    if (!watches_.each(take_one)) return stop(State::lost);
    return stop(unread_.empty() ? State::complete : State::behind);
}

KeptWalk::State KeptWalk::update(TimePoint until) {
    constexpr std::size_t between_looks = 64; // directories, between looks at clock and events
    take_changes();
    entered_.reset();
    for (std::size_t count = 1; state_ == State::behind && !unread_.empty(); ++count) {
        Directory& next = **unread_.begin();
        unread_.erase(unread_.begin());
        read(next);
        if (count % between_looks != 0) continue;
        take_changes();
        if (clock_now() >= until) break;
    }
    if (!unread_.empty()) return stop(State::behind);
    const bool are_there = std::ranges::all_of(starts_, &Start::is_still_there);
    return stop(are_there ? State::complete : State::lost);
}

void KeptWalk::take(const Change& change) {
    const auto found = watched_.find(change.watch);
    if (found == watched_.end()) return;
    Directory& directory = *found->second;
    const bool is_start = directory.above == nullptr;
    if (is_start && (change.kinds & (end_of_watch | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
        stop(State::lost);
    } else if ((change.kinds & end_of_watch) != 0) {
        Directory& above = *directory.above;
        drop(above, std::string(directory.name));
        unread_.insert(&above);
    } else if ((change.kinds & IN_ATTRIB) != 0) {
        take_attributes(directory, change);
    } else if ((change.kinds & name_changes) != 0) {
        // Another directory may have the name by now, even if this one is gone: two that are
        // exchanged (rename(2)) are four events.
        if (change.is_of_directory()) drop(directory, change.name);
        if (change.is_of_directory() || concerns(directory, change.name))
            unread_.insert(&directory);
    }
}

// A directory that cannot be read has no watch of its own: the one above it tells of its mode. If a
// directory has let nobody through for a while, what is below it may have looked closed.
void KeptWalk::take_attributes(Directory& directory, const Change& change) {
    if (change.name.empty()) {
        unread_.insert(&directory);
        for (Directory* const each : closed_)
            if (is_below(*each, directory)) unread_.insert(each);
    } else if (change.is_of_directory()) {
        Directory* const inner = find_below(directory, change.name);
        if (inner != nullptr && inner->watch < 0) unread_.insert(inner);
    }
}

bool KeptWalk::concerns(const Directory& directory, std::string_view name) const {
    if (tracks_.seeks_repositories(directory.track) && name == ".git") return true;
    bool is_match = false;
    tracks_.matching(directory.track, name, [&is_match](std::uint32_t) { is_match = true; });
    return is_match;
}

void KeptWalk::read(Directory& directory) {
    const std::string path = path_of(directory);
    if (path.size() >= PATH_MAX) return close(directory, ENAMETOOLONG); // as for a new walk
    if (!enter_start_of(directory)) return (void)stop(State::unfit);
    const std::string way = way_to(directory);
    const int watch = watches_.add(way);
    const bool is_watched = watch >= 0;
    if (!is_watched && !is_lasting(errno)) return (void)stop(State::unfit);
    if (is_watched && !is_known(directory, watch)) return (void)stop(State::lost);
    const DirectoryNames names(way);
    if (!names.is_open()) return close(directory, errno);
    if (!is_watched || !tells_all(names.fd())) return (void)stop(State::unfit);
    keep(directory, scan_directory(names, path, directory.track, tracks_));
}

// Returns false if the directory is known by another path: it has been moved since the last event,
// or is mounted twice.
bool KeptWalk::is_known(Directory& directory, int watch) {
    if (directory.watch == watch) return true;
    if (directory.watch >= 0) forget(directory); // another one has the path now
    directory.watch = watch;
    return watched_.emplace(watch, &directory).second;
}

// An encrypted directory shows other names when its key is added, and no event tells it.
bool KeptWalk::tells_all(int directory) {
    struct statx status = {};
    if (::statx(directory, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0) return false;
    if ((status.stx_attributes & STATX_ATTR_ENCRYPTED) != 0) return false;
    const dev_t device = makedev(status.stx_dev_major, status.stx_dev_minor);
    if (devices_.contains(device)) return true;
    if (!tells_all_changes(directory)) return false;
    devices_.insert(device);
    return true;
}

void KeptWalk::close(Directory& directory, int error) {
    if (!is_lasting(error) || directory.above == nullptr) return (void)stop(State::unfit);
    forget(directory);
    directory.error = error;
    note(directory);
}

void KeptWalk::keep(Directory& directory, DirectoryScan scan) {
    const bool is_whole = scan.error == 0 || scan.error == EACCES;
    if (!is_whole || is_crowded(scan.matches)) return (void)stop(State::unfit);
    // Whether what is below can be reached may have changed.
    if (directory.is_searchable != scan.is_searchable) drop_below(directory);
    directory.is_searchable = scan.is_searchable;
    directory.is_work_tree = scan.is_work_tree;
    directory.error = scan.error;
    matches_ += scan.matches.size() - directory.matches.size();
    if (matches_ > most_kept_matches) stop(State::unfit);
    directory.matches = std::move(scan.matches);
    keep_below(directory, scan);
    note(directory);
}

// Keeps what is known of the directories that are still there.
void KeptWalk::keep_below(Directory& directory, DirectoryScan& scan) {
    const std::string path = path_of(directory);
    const auto name_in = [](const auto& each) -> const std::string& { return each.first; };
    std::ranges::sort(scan.below, {}, name_in);
    std::vector<std::unique_ptr<Directory>> before = std::exchange(directory.below, {});
    auto old = before.begin();
    const auto drop_until = [&](const std::string* name) {
        for (; old != before.end() && (name == nullptr || (*old)->name < *name); ++old) {
            forget(**old);
            --directories_;
        }
    };
    for (auto& [name, track] : scan.below) {
        if (tracks_.is_start(core::joined(path, name))) continue;
        drop_until(&name);
        const bool is_there = old != before.end() && (*old)->name == name;
        directory.below.push_back(is_there
                                      ? std::move(*old++)
                                      : make(directory.start, &directory, std::move(name), track));
    }
    drop_until(nullptr);
}

void KeptWalk::note(Directory& directory) {
    const bool has_found = directory.is_work_tree || !directory.matches.empty();
    const auto set = [&directory](std::unordered_set<Directory*>& all, bool is_in) {
        if (is_in)
            all.insert(&directory);
        else
            all.erase(&directory);
    };
    set(told_, has_found);
    set(closed_, directory.error != 0);
}

// Forgets what has been found in the directory, and all below it.
void KeptWalk::forget(Directory& directory) {
    drop_below(directory);
    if (directory.watch >= 0) {
        watches_.remove(directory.watch);
        watched_.erase(directory.watch);
    }
    directory.watch = -1;
    directory.error = 0;
    directory.is_work_tree = directory.is_searchable = false;
    matches_ -= directory.matches.size();
    directory.matches.clear();
    note(directory);
    unread_.erase(&directory);
}

void KeptWalk::drop_below(Directory& directory) {
    for (const std::unique_ptr<Directory>& each : directory.below) {
        forget(*each);
        --directories_;
    }
    directory.below.clear();
}

void KeptWalk::drop(Directory& above, std::string_view name) {
    Directory* const directory = find_below(above, name);
    if (directory == nullptr) return;
    forget(*directory);
    --directories_;
    std::erase_if(above.below, [directory](const auto& each) { return each.get() == directory; });
}

WalkFindings KeptWalk::findings() const {
    Gathered all(tracks_, order_.patterns.size());
    for (const Directory* const each : closed_)
        all.add_unreadable(path_of(*each), each->track, each->error);
    for (const Directory* const each : told_) {
        const std::string path = path_of(*each);
        if (each->is_work_tree) all.add_work_tree(path);
        for (const auto& [pattern, name] : each->matches)
            all.add_match(pattern, core::joined(path, name));
    }
    return all.take();
}

} // namespace ew::sandbox
