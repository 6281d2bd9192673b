// Watches of missing paths, for clients that want to know when one appears. A file process looks
// for the paths and registers with inotify(7) the places where they would appear first. The server
// only reads the events; after each of them, a file process looks again.
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
    static constexpr std::size_t most_bytes = 256 << 10; // of the paths of a watch
    static constexpr std::size_t most_seen = 1024; // events during a look; more make it look again
    // How long a watch pauses between two looks, so that a busy directory does not keep file
    // processes busy. Each look into a sandbox starts a process.
    static constexpr Millis pause{100};
    static constexpr Millis pause_of_sandbox{1000};

    struct Watch {
        std::uint64_t id = 0; // from the client
        std::vector<std::string> paths = {};
        std::optional<SandboxOrder> sandbox = {};
        std::vector<files::WatchedPlace> places = {};
        bool is_looking = true;                     // a file process looks, or will soon
        std::vector<files::WatchedPlace> seen = {}; // events during the look
        bool has_news = false;                      // these events are a reason to look again
        std::optional<TimePoint> look_at = {};
        TimePoint not_before = {};
    };

    explicit FileWatches(os::Poller& poller) : poller_(poller) {}

    // Returns the borrowed descriptor for file processes. Errors: the limit
    // fs.inotify.max_user_instances is reached.
    Result<int> inotify();

    // Removes the watch with this id of the client, if there is one.
    void remove_called(std::uint64_t id);

    // Adds a watch, and replaces one with the same id. Returns null if there are `most` already.
    Watch* add(std::uint64_t serial, Watch watch);

    // Returns null if the watch was replaced or removed.
    Watch* find(std::uint64_t serial);
    void remove(std::uint64_t serial);

    // The look found none of the paths: the watch waits for events at these places.
    void wait_at(Watch& watch, std::vector<files::WatchedPlace> places, TimePoint now);

    // Removes places that a look named after its watch was gone, or after it had found a path.
    void drop(const std::vector<files::WatchedPlace>& places);

    // Reads the events of inotify.
    void on_events(TimePoint now);

    // Returns the serial numbers of watches that must look again now, and counts them as looking.
    std::vector<std::uint64_t> take_due(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    static void note(Watch& watch, files::WatchedPlace event, TimePoint now);
    void forget_places();

    os::Poller& poller_;
    UniqueFd inotify_;
    std::map<std::uint64_t, Watch> watches_; // by serial number
    std::set<std::int32_t> places_;          // watch descriptors registered with inotify
};

} // namespace ew::server
