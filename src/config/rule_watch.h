// Reports when the rules may have changed: in the files, in the directories, or, for a missing
// directory, in its nearest existing parent. It never waits.
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

// Returns true if a rules directory, a directory above it, or a file in it is a symlink, or if a
// file has hard links. What is changed under another name causes no event here.
bool has_links(const RulePlaces& places);

class RuleWatch {
public:
    // Returns an error if the system has no watches left. Rules can still be reloaded on request.
    static Result<RuleWatch> open(const RulePlaces& places);

    // Becomes readable when take_changes() should be called. Always the same descriptor.
    int fd() const { return events_.get(); }

    // Reads the events since the last call. Returns true if the rules must be reloaded. Other files
    // next to a rules directory can make fd() readable without a change.
    bool take_changes();

private:
    enum class Kind : unsigned char { rules, parent };

    struct Watched {
        int id;
        Kind kind;
        std::string child; // for a parent: the only name in it that matters
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
