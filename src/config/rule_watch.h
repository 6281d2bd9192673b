// Tells when the rules may have changed: files in the directories, the directories themselves, or
// their parents as long as there is no directory. Nothing in here waits.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "config/rule_files.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct inotify_event;

namespace ew::config {

// Is a directory of rules, one on the way to it, or a file in it a symbolic link? What such a link
// leads to can change without anything to see here.
bool has_links(const RulePlaces& places);

class RuleWatch {
public:
    // Error: the system has no watch left; rules can still be loaded again on request.
    static Result<RuleWatch> open(const RulePlaces& places);

    // Readable when take_changes() has something to look at. Stays the same.
    int fd() const { return events_.get(); }

    // Looks at what has happened since the last call. True: load the rules again. Other files
    // beside a directory of rules can make fd() readable, and are no change.
    bool take_changes();

private:
    enum class Kind : unsigned char { rules, parent };

    struct Watched {
        int id;
        Kind kind;
        std::string child; // of a parent: the one name in it that matters
    };

    RuleWatch(UniqueFd events, std::vector<std::string> directories)
        : events_(std::move(events)), directories_(std::move(directories)) {}

    Result<void> arm();
    Result<void> watch_path(const std::string& directory, std::vector<Watched>& watched);
    Result<bool> watch(const std::string& directory, Watched what, std::vector<Watched>& watched);
    bool matters(const inotify_event& event, std::string_view name);

    UniqueFd events_;
    std::vector<std::string> directories_;
    std::vector<Watched> watched_;
    bool must_arm_ = false;
};

} // namespace ew::config
