#include "sandbox/launch/placeholder_journal.h"

#include "base/clock.h"
#include "core/sha256.h"
#include "os/file_lock.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_record = 8192;
constexpr Millis patience{15'000}; // for a lock, which others hold while they wait for the disk
constexpr int most_tries = 200;    // to lock an entry that other servers remove

// "device inode\n", the path, a NUL, and for a file an '=' and its content.
std::string encode(const PlaceholderRecord& record) {
    std::string text = fmt::format("{} {}\n{}", record.device, record.inode, record.path);
    text.push_back('\0');
    if (record.content) text.append("=").append(*record.content);
    return text;
}

std::optional<PlaceholderRecord> decode(std::string_view text) {
    PlaceholderRecord record;
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

} // namespace

bool PlaceholderRecord::is(const struct stat& status) const {
    return status.st_dev == device && status.st_ino == inode &&
           (content ? S_ISREG(status.st_mode) : S_ISDIR(status.st_mode));
}

std::optional<PlaceholderRecord> read_record(int file) {
    const std::optional<std::string> text = read_all(file, longest_record);
    return text ? decode(*text) : std::nullopt;
}

void make_journal(const std::string& journal) {
    if (::mkdir(journal.c_str(), 0700) == 0 || errno != ENOENT) return;
    for (std::size_t slash = journal.find('/', 1); slash != std::string::npos;
         slash = journal.find('/', slash + 1))
        (void)::mkdir(journal.substr(0, slash).c_str(), 0700);
    (void)::mkdir(journal.c_str(), 0700);
}

std::string JournalEntry::name_for(const std::string& path) {
    return core::sha256(path);
}

Result<JournalEntry> JournalEntry::open(const std::string& journal, const std::string& name,
                                        int flags) {
    JournalEntry entry;
    entry.path_ = journal + "/" + name;
    for (int i = 0; i < most_tries; ++i) {
        entry.file_.reset(
            ::open(entry.path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
        if (!entry.file_) return os::system_error(fmt::format("open {}", entry.path_), errno);
        if (!os::lock_within(entry.file_.get(), LOCK_EX, patience)) break;
        if (is_same_file(entry.file_.get(), AT_FDCWD, entry.path_)) return entry;
    }
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the command was not run: {} is locked", entry.path_),
                 "another program holds a lock on it"};
}

bool JournalEntry::write(const PlaceholderRecord& record) const {
    const std::string text = encode(record);
    // If the process is killed between the two calls, the entry still names the path of a possible
    // placeholder.
    return text.size() <= longest_record &&
           ::pwrite(file_.get(), text.data(), text.size(), 0) ==
               static_cast<ssize_t>(text.size()) &&
           ::ftruncate(file_.get(), static_cast<off_t>(text.size())) == 0;
}

void JournalEntry::remove() const {
    (void)::unlink(path_.c_str());
}

std::optional<std::string> read_all(int file, std::size_t most) {
    std::string text(most + 1, '\0');
    const ssize_t count = ::pread(file, text.data(), text.size(), 0);
    if (count < 0 || static_cast<std::size_t>(count) > most) return std::nullopt;
    text.resize(static_cast<std::size_t>(count));
    return text;
}

bool is_same_file(int file, int directory, const std::string& name) {
    struct stat open = {};
    struct stat there = {};
    return ::fstat(file, &open) == 0 &&
           ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

} // namespace ew::sandbox
