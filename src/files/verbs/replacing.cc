#include "files/verbs/replacing.h"

// Operations that replace the content of a file.

#include "core/text/paths.h"
#include "files/entry_ref.h"
#include "files/replacement.h"
#include "files/stand_ins.h"
#include "files/verbs/names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ew::files {

namespace {

// The state that commit() needs, sent as the text of Done::path: the name and the temporary name,
// each followed by a '/', which neither contains.
std::string token_of(const Replacement& replacement, const std::string& path) {
    return replacement.name + '/' + replacement.temporary + '/' + path;
}

bool take_token(std::string_view token, Replacement& replacement, std::string& path) {
    const std::size_t first = token.find('/');
    if (first == std::string_view::npos) return false;
    const std::size_t second = token.find('/', first + 1);
    if (second == std::string_view::npos) return false;
    replacement.name = token.substr(0, first);
    replacement.temporary = token.substr(first + 1, second - first - 1);
    path = token.substr(second + 1);
    return true;
}

UniqueFd duplicate(int fd) {
    return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

// Finds the place of the new content. The target of `path` may be missing.
Failure find_target(const std::string& path, bool follows_links, const StandIns& stand_ins,
                    EntryRef& place) {
    if (Failure failure = find_end(path, follows_links, place)) return failure;
    const UniqueFd there = open_at(place.directory.get(), place.name, O_PATH | O_NOFOLLOW, true);
    if (there && stand_ins.contain(there.get())) return protects(path);
    return {};
}

Failure begin(const Request& request, bool follows_links, Replacement& replacement) {
    EntryRef place;
    const StandIns stand_ins(request.stand_ins);
    if (Failure failure = find_target(request.path, follows_links, stand_ins, place))
        return failure;
    return begin_replacement(request.path, std::move(place), replacement);
}

// ---------------------------------------------------------------- copying

Failure copy_content(int from, int to, const std::string& path) {
    for (;;) {
        const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, 1 << 30, 0);
        if (count > 0 || (count < 0 && errno == EINTR)) continue;
        if (count == 0) break;
        if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS &&
            errno != EBADF && errno != EPERM)
            return failed(path, errno);
        break;
    }
    // Handles the remaining cases: other file systems, and files of /proc, which seem empty to the
    // calls above.
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

// Copies an open regular file to the place.
Failure copy_file(int from, EntryRef place, const std::string& to) {
    struct stat source = {};
    if (::fstat(from, &source) != 0) return failed(to, errno);
    const UniqueFd old = open_at(place.directory.get(), place.name, O_PATH | O_NOFOLLOW, true);
    if (old && is_same(from, old.get())) return failed(Trouble::wrong_kind, to, "is the same file");
    Replacement replacement;
    if (Failure failure = begin_replacement(to, std::move(place), replacement)) return failure;
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

Failure copy_link(const EntryRef& from, const EntryRef& to, const std::string& path) {
    const std::string target = link_text(from.directory.get(), from.name);
    if (target.empty()) return failed(path, errno);
    return put_link(path, target, to);
}

// Copies a tree without the sandbox's placeholders. `source` and `target` are for failures.
class TreeCopy {
public:
    explicit TreeCopy(const StandIns& unseen) : unseen_(unseen) {}

    Failure copy_directory(const EntryRef& from, const EntryRef& to, const std::string& source,
                           const std::string& target) {
        if (depth_ == deepest)
            return failed(Trouble::limit, source, "is nested too deeply to be copied");
        EntryRef inner;
        inner.directory = open_at(from.directory.get(), from.name, into_directory, true);
        const os::Directory listing = inner.directory ? list(inner.directory.get()) : nullptr;
        struct stat status = {};
        if (!listing || ::fstat(inner.directory.get(), &status) != 0) return failed(source, errno);
        const bool is_new = ::mkdirat(to.directory.get(), to.name.c_str(), 0700) == 0;
        if (!is_new && errno != EEXIST) return failed(target, errno);
        EntryRef made;
        made.directory = open_at(to.directory.get(), to.name,
                                 is_new ? into_directory : O_PATH | O_DIRECTORY | O_NOFOLLOW, true);
        if (!made.directory) return failed(target, errno);
        if (unseen_.contain(made.directory.get())) return protects(target);
        ++depth_;
        while (const dirent* const entry = next_entry(listing.get())) {
            inner.name = made.name = entry->d_name;
            Failure failure = copy_one(inner, made, core::joined(source, inner.name),
                                       core::joined(target, inner.name));
            if (failure) return failure;
        }
        if (errno != 0) return failed(source, errno);
        --depth_;
        if (is_new && ::fchmod(made.directory.get(), status.st_mode & 07777) != 0)
            return failed(target, errno);
        return {};
    }

private:
    static constexpr int deepest = 200; // levels; each needs stack and three descriptors
    static constexpr int into_directory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;

    Failure copy_one(const EntryRef& from, const EntryRef& to, const std::string& source,
                     const std::string& target) {
        struct stat status = {};
        if (::fstatat(from.directory.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return failed(source, errno);
        if (unseen_.contain(status)) return {};
        if (S_ISLNK(status.st_mode)) return copy_link(from, to, target);
        if (S_ISDIR(status.st_mode)) return copy_directory(from, to, source, target);
        if (!S_ISREG(status.st_mode))
            return failed(Trouble::wrong_kind, source,
                          "is neither a file, a directory nor a symbolic link");
        UniqueFd file;
        if (Failure failure = open_regular(source, from, O_RDONLY | O_NOFOLLOW, file))
            return failure;
        EntryRef own = {duplicate(to.directory.get()), to.name};
        if (!own.directory) return failed(target, errno);
        return copy_file(file.get(), std::move(own), target);
    }

    const StandIns& unseen_;
    int depth_ = 0;
};

// Returns true if `inner` is the directory `outer`, or is below it. Compares inodes, not names.
bool lies_in(const EntryRef& inner, int outer) {
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

Failure copy_any(const Request& request) {
    const std::string& source = request.path;
    const std::string& target = request.other_path;
    const StandIns unseen(request.stand_ins);
    EntryRef from;
    if (Failure failure = find_entry(source, true, from)) return failure;
    struct stat status = {};
    if (::fstatat(from.directory.get(), from.name.c_str(), &status, 0) != 0)
        return failed(source, errno);
    if (unseen.contain(status)) return failed(source, ENOENT);
    const bool is_directory = S_ISDIR(status.st_mode);
    if (is_directory && !request.recursive)
        return failed(Trouble::wrong_kind, source, "is a directory, and recursive is false");
    UniqueFd opened;
    if (is_directory)
        opened = open_at(from.directory.get(), from.name, O_RDONLY | O_DIRECTORY, true);
    else if (Failure failure = open_regular(source, from, O_RDONLY, opened))
        return failure;
    if (!opened) return failed(source, errno);
    EntryRef to;
    if (Failure failure = find_target(target, true, unseen, to)) return failure;
    if (!is_directory) return copy_file(opened.get(), std::move(to), target);
    if (lies_in(to, opened.get()))
        return failed(Trouble::wrong_kind, target, "is inside the directory to be copied");
    const EntryRef top = {std::move(opened), "."};
    return TreeCopy(unseen).copy_directory(top, to, source, target);
}

} // namespace

void copy(const Request& request, Answer& answer) {
    if (Failure failure = copy_any(request)) return answer.finish(*failure);
    answer.finish(Done{});
}

void write_file(const Request& request, Answer& answer) {
    Replacement replacement;
    Failure failure = begin(request, request.follows_links, replacement);
    if (failure) return answer.finish(*failure);
    // A temporary name must be removed or renamed in the end, so SIGTERM must wait.
    std::optional<Untorn> untorn;
    if (!replacement.temporary.empty()) untorn.emplace();
    failure = write_all(replacement.content.get(), request.data, request.path);
    if (failure)
        give_up(replacement);
    else
        failure = commit(request.path, replacement);
    if (failure) return answer.finish(*failure);
    answer.finish(Done{});
}

void open_replace(const Request& request, Answer& answer) {
    Replacement replacement;
    if (Failure failure = begin(request, true, replacement)) return answer.finish(*failure);
    Done done;
    done.path = token_of(replacement, request.path);
    answer.finish(done, {replacement.content.get(), replacement.beside.get()});
}

void commit(const Request& request, int file, int beside, Answer& answer) {
    Replacement replacement;
    std::string path;
    if (!take_token(request.path, replacement, path))
        return answer.finish(failed(Trouble::other, request.path, "is not what was opened"));
    replacement.content = duplicate(file);
    replacement.beside = duplicate(beside);
    if (!replacement.content || !replacement.beside) return answer.finish(failed(path, errno));
    if (Failure failure = commit(path, replacement)) return answer.finish(*failure);
    answer.finish(Done{});
}

} // namespace ew::files
