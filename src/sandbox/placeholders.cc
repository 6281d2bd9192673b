#include "sandbox/placeholders.h"

#include "core/sha256.h"
#include "os/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_content = 64; // bytes of a file that stands in
constexpr std::size_t longest_record = 8192;
constexpr int most_tries = 200; // for a lock, 5 ms apart

// What the journal says of one path: "device inode\n", the path, a NUL, and for a file an '=' and
// its content.
struct Record {
    dev_t device = 0;
    ino_t inode = 0;
    std::string path = {};
    std::optional<std::string> content = {}; // absent: a directory

    bool is(const struct stat& status) const {
        return status.st_dev == device && status.st_ino == inode &&
               (content ? S_ISREG(status.st_mode) : S_ISDIR(status.st_mode));
    }
};

std::string encode(const Record& record) {
    std::string text = fmt::format("{} {}\n{}", record.device, record.inode, record.path);
    text.push_back('\0');
    if (record.content) text.append("=").append(*record.content);
    return text;
}

std::optional<Record> decode(std::string_view text) {
    Record record;
    const char* const end = text.data() + text.size();
    const auto device = std::from_chars(text.data(), end, record.device);
    if (device.ec != std::errc() || device.ptr == end || *device.ptr != ' ') return std::nullopt;
    const auto inode = std::from_chars(device.ptr + 1, end, record.inode);
    if (inode.ec != std::errc() || inode.ptr == end || *inode.ptr != '\n') return std::nullopt;
    const std::string_view rest(inode.ptr + 1, static_cast<std::size_t>(end - inode.ptr - 1));
    const std::size_t zero = rest.find('\0');
    if (zero == std::string_view::npos || !rest.starts_with('/')) return std::nullopt;
    record.path = rest.substr(0, zero);
    const std::string_view after = rest.substr(zero + 1);
    if (after.starts_with('=')) record.content = after.substr(1);
    return record;
}

std::optional<std::string> read_all(int fd, std::size_t most) {
    std::string text(most + 1, '\0');
    const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
    if (count < 0 || static_cast<std::size_t>(count) > most) return std::nullopt;
    text.resize(static_cast<std::size_t>(count));
    return text;
}

bool is_same_file(int fd, const std::string& path) {
    struct stat open = {};
    struct stat there = {};
    return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

bool lock_within(int fd, int operation, int tries) {
    for (int i = 0; i < tries; ++i) {
        if (::flock(fd, operation | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        const timespec pause = {0, 5'000'000};
        (void)::nanosleep(&pause, nullptr); // waiting for another process, not for time
    }
    return false;
}

// One entry of the journal, locked against everybody else who works on the same path.
class Entry {
public:
    static std::string name_for(const std::string& path) { return core::sha256(path); }

    static Result<Entry> open(const std::string& journal, const std::string& name, int flags) {
        Entry entry;
        entry.path_ = journal + "/" + name;
        for (int i = 0; i < most_tries; ++i) {
            entry.file_.reset(
                ::open(entry.path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
            if (!entry.file_) return os::system_error(fmt::format("open {}", entry.path_), errno);
            if (!lock_within(entry.file_.get(), LOCK_EX, most_tries)) break;
            if (is_same_file(entry.file_.get(), entry.path_)) return entry;
        }
        return Error{ErrorKind::sandbox_unavailable,
                     fmt::format("the command was not run: {} is locked", entry.path_),
                     "another program holds a lock on it"};
    }

    std::optional<Record> record() const {
        const std::optional<std::string> text = read_all(file_.get(), longest_record);
        return text ? decode(*text) : std::nullopt;
    }

    bool write(const Record& record) const {
        const std::string text = encode(record);
        return text.size() <= longest_record && ::ftruncate(file_.get(), 0) == 0 &&
               ::pwrite(file_.get(), text.data(), text.size(), 0) ==
                   static_cast<ssize_t>(text.size());
    }

    void remove() const { (void)::unlink(path_.c_str()); } // if it fails, a later sweep does it

private:
    Entry() = default;
    std::string path_;
    UniqueFd file_;
};

UniqueFd open_place(const std::string& path, bool is_file) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    return UniqueFd(::open(path.c_str(), is_file ? flags : flags | O_DIRECTORY));
}

bool is_untouched(const Record& record, int place) {
    struct stat status = {};
    if (::fstat(place, &status) != 0 || !record.is(status)) return false;
    if (!record.content) return true; // rmdir(2) removes only what is empty
    const std::optional<std::string> content = read_all(place, longest_content);
    return content && *content == *record.content && status.st_nlink == 1;
}

bool note(const Entry& entry, Record record, int place) {
    struct stat status = {};
    if (::fstat(place, &status) != 0) return false;
    record.device = status.st_dev;
    record.inode = status.st_ino;
    return entry.write(record);
}

bool write_whole(int file, std::string_view content) {
    return ::pwrite(file, content.data(), content.size(), 0) ==
           static_cast<ssize_t>(content.size());
}

// Makes it and notes it. Errors: it cannot be made.
Result<UniqueFd> make_directory(const Entry& entry, const Record& record) {
    const auto failure = [&] {
        return os::system_error(fmt::format("make {}", record.path), errno);
    };
    if (::mkdir(record.path.c_str(), 0755) != 0) return failure();
    UniqueFd place = open_place(record.path, false);
    if (place && note(entry, record, place.get())) return place;
    Error error = failure();
    (void)::rmdir(record.path.c_str()); // nobody has used it
    return error;
}

// The file appears with its content and already noted, where the file system has files without a
// name (open(2), O_TMPFILE); else whole at least, before it is noted.
Result<UniqueFd> make_file(const Entry& entry, const Record& record) {
    const std::string& path = record.path;
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    UniqueFd place(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
    if (place) {
        const std::string self = fmt::format("/proc/self/fd/{}", place.get());
        if (::fchmod(place.get(), 0644) == 0 && write_whole(place.get(), *record.content) &&
            note(entry, record, place.get()) &&
            ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0)
            return place;
    }
    place.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!place) return os::system_error(fmt::format("make {}", path), errno);
    if (write_whole(place.get(), *record.content) && note(entry, record, place.get())) return place;
    Error error = os::system_error(fmt::format("make {}", path), errno);
    (void)::unlink(path.c_str()); // nobody has used it
    return error;
}

Result<Placeholder> hold_place(Record record, const std::string& journal) {
    (void)::mkdir(journal.c_str(), 0700); // if that fails, opening the entry tells
    Entry entry = TRY(Entry::open(journal, Entry::name_for(record.path), O_CREAT));
    struct stat status = {};
    UniqueFd place;
    if (::lstat(record.path.c_str(), &status) == 0) {
        const std::optional<Record> known = entry.record();
        if (!known || !known->is(status)) entry.remove(); // not ours
        place = open_place(record.path, record.content.has_value());
        if (!place) return Placeholder{record.path, {}};
    } else {
        Result<UniqueFd> made =
            record.content ? make_file(entry, record) : make_directory(entry, record);
        if (!made) {
            entry.remove();
            return std::move(made.error());
        }
        place = std::move(*made);
    }
    if (!lock_within(place.get(), LOCK_SH, most_tries))
        return Error{ErrorKind::sandbox_unavailable,
                     fmt::format("the command was not run: '{}' is locked", record.path),
                     "another program holds a lock on it"};
    // A server with another journal may have removed it before our lock.
    if (!is_same_file(place.get(), record.path))
        return Error{ErrorKind::sandbox_unavailable,
                     fmt::format("the command was not run: '{}' keeps changing", record.path),
                     "run it again"};
    return Placeholder{std::move(record.path), std::move(place)};
}

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// Is all that is in it placeholders?
bool holds_only_ours(const std::string& path, const std::string& journal) {
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (!directory) return false;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        const std::string note = Entry::name_for(fmt::format("{}/{}", path, name));
        if (::access(fmt::format("{}/{}", journal, note).c_str(), F_OK) != 0) return false;
    }
    return true;
}

// The entry is locked. Removes the place if it is still ours and nobody holds it; keeps the entry
// only where somebody does, or where a placeholder is in it.
void remove_unheld(const Entry& entry, const Record& record, int place,
                   const std::string& journal) {
    const std::string& path = record.path;
    if (!is_untouched(record, place) || !is_same_file(place, path)) return entry.remove();
    if (::flock(place, LOCK_EX | LOCK_NB) != 0) return; // the last holder does it
    const int result = record.content ? ::unlink(path.c_str()) : ::rmdir(path.c_str());
    const bool is_filled = result != 0 && (errno == ENOTEMPTY || errno == EEXIST);
    if (is_filled && holds_only_ours(path, journal)) return;
    if (result == 0 || is_filled || errno == ENOENT) entry.remove();
}

void clear(const std::string& journal, const std::string& name, UniqueFd place) {
    Result<Entry> entry = Entry::open(journal, name, 0);
    if (!entry) return; // not ours
    const std::optional<Record> record = entry->record();
    if (!record) return entry->remove();
    if (!place) place = open_place(record->path, record->content.has_value());
    if (!place) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) entry->remove();
        return;
    }
    remove_unheld(*entry, *record, place.get(), journal);
}

} // namespace

Result<Placeholder> hold(const std::string& path, const std::string& journal) {
    Record record;
    record.path = path;
    return hold_place(std::move(record), journal);
}

Result<Placeholder> hold_file(const std::string& path, const std::string& content,
                              const std::string& journal) {
    CHECK(content.size() <= longest_content);
    Record record;
    record.path = path;
    record.content = content;
    return hold_place(std::move(record), journal);
}

void release(Placeholder placeholder, const std::string& journal) {
    if (!placeholder.lock) return;
    std::string path = std::move(placeholder.path);
    clear(journal, Entry::name_for(path), std::move(placeholder.lock));
    // An outer one may have been released before, when it was not empty yet.
    for (std::size_t slash = path.rfind('/'); slash != 0 && slash != std::string::npos;
         slash = path.rfind('/')) {
        path.resize(slash);
        const std::string name = Entry::name_for(path);
        if (::access(fmt::format("{}/{}", journal, name).c_str(), F_OK) != 0) return;
        clear(journal, name, {});
    }
}

void sweep(const std::string& journal) {
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(journal.c_str()));
    if (!directory) return;
    std::vector<std::pair<std::string, std::string>> found; // path, name
    while (const dirent* entry = ::readdir(directory.get())) {
        if (found.size() == most_swept) break;
        if (entry->d_name[0] == '.') continue;
        const UniqueFd file(::openat(::dirfd(directory.get()), entry->d_name,
                                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        const std::optional<std::string> text =
            file ? read_all(file.get(), longest_record) : std::nullopt;
        const std::optional<Record> record = text ? decode(*text) : std::nullopt;
        found.emplace_back(record ? record->path : "", entry->d_name);
    }
    std::ranges::sort(found, std::greater<>()); // inner before outer
    for (const auto& [path, name] : found)
        clear(journal, name, {});
}

} // namespace ew::sandbox
