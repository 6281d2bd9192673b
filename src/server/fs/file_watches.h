// Paths that are missing, and clients that want to know when one is not any more. A file process
// looks, and says to inotify(7) where something would have to happen first; here only the events
// are read. After each of them it looks again.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "files/wire.h"
#include "os/poller.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ew::server {

class FileWatches {
public:
    static constexpr std::size_t most = 256;
    static constexpr std::size_t most_bytes = 256 << 10; // of the paths of one
    static constexpr std::size_t most_seen = 1024;       // during a look; with more it looks again
    // Between two looks of one watch: a busy directory must not keep file processes busy. Each look
    // into a sandbox starts one.
    static constexpr Millis pause{100};
    static constexpr Millis pause_of_sandbox{1000};

    struct Watch {
        std::uint64_t id = 0; // the client's
        std::vector<std::string> paths = {};
        std::optional<SandboxOrder> sandbox = {};
        std::vector<files::WatchedPlace> places = {};
        bool is_looking = true;                     // a file process is, or will soon
        std::vector<files::WatchedPlace> seen = {}; // what happened meanwhile, as long as it looks
        bool has_news = false; // what happened meanwhile is reason to look again
        std::optional<TimePoint> look_at = {};
        TimePoint not_before = {};
    };

    explicit FileWatches(os::Poller& poller) : poller_(poller) {}

    // For file processes; borrowed. Errors: no more instances (fs.inotify.max_user_instances).
    Result<int> inotify();

    // That the client calls so, if there is one.
    void remove_called(std::uint64_t id);

    // One with the same id is replaced. Null: there are `most` already.
    Watch* add(std::uint64_t serial, Watch watch);

    // Null: it has been replaced, or removed.
    Watch* find(std::uint64_t serial);
    void remove(std::uint64_t serial);

    // Nothing was there, and events are expected at these places.
    void wait_at(Watch& watch, std::vector<files::WatchedPlace> places, TimePoint now);

    // They were named by a look that nobody waits for any more.
    void drop(const std::vector<files::WatchedPlace>& places);

    // Reads what inotify says.
    void on_events(TimePoint now);

    // Serials of those that have to look again now; they count as looking then.
    std::vector<std::uint64_t> take_due(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    static void note(Watch& watch, files::WatchedPlace event, TimePoint now);
    void forget_places();

    os::Poller& poller_;
    UniqueFd inotify_;
    std::map<std::uint64_t, Watch> watches_; // by serial
    std::set<std::int32_t> places_;          // watch descriptors that inotify knows
};

} // namespace ew::server
