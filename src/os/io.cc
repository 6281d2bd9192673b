#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace ew::os {

namespace {

IoResult outcome(ssize_t count, bool end_on_zero) {
    if (count > 0 || (count == 0 && !end_on_zero))
        return {IoState::progress, static_cast<std::size_t>(count)};
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {IoState::would_block, 0};
    return {IoState::end, 0};
}

} // namespace

Error system_error(std::string_view what, int error_number) {
    return {ErrorKind::internal, fmt::format("{}: {}", what, strerror(error_number))};
}

std::optional<std::string> real_path(const std::string& path) {
    char* const resolved = ::realpath(path.c_str(), nullptr); // allocated with malloc()
    if (resolved == nullptr) return std::nullopt;
    std::string result = resolved;
    std::free(resolved);
    return result;
}

std::optional<std::string> link_target(const std::string& path) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
    return std::string(text.data(), static_cast<std::size_t>(size));
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) errno = EIO;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

IoResult read_some(int fd, char* to, std::size_t size) {
    return outcome(::read(fd, to, size), true);
}

IoResult read_some(int fd, const iovec* parts, int count) {
    return outcome(::readv(fd, parts, count), true);
}

IoResult write_some(int fd, std::string_view bytes) {
    return outcome(::write(fd, bytes.data(), bytes.size()), false);
}

Result<StdioEnd> StdioEnd::open(int fd, bool for_writing) {
    struct stat info = {};
    if (::fstat(fd, &info) != 0) return system_error(fmt::format("descriptor {}", fd), errno);
    const bool is_terminal = ::isatty(fd) == 1;
    if (S_ISSOCK(info.st_mode)) {
        UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
        if (!copy) return system_error("dup", errno);
        return StdioEnd(std::move(copy), true, is_terminal);
    }
    if (S_ISFIFO(info.st_mode) || is_terminal) {
        // A new open file description, so that O_NONBLOCK affects only us (proc(5), /proc/PID/fd).
        const int flags = (for_writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
        UniqueFd own(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags));
        if (own) return StdioEnd(std::move(own), false, is_terminal);
    }
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) return system_error("dup", errno);
    TRY(set_nonblocking(copy.get()));
    return StdioEnd(std::move(copy), false, is_terminal);
}

IoResult StdioEnd::read(char* to, std::size_t size) const {
    if (is_socket_) return outcome(::recv(get(), to, size, MSG_DONTWAIT), true);
    return read_some(get(), to, size);
}

IoResult StdioEnd::write(std::string_view bytes) const {
    if (!is_socket_) return write_some(get(), bytes);
    return outcome(::send(get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

rlimit raise_open_files_limit() {
    rlimit before = {};
    (void)::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit raised = {before.rlim_max, before.rlim_max};
    (void)::setrlimit(RLIMIT_NOFILE, &raised); // lower than the hard limit: always allowed
    return before;
}

void open_missing_stdio() {
    int fd = 0;
    do
        fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) ::close(fd);
}

void mark_inherited_descriptors_close_on_exec() {
    if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
    constexpr int highest_looked_at = 1024; // kernels before 5.11
    for (int fd = 3; fd < highest_looked_at; ++fd)
        (void)::fcntl(fd, F_SETFD, FD_CLOEXEC); // most are not open
}

// A new pipe has no other flags that could be lost (pipe(2)), so F_SETFL needs no F_GETFL before
// it.
Result<Pipe> make_pipe(NonBlocking ends) {
    int pair[2];
    const int flags = ends == NonBlocking::both ? O_CLOEXEC | O_NONBLOCK : O_CLOEXEC;
    if (::pipe2(pair, flags) != 0) return system_error("pipe", errno);
    Pipe pipe = {UniqueFd(pair[0]), UniqueFd(pair[1])};
    const bool is_one_end = ends == NonBlocking::read_end || ends == NonBlocking::write_end;
    if (!is_one_end) return pipe;
    const int end = ends == NonBlocking::read_end ? pipe.read.get() : pipe.write.get();
    if (::fcntl(end, F_SETFL, O_NONBLOCK) != 0) return system_error("fcntl", errno);
    return pipe;
}

Result<SocketPair> make_socket_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair", errno);
    SocketPair pair = {UniqueFd(ends[0]), UniqueFd(ends[1])};
    TRY(set_nonblocking(pair.ours.get()));
    return pair;
}

Result<void> set_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return system_error("fcntl", errno);
    return {};
}

std::size_t readable_bytes(int fd) {
    int count = 0;
    if (::ioctl(fd, FIONREAD, &count) != 0 || count < 0) return 0;
    return static_cast<std::size_t>(count);
}

} // namespace ew::os
