#include "files/verbs/tree.h"

// Creates directories, and removes trees. Trees are walked by descriptors and names and never by a
// path from the root, so an entry that is replaced meanwhile cannot lead elsewhere.

#include "core/text/paths.h"
#include "files/entry_ref.h"
#include "files/stand_ins.h"
#include "files/verbs/names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

// ---------------------------------------------------------------- making

Failure make_one(const EntryRef& place, const std::string& path, bool may_exist,
                 bool follows_links) {
    if (::mkdirat(place.directory.get(), place.name.c_str(), 0777) == 0) return {};
    if (errno != EEXIST || !may_exist) return failed(path, errno);
    const UniqueFd there =
        open_at(place.directory.get(), place.name, O_PATH | O_DIRECTORY, follows_links);
    if (there) return {};
    if (errno == ELOOP && !follows_links) return is_a_link(path);
    return failed(Trouble::other, path, "exists and is not a directory");
}

Failure make_all(const Request& request) {
    const std::string& path = request.path;
    const bool follows_links = request.follows_links;
    const StandIns stand_ins(request.stand_ins);
    EntryRef place;
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
        // Looks for the directory first: an existing parent need not be writable.
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

constexpr std::size_t most_names = 1024; // remembered per directory

// A directory that is being emptied, and names in it. Its parent is reached by ".." and compared
// with its earlier identity, because the tree may be deeper than the number of descriptors.
struct Emptied {
    std::string name = {};
    std::vector<std::string> left = {};
    bool holds_more = false; // it has more names than `left`
    dev_t device = 0;
    ino_t inode = 0;
};

// Entries that another process removes meanwhile count as removed.
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
            path = core::joined(path, stack_[i].name);
        return path;
    }

    // Reads names from the beginning, because the earlier ones have been removed.
    Failure look(int directory, Emptied& entry) const {
        entry.holds_more = false;
        const os::Directory listing = list(directory);
        if (!listing) return failed(where(), errno);
        while (const dirent* const found = next_entry(listing.get())) {
            entry.holds_more = entry.left.size() == most_names;
            if (entry.holds_more) return {};
            entry.left.emplace_back(found->d_name);
        }
        if (errno != 0 && errno != ENOENT) return failed(where(), errno);
        return {};
    }

    Failure look_again() {
        const UniqueFd directory = open_at(at_.get(), ".", O_RDONLY | O_DIRECTORY, true);
        if (!directory) return failed(where(), errno);
        return look(directory.get(), stack_.back());
    }

    Failure descend(const std::string& name) {
        constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
        UniqueFd inner = open_at(at_.get(), name, flags, true);
        if (!inner && errno == ENOENT) return {};
        if (!inner) return failed(stack_.empty() ? path_ : core::joined(where(), name), errno);
        Emptied entry;
        entry.name = name;
        if (Failure failure = note_identity(inner.get(), entry)) return failure;
        if (Failure failure = look(inner.get(), entry)) return failure;
        stack_.push_back(std::move(entry));
        at_ = std::move(inner);
        return {};
    }

    Failure step() {
        Emptied& entry = stack_.back();
        if (entry.left.empty()) return entry.holds_more ? look_again() : ascend();
        const std::string name = std::move(entry.left.back());
        entry.left.pop_back();
        if (::unlinkat(at_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
        if (errno != EISDIR && errno != EPERM) return failed(core::joined(where(), name), errno);
        const int why = errno;
        if (::unlinkat(at_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
        if (errno == ENOTDIR) return failed(core::joined(where(), name), why);
        if (errno != ENOTEMPTY && errno != EEXIST)
            return failed(core::joined(where(), name), errno);
        return descend(name);
    }

    Failure ascend() {
        UniqueFd parent = open_at(at_.get(), "..", O_PATH | O_DIRECTORY, true);
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
    Emptied top_ = {}; // the directory that contains the tree
    UniqueFd at_ = {};
    std::vector<Emptied> stack_ = {};
};

// Sets `is_missing` if the file did not exist.
Failure remove_any(const Request& request, bool& is_missing) {
    if (request.path == "/") return failed(Trouble::wrong_kind, "/", "cannot be removed");
    EntryRef place;
    if (Failure failure = find_entry(request.path, request.follows_links, place)) {
        is_missing = failure->trouble == Trouble::not_found;
        return failure;
    }
    struct stat status = {};
    const bool is_there =
        ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT) return failed(request.path, errno);
    // As in rm(1): "." and ".." are refused, because removing them would affect the parent
    // directory.
    if (place.name == "." || place.name == "..")
        return failed(Trouble::wrong_kind, request.path, "cannot be removed by this name");
    struct stat root = {};
    if (is_there && ::stat("/", &root) == 0 && root.st_dev == status.st_dev &&
        root.st_ino == status.st_ino)
        return failed(Trouble::wrong_kind, request.path,
                      "is the root directory and cannot be removed");
    is_missing = !is_there || StandIns(request.stand_ins).contain(status);
    if (is_missing) return failed(request.path, ENOENT);
    // Tries this first: an empty directory need not be readable, and a directory that may not be
    // removed must not be emptied.
    const bool is_directory = S_ISDIR(status.st_mode);
    const int flags = is_directory ? AT_REMOVEDIR : 0;
    if (::unlinkat(place.directory.get(), place.name.c_str(), flags) == 0) return {};
    is_missing = errno == ENOENT;
    const bool holds_something = is_directory && (errno == ENOTEMPTY || errno == EEXIST);
    if (!holds_something || !request.recursive) return failed(request.path, errno);
    return Removal(request.path).run(std::move(place.directory), place.name);
}

void finish(Answer& answer, const Failure& failure) {
    if (failure) return answer.finish(*failure);
    answer.finish(Done{});
}

} // namespace

void create_directory(const Request& request, Answer& answer) {
    if (request.recursive) return finish(answer, make_all(request));
    EntryRef place;
    if (Failure failure = find_entry(request.path, request.follows_links, place))
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

} // namespace ew::files
