// A walk whose result is kept, and brought up to date with what inotify(7) tells.
//
// It gives what a new walk would find. Each directory is watched before it is read, so a later
// change arrives as an event; the directories that events name are read again. All is looked up
// from the directories where the walk starts, which are held open: what is exchanged above them is
// noticed at the end, and what is exchanged below them is an event. Whenever that cannot be relied
// on, the walk is of no use any more (State), and the caller has to walk anew.
//
// It changes the working directory of the process: inotify knows directories by path alone, and
// this makes paths short.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "sandbox/walk/directory_scan.h"
#include "sandbox/walk/tracks.h"
#include "sandbox/walk/walk_order.h"
#include "sandbox/walk/watches.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ew::sandbox {

class KeptWalk {
public:
    enum class State : std::uint8_t {
        complete, // all that was there when update() was called is known
        behind,   // directories are left to read
        lost,     // events were lost, or something was exchanged: a new one may do better
        unfit,    // too many directories or matches, or a file system without such events
    };

    // `most`: directories, each of which takes a watch.
    KeptWalk(WalkOrder order, std::size_t most);
    ~KeptWalk() = default;
    KeptWalk(const KeptWalk&) = delete;
    KeptWalk& operator=(const KeptWalk&) = delete;

    // Takes the events and reads directories, until that time at the latest.
    State update(TimePoint until);

    // Takes the events alone: the kernel keeps a limited number of them.
    State take_changes();

    // What a new walk would have found. The last update() must have returned `complete`.
    WalkFindings findings() const;

    const WalkOrder& order() const { return order_; }

    std::size_t directories() const { return directories_; }

    // Readable when there are events.
    int fd() const { return watches_.fd(); }

private:
    struct Directory {
        const std::size_t start;    // in starts_
        Directory* above = nullptr; // null: the walk starts here
        std::string name = {};      // empty: the walk starts here
        Tracks::Track track = Tracks::no_track;
        int watch = -1; // -1: it could not be read
        int error = 0;
        bool is_work_tree = false;
        bool is_searchable = false;
        std::vector<std::pair<std::uint32_t, std::string>> matches = {};
        std::vector<std::unique_ptr<Directory>> below = {}; // sorted by name
    };

    struct Start {
        std::string path;
        UniqueFd place; // O_PATH
        std::unique_ptr<Directory> directory;

        bool is_still_there() const;
    };

    static bool is_below(const Directory& directory, const Directory& above);
    static Directory* find_below(const Directory& directory, std::string_view name);
    static std::string way_to(const Directory& directory);
    bool enter_start_of(const Directory& directory);
    std::string path_of(const Directory& directory) const;
    std::unique_ptr<Directory> make(std::size_t start, Directory* above, std::string name,
                                    Tracks::Track track);

    State stop(State state);
    void take(const Change& change);
    void take_attributes(Directory& directory, const Change& change);
    bool concerns(const Directory& directory, std::string_view name) const;
    void read(Directory& directory);
    bool is_known(Directory& directory, int watch);
    bool tells_all(int directory);
    void close(Directory& directory, int error);
    void keep(Directory& directory, DirectoryScan scan);
    void keep_below(Directory& directory, DirectoryScan& scan);
    void note(Directory& directory);
    void forget(Directory& directory);
    void drop_below(Directory& directory);
    void drop(Directory& above, std::string_view name);

    const WalkOrder order_;
    const std::size_t most_;
    Tracks tracks_;
    Watches watches_;
    State state_ = State::behind;
    std::vector<Start> starts_;
    std::unordered_map<int, Directory*> watched_;
    std::unordered_set<Directory*> unread_;
    std::unordered_set<Directory*> told_;   // with a repository or matches
    std::unordered_set<Directory*> closed_; // with an error
    std::unordered_set<dev_t> devices_;     // of which inotify tells all changes
    std::optional<std::size_t> entered_;    // the start that is the working directory
    std::size_t directories_ = 0;
    std::size_t matches_ = 0;
};

} // namespace ew::sandbox
