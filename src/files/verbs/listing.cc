#include "files/verbs/listing.h"

// Lists names and their kinds.

#include "core/text/paths.h"
#include "files/entry_ref.h"
#include "files/stand_ins.h"
#include "files/verbs/names.h"
#include "os/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

std::int64_t milliseconds(const statx_timestamp& time) {
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

// Collects entries and sends them in frames.
template <class Item>
class Frames {
public:
    Frames(Answer& answer, FrameKind kind) : answer_(answer), kind_(kind) {}

    void add(const Item& item) {
        std::string one;
        append(one, item);
        if (body_.size() + one.size() > usual_frame) flush();
        body_ += one;
    }

    void flush() {
        if (!body_.empty()) answer_.add(kind_, body_);
        body_.clear();
    }

private:
    Answer& answer_;
    FrameKind kind_;
    std::string body_;
};

struct Kind {
    bool is_link = false;
    mode_t mode = 0; // of the symlink's target; 0 if that does not exist
    dev_t device = 0;
    ino_t inode = 0;
};

Kind kind_of(int directory, const char* name) {
    Kind kind;
    struct stat status = {};
    if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return kind;
    kind.is_link = S_ISLNK(status.st_mode);
    if (kind.is_link && ::fstatat(directory, name, &status, 0) != 0) return kind;
    kind.mode = status.st_mode;
    kind.device = status.st_dev;
    kind.inode = status.st_ino;
    return kind;
}

// ---------------------------------------------------------------- walk

class Walk {
public:
    Walk(const Request& request, Answer& answer)
        : root_path_(request.path),
          options_(request.walk),
          stand_ins_(request.stand_ins),
          answer_(answer),
          entries_(answer, FrameKind::entries) {}

    void run() {
        struct stat status = {};
        if (::stat(root_path_.c_str(), &status) != 0)
            return answer_.finish(failed(root_path_, errno));
        if (stand_ins_.contain(status)) return answer_.finish(failed(root_path_, ENOENT));
        if (S_ISDIR(status.st_mode)) {
            root_ = open_at(AT_FDCWD, root_path_, O_PATH | O_DIRECTORY, true);
            queue_.push_back({".", 0});
            visit_all();
        }
        entries_.flush();
        Frames<Problem> problems(answer_, FrameKind::problems);
        for (const Problem& problem : problems_)
            problems.add(problem);
        problems.flush();
        Done done;
        done.is_truncated = is_truncated_;
        answer_.finish(done);
    }

private:
    struct Directory {
        std::string path; // relative to the root, which is "."
        std::uint64_t depth;
    };

    struct Found {
        std::string name;
        bool is_directory;
    };

    std::string whole(const std::string& path) const {
        return path == "." ? root_path_ : core::joined(root_path_, path);
    }

    void visit_all() {
        while (!queue_.empty() && !is_full_) {
            if (visited_ == options_.max_directories) {
                is_truncated_ = true;
                return;
            }
            const Directory directory = std::move(queue_.front());
            queue_.pop_front();
            visit(directory);
        }
    }

    // Visits a directory only once if several symlinks lead to it, which also ends loops.
    bool is_new(int fd) {
        if (!options_.follows_directory_links) return true;
        struct stat status = {};
        return ::fstat(fd, &status) == 0 && seen_.insert({status.st_dev, status.st_ino}).second;
    }

    void visit(const Directory& directory) {
        // Follows no symlinks, even if a directory was replaced by a symlink after it was found.
        const UniqueFd fd = open_at(root_.get(), directory.path, O_RDONLY | O_DIRECTORY,
                                    options_.follows_directory_links);
        if (!fd) return note_problem(directory.path, errno);
        if (!is_new(fd.get())) return;
        ++visited_;
        for (const Found& found : first_in(fd.get(), directory.path)) {
            if (is_full_) return;
            take(directory, found);
        }
    }

    // Returns the entries to report of a directory, sorted by name. Keeps at most one more than
    // there is room for.
    std::vector<Found> first_in(int fd, const std::string& path) {
        const os::Directory listing = list(fd);
        if (!listing) {
            note_problem(path, errno);
            return {};
        }
        const std::size_t most = options_.max_entries - count_ + 1;
        std::vector<Found> all;
        while (const dirent* const entry = next_entry(listing.get())) {
            const Kind kind = kind_of(fd, entry->d_name);
            if (is_told(kind, entry->d_name)) all.push_back({entry->d_name, S_ISDIR(kind.mode)});
            if (all.size() >= 2 * most) keep_first(all, most);
        }
        if (errno != 0) note_problem(path, errno);
        std::ranges::sort(all, {}, &Found::name);
        return all;
    }

    static void keep_first(std::vector<Found>& all, std::size_t most) {
        const auto end = all.begin() + static_cast<std::ptrdiff_t>(most);
        std::ranges::nth_element(all, end, {}, &Found::name);
        all.erase(end, all.end());
    }

    bool is_told(const Kind& kind, std::string_view name) const {
        if (kind.is_link && !options_.follows_directory_links) return false;
        if (stand_ins_.contain(kind.device, kind.inode)) return false;
        const bool is_hidden = options_.prunes_hidden_directories && name.starts_with('.');
        return S_ISREG(kind.mode) || (S_ISDIR(kind.mode) && !is_hidden);
    }

    void take(const Directory& directory, const Found& found) {
        std::string path =
            directory.path == "." ? found.name : core::joined(directory.path, found.name);
        const std::string told = whole(path);
        if (count_ == options_.max_entries || bytes_ + told.size() > longest_walk) {
            is_truncated_ = is_full_ = true;
            return;
        }
        ++count_;
        bytes_ += told.size();
        entries_.add({told, found.is_directory, !found.is_directory});
        if (found.is_directory && directory.depth < options_.max_depth)
            queue_.push_back({std::move(path), directory.depth + 1});
    }

    void note_problem(const std::string& path, int error_number) {
        constexpr std::size_t most = 1000;
        if (problems_.size() == most) {
            is_truncated_ = true;
            return;
        }
        problems_.push_back({whole(path), ::strerror(error_number)});
    }

    const std::string& root_path_;
    const WalkOptions options_;
    const StandIns stand_ins_;
    Answer& answer_;
    Frames<Entry> entries_;
    UniqueFd root_;
    std::vector<Problem> problems_;
    std::deque<Directory> queue_;
    std::set<std::pair<dev_t, ino_t>> seen_;
    std::uint64_t visited_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t bytes_ = 0;
    bool is_truncated_ = false;
    bool is_full_ = false;
};

} // namespace

void metadata(const Request& request, Answer& answer) {
    EntryRef place;
    if (Failure failure = find_entry(request.path, request.follows_links, place))
        return answer.finish(*failure);
    struct statx status = {};
    constexpr unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    const auto look = [&](int flags) {
        return ::statx(place.directory.get(), place.name.c_str(), flags, wanted, &status) == 0;
    };
    if (!look(AT_SYMLINK_NOFOLLOW)) return answer.finish(failed(request.path, errno));
    const StandIns stand_ins(request.stand_ins);
    const auto is_stand_in = [&] {
        return stand_ins.contain(::makedev(status.stx_dev_major, status.stx_dev_minor),
                                 status.stx_ino);
    };
    Done done;
    done.is_link = S_ISLNK(status.stx_mode);
    if (done.is_link && !request.follows_links) return answer.finish(is_a_link(request.path));
    if (done.is_link && !look(0)) return answer.finish(failed(request.path, errno));
    if (is_stand_in()) return answer.finish(failed(request.path, ENOENT));
    done.is_directory = S_ISDIR(status.stx_mode);
    done.is_file = S_ISREG(status.stx_mode);
    done.size = status.stx_size;
    if ((status.stx_mask & STATX_BTIME) != 0) done.created_at_ms = milliseconds(status.stx_btime);
    done.modified_at_ms = milliseconds(status.stx_mtime);
    answer.finish(done);
}

void canonicalize(const Request& request, Answer& answer) {
    const std::unique_ptr<char, decltype(&std::free)> path(
        ::realpath(request.path.c_str(), nullptr), &std::free);
    if (!path) return answer.finish(failed(request.path, errno));
    struct stat status = {};
    if (::stat(path.get(), &status) == 0 && StandIns(request.stand_ins).contain(status))
        return answer.finish(failed(request.path, ENOENT));
    Done done;
    done.path = path.get();
    answer.finish(done);
}

void read_directory(const Request& request, Answer& answer) {
    const os::Directory listing = os::open_directory(request.path);
    if (!listing) return answer.finish(failed(request.path, errno));
    const StandIns stand_ins(request.stand_ins);
    if (stand_ins.contain(::dirfd(listing.get())))
        return answer.finish(failed(request.path, ENOENT));
    Frames<Entry> entries(answer, FrameKind::entries);
    std::uint64_t count = 0;
    while (const dirent* const entry = next_entry(listing.get())) {
        if (++count > most_entries)
            return answer.finish(failed(Trouble::limit, request.path,
                                        "has more than " + std::to_string(most_entries) +
                                            " entries: fs/walk tells a part"));
        const Kind kind = kind_of(::dirfd(listing.get()), entry->d_name);
        if (stand_ins.contain(kind.device, kind.inode)) continue;
        entries.add({entry->d_name, S_ISDIR(kind.mode), S_ISREG(kind.mode)});
    }
    if (errno != 0) return answer.finish(failed(request.path, errno));
    entries.flush();
    answer.finish(Done{});
}

void walk(const Request& request, Answer& answer) {
    Walk(request, answer).run();
}

} // namespace ew::files
