#include "config/rule_watch.h"

#include "os/io.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace ew::config {

namespace {

constexpr std::uint32_t rules_events = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
                                       IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                                       IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;
constexpr std::uint32_t parent_events = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                        IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

} // namespace

Result<RuleWatch> RuleWatch::open(const RulePlaces& places) {
    UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!events) return os::system_error("inotify_init1", errno);
    std::vector<std::string> directories;
    for (std::string path : {places.user_dir, places.system_dir, places.project_dir}) {
        while (path.ends_with('/'))
            path.pop_back();
        if (path.starts_with('/')) directories.push_back(std::move(path));
    }
    RuleWatch watch(std::move(events), std::move(directories));
    TRY(watch.arm());
    return watch;
}

bool RuleWatch::take_changes() {
    bool has_changed = false;
    alignas(inotify_event) std::array<char, 16 << 10> block;
    for (;;) {
        const os::IoResult read = os::read_some(events_.get(), block.data(), block.size());
        if (read.state != os::IoState::progress) break;
        for (std::size_t at = 0; at + sizeof(inotify_event) <= read.count;) {
            inotify_event event = {};
            std::memcpy(&event, block.data() + at, sizeof event);
            at += sizeof event;
            // The kernel pads the name with zeros.
            const std::string_view padded(block.data() + at, event.len);
            at += event.len;
            if (matters(event, padded.substr(0, padded.find('\0')))) has_changed = true;
        }
    }
    if (!must_arm_) return has_changed;
    must_arm_ = false;
    // Without the new watches, changes are missed until the next event of a remaining watch, so
    // this is tried again.
    if (!arm()) must_arm_ = true;
    return true;
}

bool RuleWatch::matters(const inotify_event& event, std::string_view name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) return must_arm_ = true;
    bool is_change = false;
    for (const Watched& watched : watched_) {
        if (watched.id != event.wd) continue;
        const bool is_about_itself = name.empty();
        const bool is_gone = (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
        const bool is_child = watched.kind == Kind::parent && name == watched.child;
        if (is_gone || is_child) must_arm_ = true;
        const bool is_rule_file = watched.kind == Kind::rules && name.ends_with(".toml");
        is_change |= is_rule_file || is_child || is_about_itself;
    }
    return is_change;
}

// Watches the present directories, and removes watches that are no longer needed.
Result<void> RuleWatch::arm() {
    std::vector<Watched> watched;
    Result<void> outcome;
    for (const std::string& directory : directories_)
        if (Result<void> done = watch_path(directory, watched); !done) outcome = std::move(done);
    for (const Watched& old : watched_) {
        const bool is_kept = std::any_of(watched.begin(), watched.end(),
                                         [&](const Watched& now) { return now.id == old.id; });
        // The kernel has already removed the watch of a deleted directory; the call then fails.
        if (!is_kept) (void)::inotify_rm_watch(events_.get(), old.id);
    }
    watched_ = std::move(watched);
    return outcome;
}

// Watches the directory and its parent. For a missing directory, watches the nearest existing one.
// Goes from the top down, so that a directory that appears meanwhile is either found here or
// reported by the watch above it.
Result<void> RuleWatch::watch_path(const std::string& directory, std::vector<Watched>& watched) {
    std::vector<std::string> path = {directory};
    while (path.back() != "/")
        path.push_back(parent_of(path.back()));
    std::size_t deepest = path.size() - 1;
    while (deepest > 1 && ::access(path[deepest - 1].c_str(), F_OK) == 0)
        --deepest;
    for (std::size_t i = deepest; i > 0; --i)
        if (!TRY(watch(path[i], {-1, Kind::parent, name_of(path[i - 1])}, watched))) return {};
    (void)TRY(watch(directory, {-1, Kind::rules, {}}, watched));
    return {};
}

// Returns false if the directory does not exist or cannot be accessed.
Result<bool> RuleWatch::watch(const std::string& directory, Watched what,
                              std::vector<Watched>& watched) {
    what.id = ::inotify_add_watch(events_.get(), directory.c_str(),
                                  what.kind == Kind::rules ? rules_events : parent_events);
    if (what.id >= 0) {
        watched.push_back(std::move(what));
        return true;
    }
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return false;
    return os::system_error(fmt::format("watch {}", directory), errno);
}

bool has_links(const RulePlaces& places) {
    namespace fs = std::filesystem;
    for (const std::string& directory : {places.user_dir, places.system_dir, places.project_dir}) {
        std::error_code error;
        if (directory.empty() || !fs::exists(directory, error)) continue;
        if (fs::canonical(directory, error) != fs::path(directory).lexically_normal()) return true;
        for (fs::directory_iterator at(directory, error), end; !error && at != end;
             at.increment(error)) {
            std::error_code unknown;
            if (at->is_symlink(unknown) || unknown) return true;
            if (at->is_regular_file(unknown) && at->hard_link_count(unknown) > 1) return true;
        }
    }
    return false;
}

} // namespace ew::config
