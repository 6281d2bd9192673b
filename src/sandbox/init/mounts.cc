#include "sandbox/init/mounts.h"

#include "sandbox/init/mount_table.h"
#include "sandbox/init/report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ew::sandbox::init {

namespace {

using order_format::Expected;
using order_format::ExpectedKind;
using wire::Step;

// The look asks no file server and triggers no automount.
constexpr int how = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;

// STATX_MNT_ID exists from Linux 5.8 on. Before that, mounts are recognised by their paths.
bool has_mount_id(const struct statx& status) {
    return (status.stx_mask & STATX_MNT_ID) != 0;
}

bool may_be_mount(const struct statx& status) {
    return (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 ||
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Returns errno.
int look(const char* path, struct statx& status) {
    constexpr unsigned wanted = STATX_TYPE | STATX_INO | STATX_MNT_ID;
    return ::statx(AT_FDCWD, path, how, wanted, &status) == 0 ? 0 : errno;
}

void check(Expected& expected, const char* path) {
    struct statx status = {};
    if (const int error = look(path, status); error != 0) fail(Step::mounts, error, path);
    const dev_t device = ::makedev(status.stx_dev_major, status.stx_dev_minor);
    const bool is_same = device == expected.device && status.stx_ino == expected.inode;
    if (order_format::has_identity(expected.kind) && !is_same) fail(Step::mounts, ESTALE, path);
    if (expected.kind == ExpectedKind::place) return;
    if (!may_be_mount(status)) fail(Step::mounts, ESTALE, path);
    expected.mount = has_mount_id(status) ? status.stx_mnt_id : 0;
}

// A mount that can be written to.
class WritableMount {
public:
    // `path` is the unescaped path of the line.
    WritableMount(const Order& order, const MountLine& line, const char* path)
        : order_(order), line_(line), path_(path) {}

    bool is_allowed() const {
        if (const Expected* expected = find(); expected != nullptr)
            return is_as_expected(*expected);
        return is_submount() || is_all_writable() || is_own() || is_below_own() ||
               (!is_in_writable() && is_out_of_reach());
    }

private:
    const Expected* find() const {
        for (std::uint32_t i = 0; i < order_.expected_count; ++i)
            if (is(order_.expected[i], order_.expected_paths[i])) return &order_.expected[i];
        return nullptr;
    }

    bool is(const Expected& expected, const char* path) const {
        if (expected.kind == ExpectedKind::place) return false;
        if (expected.mount != 0) return expected.mount == line_.id;
        // A read-only mount may cover other mounts, which do not matter.
        const bool is_read_only =
            expected.kind == ExpectedKind::read_only || expected.kind == ExpectedKind::hidden;
        return !is_read_only && std::strcmp(path, path_) == 0;
    }

    bool is_as_expected(const Expected& expected) const {
        return expected.kind == ExpectedKind::writable ||
               (expected.kind == ExpectedKind::own && line_.type == "tmpfs");
    }

    bool is_submount() const {
        for (char** submount = order_.submounts; *submount != nullptr; ++submount)
            if (line_.source == *submount) return true;
        return false;
    }

    bool is_all_writable() const {
        for (std::uint32_t i = 0; i < order_.expected_count; ++i)
            if (order_.expected[i].kind == ExpectedKind::writable &&
                std::strcmp(order_.expected_paths[i], "/") == 0)
                return true;
        return false;
    }

    bool is_in_writable() const {
        for (std::uint32_t i = 0; i < order_.expected_count; ++i)
            if (order_.expected[i].kind == ExpectedKind::writable &&
                is_within(path_, order_.expected_paths[i]))
                return true;
        return false;
    }

    // The file systems that bubblewrap mounts at /dev and /proc.
    bool is_own() const {
        const std::string_view path = path_;
        if (path == "/dev") return line_.type == "tmpfs";
        if (path == "/dev/pts") return line_.type == "devpts";
        if (path == "/proc") return line_.type == "proc";
        struct statx status = {};
        return is_within(path, "/dev") && look(path_, status) == 0 && S_ISCHR(status.stx_mode);
    }

    // A directory in the sandbox's own /tmp, mounted on itself.
    bool is_below_own() const {
        for (std::uint32_t i = 0; i < order_.expected_count; ++i) {
            const char* const own = order_.expected_paths[i];
            struct statx status = {};
            if (order_.expected[i].kind == ExpectedKind::own && is_within(path_, own) &&
                line_.type == "tmpfs" && look(own, status) == 0 &&
                status.stx_dev_major == line_.major && status.stx_dev_minor == line_.minor)
                return true;
        }
        return false;
    }

    // bubblewrap leaves a mount writable if it lies under another mount or in a directory that we
    // may not enter. Nobody can cause this from outside at this point, since no path here is
    // writable for another process of our user.
    bool is_out_of_reach() const {
        struct statx status = {};
        const int error = look(path_, status);
        if (error != 0) return error == EACCES || error == ENOENT || error == ENOTDIR;
        if (has_mount_id(status)) return status.stx_mnt_id != line_.id;
        return status.stx_dev_major != line_.major || status.stx_dev_minor != line_.minor;
    }

    const Order& order_;
    const MountLine& line_;
    const char* path_;
};

// The lines of a file, one after the other, each in the same memory.
class Lines {
public:
    explicit Lines(int file) : file_(file) {}

    // Returns the next line without its end, writable. Returns null at the end of the file (errno
    // is 0) or after an error (errno is set).
    char* next(std::size_t& length) {
        errno = 0;
        for (;;) {
            char* const line = bytes_ + begin_;
            if (void* const end = std::memchr(line, '\n', end_ - begin_); end != nullptr) {
                length = static_cast<std::size_t>(static_cast<char*>(end) - line);
                begin_ += length + 1;
                return line;
            }
            if (!fill()) return nullptr;
        }
    }

private:
    bool fill() {
        std::memmove(bytes_, bytes_ + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        if (end_ == sizeof bytes_) {
            errno = E2BIG;
            return false;
        }
        ssize_t count = 0;
        do {
            count = ::read(file_, bytes_ + end_, sizeof bytes_ - end_);
        } while (count < 0 && errno == EINTR);
        if (count <= 0) return false;
        end_ += static_cast<std::size_t>(count);
        return true;
    }

    // The kernel writes a line into a page or more, as needed. Per mount it writes two paths and
    // options; each takes at most a page, with four bytes for an escaped character.
    char bytes_[64 << 10]; // not initialized: clearing it would take longer than reading
    int file_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

constexpr char table[] = "/proc/self/mountinfo";

// Returns the number of the mount if it can be written to, or 0.
std::uint64_t check_line(const Order& order, char* text, std::size_t length) {
    MountLine line;
    if (!parse_mount({text, length}, line)) fail(Step::mounts, EBADMSG, table);
    if (line.is_read_only) return 0;
    // The type lies behind the path, so only the blank after the path is overwritten.
    char* const path = text + (line.path.data() - text);
    path[unescape(line.path, path)] = 0;
    if (!WritableMount(order, line, path).is_allowed()) fail(Step::mounts, EPERM, path);
    return line.id;
}

void check_table(const Order& order, WritableMounts& writable) {
    const int file = ::open(table, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0 && order.may_lack_proc) return;
    if (file < 0) fail(Step::mounts, errno, table);
    Lines lines(file);
    std::size_t length = 0;
    std::uint64_t count = 0;
    std::size_t found = 0;
    while (char* const line = lines.next(length)) {
        ++count;
        const std::uint64_t id = check_line(order, line, length);
        if (id != 0 && found++ < WritableMounts::most) writable.ids[found - 1] = id;
    }
    if (errno != 0 || count == 0) fail(Step::mounts, errno != 0 ? errno : EBADMSG, table);
    ::close(file);
    writable.count = found <= WritableMounts::most ? found : 0;
}

} // namespace

void check_mounts(const Order& order, WritableMounts& writable) {
    for (std::uint32_t i = 0; i < order.expected_count; ++i)
        check(order.expected[i], order.expected_paths[i]);
    if (order.checks_mounts) check_table(order, writable);
}

} // namespace ew::sandbox::init
