#include "files/patch_locks.h"

#include "core/paths.h"
#include "files/patch_places.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <ctime>
#include <set>
#include <string>
#include <utility>

namespace ew::files {

namespace {

constexpr int most_tries = 1000; // 10 ms apart, for all directories together

// False: another patch holds it all the time.
bool lock(int directory, int& tries) {
    for (; tries < most_tries; ++tries) {
        if (::flock(directory, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        const timespec pause = {0, 10'000'000};
        (void)::nanosleep(&pause, nullptr); // waiting for another process, not for time
    }
    return false;
}

} // namespace

Failure PatchLocks::take(const Journal& journal) {
    // In the same order everywhere, so that no two patches wait for each other.
    std::set<std::string> paths;
    for (const Step& step : journal.steps)
        paths.insert(step.directory);
    for (const std::string& made : journal.directories)
        paths.insert(core::parent_of(made));
    for (const std::string& made : journal.directories)
        paths.erase(made);
    if (paths.size() > most_locked_directories)
        return failed(Trouble::limit, "the patch",
                      "changes files in more than " + std::to_string(most_locked_directories) +
                          " directories");
    int tries = 0;
    for (const std::string& path : paths) {
        UniqueFd directory = open_canonical(path, O_RDONLY);
        if (!directory) continue; // missing, or not to be listed
        if (!lock(directory.get(), tries))
            return Failed{Trouble::other, path + ": another patch is being applied there",
                          "try again when it is through"};
        directories_.push_back(std::move(directory));
    }
    return {};
}

} // namespace ew::files
