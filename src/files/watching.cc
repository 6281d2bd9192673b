// Where something would have to happen for a missing path to appear.

#include "files/operations.h"
#include "files/places.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <vector>

namespace ew::files {

namespace {

constexpr std::uint32_t events =
    IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR | IN_MASK_ADD;
constexpr int most_links = 40; // as the kernel has it (path_resolution(7))

bool exists(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0;
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// The target of a link, from the root. Empty: it is none.
std::string behind(const std::string& link) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
    if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return {};
    const std::string target(text.data(), static_cast<std::size_t>(size));
    return target.front() == '/' ? target : parent_of(link) + '/' + target;
}

class Watching {
public:
    explicit Watching(int inotify) : inotify_(inotify) {}

    Failure watch(std::string path) {
        for (int i = 0; i < most_links && !path.empty(); ++i) {
            std::string there = path; // the part of the path that is there
            std::string missing;
            while (there != "/" && !exists(there)) {
                missing = there;
                there = parent_of(there);
            }
            if (Failure failure = add(there)) return failure;
            path = behind(missing); // what is missing may be a link that leads nowhere
            if (!path.empty()) continue;
        }
        return {};
    }

    std::vector<std::int32_t> places() const { return places_; }

private:
    Failure add(const std::string& directory) {
        const int place = ::inotify_add_watch(inotify_, directory.c_str(), events);
        if (place >= 0) {
            if (std::ranges::find(places_, place) == places_.end()) places_.push_back(place);
            return {};
        }
        if (errno == ENOSPC)
            return failed(Trouble::limit, directory,
                          "no more places can be watched: raise fs.inotify.max_user_watches");
        // Gone, or not to be looked into: what happens there is not ours to see.
        return {};
    }

    int inotify_;
    std::vector<std::int32_t> places_;
};

} // namespace

void watch_missing(const Request& request, int inotify, Answer& answer) {
    Done done;
    Watching watching(inotify);
    const auto one_exists = [&request] { return std::ranges::any_of(request.paths, exists); };
    done.exists = one_exists();
    // Parents may appear between two looks, so places are added until nothing new is found.
    for (std::size_t before = 0; !done.exists;) {
        for (const std::string& path : request.paths)
            if (Failure failure = watching.watch(path)) return answer.finish(*failure);
        done.exists = one_exists();
        if (watching.places().size() == before) break;
        before = watching.places().size();
    }
    if (!done.exists) done.watches = watching.places();
    answer.finish(done);
}

} // namespace ew::files
