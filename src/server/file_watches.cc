#include "server/file_watches.h"

#include "os/io.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ew::server {

Result<int> FileWatches::inotify() {
    if (inotify_) return inotify_.get();
    UniqueFd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!fd)
        return Error{ErrorKind::limit, fmt::format("inotify: {}", ::strerror(errno)),
                     "end other programs that watch files, or raise fs.inotify.max_user_instances"};
    (void)poller_.watch(fd.get(), {os::Source::file_watch, 0}, os::Interest::read);
    inotify_ = std::move(fd);
    return inotify_.get();
}

FileWatches::Watch* FileWatches::add(std::uint64_t serial, Watch watch) {
    const auto same = std::ranges::find_if(
        watches_, [&watch](const auto& entry) { return entry.second.id == watch.id; });
    if (same != watches_.end()) watches_.erase(same);
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

void FileWatches::wait_at(Watch& watch, std::vector<std::int32_t> places, TimePoint now) {
    places_.insert(places.begin(), places.end());
    watch.places = std::move(places);
    watch.is_looking = false;
    if (std::exchange(watch.has_news, false)) watch.look_at = now + pause;
    forget_places();
}

// As long as a file process looks, nobody knows which places it is about to name.
void FileWatches::forget_places() {
    const bool is_looking =
        std::ranges::any_of(watches_, [](const auto& entry) { return entry.second.is_looking; });
    if (is_looking) return;
    std::set<std::int32_t> wanted;
    for (const auto& [serial, watch] : watches_)
        wanted.insert(watch.places.begin(), watch.places.end());
    for (const std::int32_t place : places_)
        if (!wanted.contains(place)) (void)::inotify_rm_watch(inotify_.get(), place); // or gone
    places_ = std::move(wanted);
}

void FileWatches::note_news(Watch& watch, TimePoint now) {
    if (watch.is_looking)
        watch.has_news = true;
    else if (!watch.look_at)
        watch.look_at = now;
}

void FileWatches::on_events(TimePoint now) {
    alignas(inotify_event) std::array<char, 16 << 10> block;
    const os::IoResult result = os::read_some(inotify_.get(), block.data(), block.size());
    if (result.state != os::IoState::progress) return;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= result.count;) {
        inotify_event event = {};
        std::memcpy(&event, block.data() + at, sizeof event);
        at += sizeof event + event.len;
        for (auto& [serial, watch] : watches_) {
            // A look that is under way has not told yet where it watches.
            const bool concerns = watch.is_looking || (event.mask & IN_Q_OVERFLOW) != 0 ||
                                  std::ranges::find(watch.places, event.wd) != watch.places.end();
            if (concerns) note_news(watch, now);
        }
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
