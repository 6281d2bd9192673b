#include "sandbox/launch/placeholders.h"

#include "core/output/utf8.h"
#include "core/sha256.h"
#include "os/directory.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "sandbox/launch/placeholder_journal.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_content = 64; // bytes of a placeholder file
constexpr Millis patience{5000};  // for a lock, which other servers hold only for a moment
constexpr int most_exchanges = 8; // by other servers, while a placeholder is being locked

// The position of a placeholder: its directory, opened without following links, since other
// programs that may write there can exchange it for a link at any time.
struct Spot {
    UniqueFd directory;
    std::string name;

    // Returns an empty descriptor, with errno, if the directory does not exist any more.
    static Spot at(const std::string& path) {
        return {open_without_links(parent_of(path), O_PATH | O_DIRECTORY),
                path.substr(path.rfind('/') + 1)};
    }

    UniqueFd open(bool is_file) const {
        const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
        return UniqueFd(
            ::openat(directory.get(), name.c_str(), is_file ? flags : flags | O_DIRECTORY));
    }

    bool has(int fd) const { return is_same_file(fd, directory.get(), name); }

    int remove(bool is_file) const {
        return ::unlinkat(directory.get(), name.c_str(), is_file ? 0 : AT_REMOVEDIR);
    }
};

bool is_untouched(const PlaceholderRecord& record, int place) {
    struct stat status = {};
    if (::fstat(place, &status) != 0 || !record.is(status)) return false;
    if (!record.content) return true; // rmdir(2) removes only an empty directory
    const std::optional<std::string> content = read_all(place, longest_content);
    return content && *content == *record.content && status.st_nlink == 1;
}

std::optional<PlaceholderRecord> identified(PlaceholderRecord record, int place) {
    struct stat status = {};
    if (::fstat(place, &status) != 0) return std::nullopt;
    record.device = status.st_dev;
    record.inode = status.st_ino;
    return record;
}

bool note(const JournalEntry& entry, const PlaceholderRecord& record, int place) {
    const std::optional<PlaceholderRecord> known = identified(record, place);
    return known && entry.write(*known);
}

struct flock whole(short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

// A placeholder that is held has a second lock, of another kind, which tells other servers that it
// is one (fcntl_locking(2), open file description locks).
void mark(int place) {
    struct flock lock = whole(F_RDLCK);
    (void)::fcntl(place, F_OFD_SETLK, &lock); // without it, others take the place for a user's
}

bool is_marked_by_another(int place) {
    struct flock lock = whole(F_WRLCK);
    return ::fcntl(place, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool write_whole(int file, std::string_view content) {
    return ::pwrite(file, content.data(), content.size(), 0) ==
           static_cast<ssize_t>(content.size());
}

Error cannot_make(const std::string& path, int error) {
    return os::system_error(fmt::format("make {}", core::shortened(path)), error);
}

// A placeholder has another name until the journal records it, so that the journal knows all
// placeholders that exist. This name depends on the path and the journal, which distinguishes it
// from files of other programs.
std::string first_name(const std::string& journal, const std::string& path) {
    constexpr std::size_t length = 24;
    return ".execward-" + core::sha256(fmt::format("{}\n{}", journal, path)).substr(0, length);
}

// Errors: the name is taken, or cannot be given.
Result<void> give_name(const PlaceholderRecord& record, const Spot& from) {
    const int directory = from.directory.get();
    const char* const old = from.name.c_str();
    const std::string name = record.path.substr(record.path.rfind('/') + 1);
    if (::renameat2(directory, old, directory, name.c_str(), RENAME_NOREPLACE) == 0) return {};
    const int error = errno;
    // Some file systems know no flags (rename(2)).
    const bool has_flags = error != EINVAL && error != ENOSYS;
    struct stat status = {};
    if (!has_flags && ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 &&
        ::renameat(directory, old, directory, name.c_str()) == 0)
        return {};
    return cannot_make(record.path, error);
}

UniqueFd make_at(const PlaceholderRecord& record, const Spot& spot) {
    const int directory = spot.directory.get();
    if (!record.content) {
        const bool is_made = ::mkdirat(directory, spot.name.c_str(), 0755) == 0;
        return is_made ? spot.open(false) : UniqueFd{};
    }
    constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    UniqueFd place(::openat(directory, spot.name.c_str(), flags, 0644));
    return place && write_whole(place.get(), *record.content) ? std::move(place) : UniqueFd{};
}

// Makes it under its first name, records it, and renames it to its path.
Result<UniqueFd> make_noted(const JournalEntry& entry, const PlaceholderRecord& record, Spot spot,
                            const std::string& journal) {
    const bool is_file = record.content.has_value();
    spot.name = first_name(journal, record.path);
    if (!entry.write(record)) return cannot_make(record.path, errno);
    (void)spot.remove(is_file); // a remainder of a start that was killed
    UniqueFd place = make_at(record, spot);
    if (place) mark(place.get());
    if (!place || !note(entry, record, place.get())) {
        Error error = cannot_make(record.path, errno);
        (void)spot.remove(is_file);
        return error;
    }
    Result<void> named = give_name(record, spot);
    if (named) return place;
    (void)spot.remove(is_file); // no process has used it
    return std::move(named.error());
}

// The file appears complete and already recorded if the file system supports files without a name
// (open(2), O_TMPFILE). Returns an empty descriptor if it does not.
UniqueFd make_unnamed(const JournalEntry& entry, const PlaceholderRecord& record,
                      const Spot& spot) {
    const int directory = spot.directory.get();
    const UniqueFd place(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
    if (!place || ::fchmod(place.get(), 0644) != 0 || !write_whole(place.get(), *record.content) ||
        !note(entry, record, place.get()))
        return {};
    mark(place.get());
    const std::string self = fmt::format("/proc/self/fd/{}", place.get());
    if (::linkat(AT_FDCWD, self.c_str(), directory, spot.name.c_str(), AT_SYMLINK_FOLLOW) != 0)
        return {};
    UniqueFd named = spot.open(true); // a descriptor that knows its path: see spot_of()
    if (named) mark(named.get());
    return named;
}

// Records a placeholder that a server with another journal holds, since the last holder removes it.
bool adopt(const JournalEntry& entry, const PlaceholderRecord& record, int place) {
    if (!is_marked_by_another(place)) return false;
    const std::optional<PlaceholderRecord> known = identified(record, place);
    return known && is_untouched(*known, place) && entry.write(*known);
}

// Opens the existing file or makes a new one. Returns an empty descriptor if the path holds a file
// that is not ours to use.
Result<UniqueFd> open_or_make(const JournalEntry& entry, const PlaceholderRecord& record,
                              const std::string& journal) {
    Spot spot = Spot::at(record.path);
    if (!spot.directory) return cannot_make(record.path, errno);
    struct stat status = {};
    if (::fstatat(spot.directory.get(), spot.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        UniqueFd place = spot.open(record.content.has_value());
        if (!place && errno == ENOENT) return cannot_make(record.path, ENOENT); // removed meanwhile
        const std::optional<PlaceholderRecord> known = entry.record();
        const bool is_known = known && known->is(status);
        const bool is_ours = is_known || (place && adopt(entry, record, place.get()));
        if (!is_ours) entry.remove();
        if (place && is_ours) mark(place.get());
        return place;
    }
    if (record.content) {
        UniqueFd place = make_unnamed(entry, record, spot);
        if (place) return place;
    }
    return make_noted(entry, record, std::move(spot), journal);
}

Result<Placeholder> hold_place(PlaceholderRecord record, const std::string& journal) {
    make_journal(journal);
    for (int left = most_exchanges;; --left) {
        const JournalEntry entry =
            TRY(JournalEntry::open(journal, JournalEntry::name_for(record.path), O_CREAT));
        Result<UniqueFd> place = open_or_make(entry, record, journal);
        if (!place) {
            entry.remove();
            return std::move(place.error());
        }
        if (!*place) return Placeholder{std::move(record.path), {}};
        if (!os::lock_within(place->get(), LOCK_SH, patience))
            return Error{ErrorKind::sandbox_unavailable,
                         fmt::format("the command was not run: '{}' is locked",
                                     core::shortened(record.path)),
                         "another program holds a lock on it"};
        // A server with another journal may have removed it before our lock.
        const Spot spot = Spot::at(record.path);
        if (spot.directory && spot.has(place->get()))
            return Placeholder{std::move(record.path), std::move(*place)};
        if (left == 0) break;
    }
    return Error{
        ErrorKind::sandbox_unavailable,
        fmt::format("the command was not run: '{}' keeps changing", core::shortened(record.path)),
        "run it again"};
}

// Does the directory contain only placeholders? `path` was its path when they were made.
bool holds_only_ours(int fd, const std::string& path, const std::string& journal) {
    const int copy = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return false;
    const os::Directory directory(::fdopendir(copy));
    if (!directory) {
        ::close(copy);
        return false;
    }
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        const std::string note = JournalEntry::name_for(joined(path, name));
        if (::access(joined(journal, note).c_str(), F_OK) != 0) return false;
    }
    return true;
}

// The placeholder or the directory that it lies in may have been moved; the open descriptor gives
// the present path (proc(5), /proc/PID/fd).
Spot spot_of(int place, const std::string& otherwise) {
    const std::string path = os::link_target(fmt::format("/proc/self/fd/{}", place)).value_or("");
    Spot spot = path.starts_with('/') ? Spot::at(path) : Spot{};
    const bool is_there = spot.directory && spot.has(place);
    return is_there ? std::move(spot) : Spot::at(otherwise);
}

// The entry must be locked. Removes the placeholder if it is still ours and no process holds it;
// keeps the entry only if a process holds it, or if it contains a placeholder.
void remove_unheld(const JournalEntry& entry, const PlaceholderRecord& record, int place,
                   const Spot& spot, const std::string& journal) {
    if (!spot.directory || !is_untouched(record, place) || !spot.has(place)) return entry.remove();
    if (::flock(place, LOCK_EX | LOCK_NB) != 0) return; // the last holder removes it
    const int result = spot.remove(record.content.has_value());
    const int error = result == 0 ? 0 : errno;
    const bool is_filled = error == ENOTEMPTY || error == EEXIST;
    if (is_filled && holds_only_ours(place, record.path, journal)) return;
    if (result == 0 || is_filled || error == ENOENT) entry.remove();
}

// Removes a placeholder that a killed start had made but not yet renamed.
void remove_unfinished(const PlaceholderRecord& record, const Spot& beside,
                       const std::string& journal) {
    const int error = errno;
    (void)::unlinkat(beside.directory.get(), first_name(journal, record.path).c_str(),
                     record.content ? 0 : AT_REMOVEDIR);
    errno = error;
}

// `place` is the open placeholder or a candidate for it; if it is empty, the path of the entry
// counts. Returns the directory that it was in, if known.
UniqueFd clear(const std::string& journal, const std::string& name, UniqueFd place) {
    Result<JournalEntry> entry = JournalEntry::open(journal, name, 0);
    if (!entry) return {}; // not ours
    const std::optional<PlaceholderRecord> record = entry->record();
    if (!record) {
        entry->remove();
        return {};
    }
    struct stat status = {};
    if (place && (::fstat(place.get(), &status) != 0 || !record->is(status))) place.reset();
    Spot spot = place ? spot_of(place.get(), record->path) : Spot::at(record->path);
    if (!place && spot.directory) place = spot.open(record->content.has_value());
    if (spot.directory) remove_unfinished(*record, spot, journal);
    if (!place) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) entry->remove();
        return {};
    }
    remove_unheld(*entry, *record, place.get(), spot, journal);
    return std::move(spot.directory);
}

} // namespace

Result<Placeholder> hold(const std::string& path, const std::string& journal) {
    PlaceholderRecord record;
    record.path = path;
    return hold_place(std::move(record), journal);
}

Result<Placeholder> hold_file(const std::string& path, const std::string& content,
                              const std::string& journal) {
    CHECK(content.size() <= longest_content);
    PlaceholderRecord record;
    record.path = path;
    record.content = content;
    return hold_place(std::move(record), journal);
}

void release(Placeholder placeholder, const std::string& journal) {
    std::string path = std::move(placeholder.path);
    UniqueFd above = clear(journal, JournalEntry::name_for(path), std::move(placeholder.lock));
    // An outer placeholder may have been released before, when it was not empty yet.
    for (path = parent_of(path); path != "/"; path = parent_of(path)) {
        const std::string name = JournalEntry::name_for(path);
        if (::access(joined(journal, name).c_str(), F_OK) != 0) return;
        UniqueFd place;
        if (above) place.reset(::openat(above.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        above = clear(journal, name, std::move(place));
    }
}

void release_all(std::vector<Placeholder> placeholders, const std::string& journal) {
    while (!placeholders.empty()) {
        release(std::move(placeholders.back()), journal);
        placeholders.pop_back();
    }
}

void sweep(const std::string& journal) {
    const os::Directory directory = os::open_directory(journal);
    if (!directory) return;
    std::vector<std::pair<std::string, std::string>> found; // path, name
    while (const dirent* entry = ::readdir(directory.get())) {
        if (found.size() == most_swept) break;
        if (entry->d_name[0] == '.') continue;
        const UniqueFd file(::openat(::dirfd(directory.get()), entry->d_name,
                                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        const std::optional<PlaceholderRecord> record =
            file ? read_record(file.get()) : std::nullopt;
        found.emplace_back(record ? record->path : "", entry->d_name);
    }
    std::ranges::sort(found, std::greater<>()); // inner before outer
    for (const auto& [path, name] : found)
        (void)clear(journal, name, {});
}

} // namespace ew::sandbox
