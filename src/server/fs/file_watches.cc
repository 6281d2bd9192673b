#include "server/fs/file_watches.h"

#include "os/io.h"
#include "server/connection/source.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ew::server {

namespace {

constexpr std::int32_t anything = -1; // an overflow (inotify(7)) concerns every watch

bool concerns(const FileWatches::Watch& watch, const files::WatchedPlace& event) {
    if (event.watch == anything) return true;
    return std::ranges::any_of(watch.places, [&event](const files::WatchedPlace& place) {
        return place.watch == event.watch && (event.name.empty() || event.name == place.name);
    });
}

} // namespace

Result<int> FileWatches::inotify() {
    if (inotify_) return inotify_.get();
    UniqueFd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!fd)
        return Error{ErrorKind::limit, fmt::format("inotify: {}", ::strerror(errno)),
                     "end other programs that watch files, or raise fs.inotify.max_user_instances"};
    (void)poller_.watch(fd.get(), token_of(Source::file_watch), os::Interest::read);
    inotify_ = std::move(fd);
    return inotify_.get();
}

void FileWatches::remove_called(std::uint64_t id) {
    std::erase_if(watches_, [id](const auto& entry) { return entry.second.id == id; });
    forget_places();
}

FileWatches::Watch* FileWatches::add(std::uint64_t serial, Watch watch) {
    remove_called(watch.id);
    if (watches_.size() >= most) return nullptr;
    return &watches_.emplace(serial, std::move(watch)).first->second;
}

FileWatches::Watch* FileWatches::find(std::uint64_t serial) {
    const auto found = watches_.find(serial);
    return found == watches_.end() ? nullptr : &found->second;
}

void FileWatches::remove(std::uint64_t serial) {
    watches_.erase(serial);
    forget_places();
}

void FileWatches::wait_at(Watch& watch, std::vector<files::WatchedPlace> places, TimePoint now) {
    for (const files::WatchedPlace& place : places)
        places_.insert(place.watch);
    watch.places = std::move(places);
    watch.is_looking = false;
    watch.not_before = now + (watch.sandbox ? pause_of_sandbox : pause);
    const bool has_news =
        watch.has_news || std::ranges::any_of(watch.seen, [&watch](const auto& event) {
            return concerns(watch, event);
        });
    watch.has_news = false;
    watch.seen.clear();
    if (has_news) watch.look_at = watch.not_before;
    forget_places();
}

void FileWatches::drop(const std::vector<files::WatchedPlace>& places) {
    for (const files::WatchedPlace& place : places)
        places_.insert(place.watch);
    forget_places();
}

// Removes the places that no watch needs. While a file process looks, that is unknown: it may be
// about to name them.
void FileWatches::forget_places() {
    if (watches_.empty() && inotify_) { // drops the places of called-off looks, too
        poller_.unwatch(inotify_.get());
        inotify_.reset();
        places_.clear();
        return;
    }
    const bool is_looking =
        std::ranges::any_of(watches_, [](const auto& entry) { return entry.second.is_looking; });
    if (is_looking) return;
    std::set<std::int32_t> wanted;
    for (const auto& [serial, watch] : watches_)
        for (const files::WatchedPlace& place : watch.places)
            wanted.insert(place.watch);
    for (const std::int32_t place : places_)
        if (!wanted.contains(place)) (void)::inotify_rm_watch(inotify_.get(), place); // may be gone
    places_ = std::move(wanted);
}

// While a look is under way, its places are not known yet, so all events are kept for it.
void FileWatches::note(Watch& watch, files::WatchedPlace event, TimePoint now) {
    if (!watch.is_looking) {
        if (concerns(watch, event) && !watch.look_at)
            watch.look_at = std::max(now, watch.not_before);
    } else if (event.watch == anything || watch.seen.size() == most_seen) {
        watch.has_news = true;
    } else {
        watch.seen.push_back(std::move(event));
    }
}

void FileWatches::on_events(TimePoint now) {
    alignas(inotify_event) std::array<char, 16 << 10> block;
    const os::IoResult result = os::read_some(inotify_.get(), block.data(), block.size());
    if (result.state != os::IoState::progress) return;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= result.count;) {
        inotify_event event = {};
        std::memcpy(&event, block.data() + at, sizeof event);
        const char* const name = event.len > 0 ? block.data() + at + sizeof event : "";
        at += sizeof event + event.len;
        const std::int32_t place = (event.mask & IN_Q_OVERFLOW) != 0 ? anything : event.wd;
        for (auto& [serial, watch] : watches_)
            note(watch, {place, name}, now);
    }
}

std::vector<std::uint64_t> FileWatches::take_due(TimePoint now) {
    std::vector<std::uint64_t> due;
    for (auto& [serial, watch] : watches_) {
        if (!is_due(watch.look_at, now)) continue;
        watch.look_at.reset();
        watch.is_looking = true;
        due.push_back(serial);
    }
    return due;
}

std::optional<TimePoint> FileWatches::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& [serial, watch] : watches_)
        next = earlier(next, watch.look_at);
    return next;
}

} // namespace ew::server
