// One walk of a workspace for all that a plan wants to know of it: it reads each directory once.
#pragma once

#include "base/clock.h"
#include "sandbox/walk/directory_scan.h"
#include "sandbox/walk/tracks.h"
#include "sandbox/walk/walk_order.h"

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <string>

namespace ew::sandbox {

// Follows no link. Directories near the top come first; node_modules and the like come last.
class Walk {
public:
    // `order` must outlive the object.
    explicit Walk(const WalkOrder& order, std::size_t most = most_directories);

    // Returns false if it had to stop at that time. It can go on after that.
    bool go_on(TimePoint until);

    // Directories that are still in the queue count as not searched.
    WalkFindings findings() const;

private:
    struct Next {
        std::string path;
        Tracks::Track track = Tracks::no_track;
    };

    bool may_visit();
    void visit(const Next& next, bool is_late);
    void go_below(const DirectoryNames& names, const Next& next, bool is_late);
    bool take_leaf(const DirectoryNames& names, const std::string& path, std::string_view name,
                   Tracks::Track track);

    Tracks tracks_;
    Gathered gathered_;
    std::size_t most_;
    std::size_t visited_ = 0;
    std::deque<Next> queue_;
    std::deque<Next> last_; // directories to search after all others
    dev_t device_ = 0;
    bool has_counts_ = false;
};

} // namespace ew::sandbox
