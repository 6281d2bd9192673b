// Directories and trees: made, removed, copied. Trees are walked by descriptors and names, never by
// a path from the root, so that nothing that is exchanged meanwhile leads elsewhere.

#include "files/operations.h"
#include "files/places.h"
#include "files/replacement.h"
#include "files/stand_ins.h"
#include "os/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

constexpr int into_directory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;

// All names but "." and ".." and those of `unseen`. Absent, with errno: it cannot be read.
std::optional<std::vector<std::string>> names_in(int directory,
                                                 const StandIns& unseen = StandIns({})) {
    // A descriptor of its own, with a position of its own.
    const UniqueFd own = open_at(directory, ".", O_RDONLY | O_DIRECTORY, true);
    if (!own) return std::nullopt;
    const os::Directory listing = os::open_directory("/proc/self/fd/" + std::to_string(own.get()));
    if (!listing) return std::nullopt;
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent* const entry = ::readdir(listing.get());
        if (entry == nullptr && errno != 0) return std::nullopt;
        if (entry == nullptr) return names;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        struct stat status = {};
        if (!unseen.empty() &&
            ::fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            unseen.contain(status))
            continue;
        names.emplace_back(name);
    }
}

std::string below(const std::string& path, const std::string& name) {
    return path == "/" ? path + name : path + '/' + name;
}

// ---------------------------------------------------------------- making

Failure make_one(const Place& place, const std::string& path, bool may_exist, bool follows_links) {
    if (::mkdirat(place.directory.get(), place.name.c_str(), 0777) == 0) return {};
    if (errno != EEXIST || !may_exist) return failed(path, errno);
    const UniqueFd there =
        open_at(place.directory.get(), place.name, O_PATH | O_DIRECTORY, follows_links);
    if (there) return {};
    if (errno == ELOOP && !follows_links)
        return failed(Trouble::wrong_kind, path, "is a symbolic link, and followSymlinks is false");
    return failed(Trouble::other, path, "exists, and is no directory");
}

Failure protects(const std::string& path) {
    return failed(Trouble::read_only, path, "is protected in the sandbox, and not there");
}

Failure make_all(const Request& request) {
    const std::string& path = request.path;
    const bool follows_links = request.follows_links;
    const StandIns stand_ins(request.stand_ins);
    Place place;
    place.directory = open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, true);
    if (!place.directory) return failed("/", errno);
    std::string done;
    std::string_view rest = path;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        place.name = rest.substr(0, rest.find('/'));
        rest.remove_prefix(place.name.size());
        if (place.name.empty()) continue;
        done += '/' + place.name;
        // Looked for first: a parent that is there need not be writable.
        UniqueFd next =
            open_at(place.directory.get(), place.name, O_PATH | O_DIRECTORY, follows_links);
        if (!next) {
            if (Failure failure = make_one(place, done, true, follows_links)) return failure;
            next = open_at(place.directory.get(), place.name, O_PATH | O_DIRECTORY, follows_links);
        }
        if (!next) return failed(done, errno);
        if (stand_ins.contain(next.get())) return protects(done);
        place.directory = std::move(next);
    }
    return {};
}

// ---------------------------------------------------------------- removing

// The directory that is being emptied, and the names left in it. Its parent is found again by "..",
// compared with what it was: descriptors do not suffice for any depth.
struct Emptied {
    std::string name = {};
    std::vector<std::string> left = {};
    dev_t device = 0;
    ino_t inode = 0;
};

class Removal {
public:
    explicit Removal(std::string path) : path_(std::move(path)) {}

    Failure run(UniqueFd parent, const std::string& name) {
        if (Failure failure = note_identity(parent.get(), top_)) return failure;
        at_ = std::move(parent);
        if (Failure failure = descend(name)) return failure;
        while (!stack_.empty())
            if (Failure failure = step()) return failure;
        return {};
    }

private:
    Failure note_identity(int directory, Emptied& entry) const {
        struct stat status = {};
        if (::fstat(directory, &status) != 0) return failed(where(), errno);
        entry.device = status.st_dev;
        entry.inode = status.st_ino;
        return {};
    }

    std::string where() const {
        std::string path = path_;
        for (std::size_t i = 1; i < stack_.size() && path.size() < 4096; ++i)
            path = below(path, stack_[i].name);
        return path;
    }

    Failure descend(const std::string& name) {
        UniqueFd inner = open_at(at_.get(), name, into_directory, true);
        if (!inner && errno == ENOENT) return {}; // somebody else removes it too
        if (!inner) return failed(below(where(), name), errno);
        Emptied entry;
        entry.name = name;
        if (Failure failure = note_identity(inner.get(), entry)) return failure;
        std::optional<std::vector<std::string>> names = names_in(inner.get());
        if (!names) return failed(where(), errno);
        entry.left = std::move(*names);
        stack_.push_back(std::move(entry));
        at_ = std::move(inner);
        return {};
    }

    Failure step() {
        if (stack_.back().left.empty()) return ascend();
        const std::string name = std::move(stack_.back().left.back());
        stack_.back().left.pop_back();
        if (::unlinkat(at_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
        if (errno != EISDIR && errno != EPERM) return failed(below(where(), name), errno);
        const int why = errno;
        if (::unlinkat(at_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
        if (errno == ENOTDIR) return failed(below(where(), name), why);
        if (errno != ENOTEMPTY && errno != EEXIST) return failed(below(where(), name), errno);
        return descend(name);
    }

    Failure ascend() {
        UniqueFd parent = open_at(at_.get(), "..", O_RDONLY | O_DIRECTORY, true);
        if (!parent) return failed(where(), errno);
        struct stat status = {};
        if (::fstat(parent.get(), &status) != 0) return failed(where(), errno);
        const Emptied& outer = stack_.size() > 1 ? stack_[stack_.size() - 2] : top_;
        if (status.st_dev != outer.device || status.st_ino != outer.inode)
            return failed(Trouble::other, where(), "was moved while it was being removed");
        if (::unlinkat(parent.get(), stack_.back().name.c_str(), AT_REMOVEDIR) != 0 &&
            errno != ENOENT)
            return failed(where(), errno);
        stack_.pop_back();
        at_ = std::move(parent);
        return {};
    }

    std::string path_;
    Emptied top_ = {}; // the directory that holds it all
    UniqueFd at_ = {};
    std::vector<Emptied> stack_ = {};
};

// ---------------------------------------------------------------- copying

Failure copy_content(int from, int to, const std::string& path) {
    for (;;) {
        ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, 1 << 30, 0);
        if (count > 0) continue;
        if (count == 0) break;
        if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS &&
            errno != EBADF && errno != EPERM)
            return failed(path, errno);
        break;
    }
    // Whatever is left: other file systems, and files of /proc, which seem empty to the above.
    std::array<char, 128 << 10> block;
    for (;;) {
        const ssize_t count = ::read(from, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed(path, errno);
        if (count == 0) return {};
        const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
        if (Failure failure = write_all(to, bytes, path)) return failure;
    }
}

bool is_same(int file, int other) {
    struct stat one = {};
    struct stat two = {};
    return ::fstat(file, &one) == 0 && ::fstat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

// A regular file, open, to where the name is.
Failure copy_file(int from, Place place, const std::string& to) {
    struct stat source = {};
    if (::fstat(from, &source) != 0) return failed(to, errno);
    const UniqueFd old = open_at(place.directory.get(), place.name, O_PATH | O_NOFOLLOW, true);
    if (old && is_same(from, old.get())) return failed(Trouble::wrong_kind, to, "is the same file");
    Replacement replacement;
    if (Failure failure = begin_replacement_at(to, std::move(place), replacement)) return failure;
    std::optional<Untorn> untorn;
    if (!replacement.temporary.empty()) untorn.emplace();
    Failure failure = copy_content(from, replacement.content.get(), to);
    if (!failure && !replacement.name.empty() &&
        ::fchmod(replacement.content.get(), source.st_mode & 01777) != 0)
        failure = failed(to, errno);
    if (!failure) return commit(to, replacement);
    give_up(replacement);
    return failure;
}

Failure copy_link(int from, const Place& place, const std::string& name, const std::string& to) {
    std::array<char, 4096> target;
    const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (size < 0 || static_cast<std::size_t>(size) == target.size())
        return failed(to, size < 0 ? errno : ENAMETOOLONG);
    const std::string text(target.data(), static_cast<std::size_t>(size));
    if (::symlinkat(text.c_str(), place.directory.get(), place.name.c_str()) == 0) return {};
    return failed(to, errno);
}

// A tree, with what holds places in a sandbox left out.
class TreeCopy {
public:
    explicit TreeCopy(const StandIns& unseen) : unseen_(unseen) {}

    Failure run(int from, Place place, const std::string& source, const std::string& to) {
        return copy_directory(from, std::move(place), source, to, 0);
    }

private:
    static constexpr int deepest = 200; // of which each level takes stack and four descriptors

    // What is called `name` there, to the same name here.
    Failure copy_one(int from, const Place& place, const std::string& source, const std::string& to,
                     int depth) {
        struct stat status = {};
        if (::fstatat(from, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return failed(source, errno);
        if (S_ISLNK(status.st_mode)) return copy_link(from, place, place.name, to);
        if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
            return failed(Trouble::wrong_kind, source, "is neither file, directory nor link");
        const UniqueFd inner = open_at(from, place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, true);
        if (!inner) return failed(source, errno);
        Place own = {UniqueFd(::fcntl(place.directory.get(), F_DUPFD_CLOEXEC, 3)), place.name};
        if (!own.directory) return failed(to, errno);
        if (S_ISREG(status.st_mode)) return copy_file(inner.get(), std::move(own), to);
        return copy_directory(inner.get(), std::move(own), source, to, depth + 1);
    }

    Failure copy_directory(int from, Place place, const std::string& source, const std::string& to,
                           int depth) {
        if (depth > deepest) return failed(Trouble::limit, source, "is too deep a tree");
        struct stat status = {};
        if (::fstat(from, &status) != 0) return failed(source, errno);
        std::optional<std::vector<std::string>> names = names_in(from, unseen_);
        if (!names) return failed(source, errno);
        const bool is_new = ::mkdirat(place.directory.get(), place.name.c_str(), 0700) == 0;
        if (!is_new && errno != EEXIST) return failed(to, errno);
        Place inner;
        inner.directory = open_at(place.directory.get(), place.name, into_directory, true);
        if (!inner.directory) return failed(to, errno);
        for (std::string& name : *names) {
            inner.name = std::move(name);
            const std::string part = below(source, inner.name);
            if (Failure failure = copy_one(from, inner, part, below(to, inner.name), depth))
                return failure;
        }
        if (is_new && ::fchmod(inner.directory.get(), status.st_mode & 07777) != 0)
            return failed(to, errno);
        return {};
    }

    const StandIns& unseen_;
};

// Is `inner` the directory `outer`, or somewhere in it? By what they are, not by their names.
bool lies_in(const Place& inner, int outer) {
    struct stat wanted = {};
    if (::fstat(outer, &wanted) != 0) return false;
    UniqueFd at = open_at(inner.directory.get(), inner.name, O_PATH | O_DIRECTORY, true);
    if (!at) at = open_at(inner.directory.get(), ".", O_PATH | O_DIRECTORY, true);
    for (;;) {
        struct stat status = {};
        if (!at || ::fstat(at.get(), &status) != 0) return false;
        if (status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino) return true;
        UniqueFd parent = open_at(at.get(), "..", O_PATH | O_DIRECTORY, true);
        struct stat above = {};
        if (!parent || ::fstat(parent.get(), &above) != 0) return false;
        if (above.st_dev == status.st_dev && above.st_ino == status.st_ino) return false;
        at = std::move(parent);
    }
}

Failure find_target(const Request& request, const StandIns& unseen, Place& to) {
    if (Failure failure = find_end(request.other_path, true, to)) return failure;
    const UniqueFd there = open_at(to.directory.get(), to.name, O_PATH | O_NOFOLLOW, true);
    if (there && unseen.contain(there.get())) return protects(request.other_path);
    return {};
}

Failure copy_any(const Request& request) {
    Place place;
    if (Failure failure = find_end(request.path, true, place)) return failure;
    const UniqueFd from =
        open_at(place.directory.get(), place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, true);
    if (!from) return failed(request.path, errno);
    struct stat status = {};
    if (::fstat(from.get(), &status) != 0) return failed(request.path, errno);
    const StandIns unseen(request.stand_ins);
    if (unseen.contain(status)) return failed(request.path, ENOENT);
    Place to;
    if (S_ISREG(status.st_mode)) {
        if (Failure failure = find_target(request, unseen, to)) return failure;
        return copy_file(from.get(), std::move(to), request.other_path);
    }
    if (!S_ISDIR(status.st_mode))
        return failed(Trouble::wrong_kind, request.path, "is neither a file nor a directory");
    if (!request.recursive)
        return failed(Trouble::wrong_kind, request.path, "is a directory, and recursive is false");
    if (Failure failure = find_target(request, unseen, to)) return failure;
    if (lies_in(to, from.get()))
        return failed(Trouble::wrong_kind, request.other_path, "lies in what is to be copied");
    return TreeCopy(unseen).run(from.get(), std::move(to), request.path, request.other_path);
}

// `is_missing`: it was not there to begin with.
Failure remove_any(const Request& request, bool& is_missing) {
    if (request.path == "/") return failed(Trouble::wrong_kind, "/", "is not removed");
    Place place;
    if (Failure failure = find_place(request.path, request.follows_links, place)) {
        is_missing = failure->trouble == Trouble::not_found;
        return failure;
    }
    struct stat status = {};
    const bool is_there =
        ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT) return failed(request.path, errno);
    is_missing = !is_there || StandIns(request.stand_ins).contain(status);
    if (is_missing) return failed(request.path, ENOENT);
    const bool is_directory = S_ISDIR(status.st_mode);
    if (!is_directory || !request.recursive) {
        const int flags = is_directory ? AT_REMOVEDIR : 0;
        if (::unlinkat(place.directory.get(), place.name.c_str(), flags) == 0) return {};
        return failed(request.path, errno);
    }
    // To be found again by "..", it has to be open for more than its path.
    UniqueFd parent = open_at(place.directory.get(), ".", O_RDONLY | O_DIRECTORY, true);
    if (!parent) parent = std::move(place.directory);
    return Removal(request.path).run(std::move(parent), place.name);
}

void finish(Answer& answer, const Failure& failure) {
    if (failure) return answer.finish(*failure);
    answer.finish(Done{});
}

} // namespace

void create_directory(const Request& request, Answer& answer) {
    if (request.recursive) return finish(answer, make_all(request));
    Place place;
    if (Failure failure = find_place(request.path, request.follows_links, place))
        return answer.finish(*failure);
    struct stat status = {};
    const bool is_there =
        ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && StandIns(request.stand_ins).contain(status))
        return finish(answer, protects(request.path));
    finish(answer, make_one(place, request.path, false, request.follows_links));
}

void remove(const Request& request, Answer& answer) {
    bool is_missing = false;
    Failure failure = remove_any(request, is_missing);
    if (is_missing && request.force) failure.reset();
    finish(answer, failure);
}

void copy(const Request& request, Answer& answer) {
    finish(answer, copy_any(request));
}

} // namespace ew::files
