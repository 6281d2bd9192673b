#include "files/verbs/watching.h"

// Finds the places to watch for a missing path to appear.

#include "files/entry_ref.h"
#include "files/stand_ins.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

constexpr std::uint32_t events =
    IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR | IN_MASK_ADD;

bool exists(const std::string& path, const StandIns& stand_ins) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && !stand_ins.contain(status);
}

// Follows paths as the kernel does, and watches each directory on the way: any part of the path may
// be replaced so that the path exists.
class Watching {
public:
    explicit Watching(int inotify) : inotify_(inotify) {}

    Failure watch(const std::string& path) {
        UniqueFd at = root();
        std::string rest = path;
        for (int links = 0; at;) {
            const std::string name = take_name(rest);
            if (name.empty()) return {};
            if (Failure failure = add(at.get(), name, path)) return failure;
            const std::string target = link_text(at.get(), name);
            if (!target.empty()) {
                if (++links > most_links) return {};
                rest.insert(0, target + '/');
                if (target.front() == '/') at = root();
                continue;
            }
            at = open_at(at.get(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW, true);
        }
        return {}; // the rest is missing or cannot be accessed
    }

    const std::vector<WatchedPlace>& places() const { return places_; }

private:
    static UniqueFd root() { return open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, true); }

    static std::string take_name(std::string& rest) {
        rest.erase(0, rest.find_first_not_of('/'));
        std::string name = rest.substr(0, rest.find('/'));
        rest.erase(0, name.size());
        return name;
    }

    Failure add(int directory, const std::string& name, const std::string& path) {
        const std::string link = "/proc/self/fd/" + std::to_string(directory);
        const int place = ::inotify_add_watch(inotify_, link.c_str(), events);
        if (place >= 0) {
            if (known_.emplace(place, name).second) places_.push_back({place, name});
            return {};
        }
        if (errno == ENOSPC)
            return failed(Trouble::limit, path,
                          "no more places can be watched: raise fs.inotify.max_user_watches");
        return {}; // events in an unreadable directory cannot be watched
    }

    int inotify_;
    std::vector<WatchedPlace> places_;
    std::set<std::pair<int, std::string>> known_; // the same as a set
};

} // namespace

void watch_missing(const Request& request, int inotify, Answer& answer) {
    Done done;
    const StandIns stand_ins(request.stand_ins);
    Watching watching(inotify);
    const auto one_exists = [&] {
        return std::ranges::any_of(request.paths, [&stand_ins](const std::string& path) {
            return exists(path, stand_ins);
        });
    };
    done.exists = one_exists();
    // Parents may appear between two passes, so places are added until a pass finds no new one.
    for (std::size_t before = 0; !done.exists;) {
        for (const std::string& path : request.paths)
            if (Failure failure = watching.watch(path)) return answer.finish(*failure);
        done.exists = one_exists();
        if (watching.places().size() == before) break;
        before = watching.places().size();
    }
    done.places = watching.places(); // no longer needed, so the caller removes them
    if (encode_done(done).size() > longest_frame)
        return answer.finish(
            failed(Trouble::limit, "the paths", "lead through too many directories"));
    answer.finish(done);
}

} // namespace ew::files
