#include "cli/run/terminal_relay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ew::cli {

namespace {

bool are_equal(const termios& one, const termios& other) {
    return one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag &&
           one.c_cflag == other.c_cflag && one.c_lflag == other.c_lflag &&
           std::ranges::equal(one.c_cc, other.c_cc);
}

} // namespace

Flow::Flow(End source, End target)
    : source_(std::move(source)), target_(std::move(target)), bytes_(new char[capacity]) {}

int Flow::fd_of(const End& end) {
    if (const auto* const own = std::get_if<UniqueFd>(&end)) return own->get();
    if (const auto* const callers = std::get_if<os::StdioEnd>(&end)) return callers->get();
    return -1;
}

pollfd Flow::source() const {
    return {is_held_up() ? -1 : fd_of(source_), POLLIN, 0};
}

// Even without an event to wait for, poll(2) reports that the target has no reader any more.
pollfd Flow::target() const {
    return {fd_of(target_), static_cast<short>(is_held_up() ? POLLOUT : 0), 0};
}

bool Flow::on_ready(short source_events, short target_events) {
    constexpr short gone = POLLERR | POLLHUP | POLLNVAL;
    if (!is_open()) return false;
    if ((target_events & gone) != 0) {
        close();
        return true;
    }
    bool has_moved = false;
    if (!is_held_up() && (source_events & (POLLIN | gone)) != 0) has_moved = fill();
    if (is_held_up()) has_moved = empty_out() || has_moved;
    if (is_open() && !is_reading() && !is_held_up()) close();
    return has_moved;
}

bool Flow::fill() {
    os::IoResult result;
    if (const auto* const own = std::get_if<UniqueFd>(&source_))
        result = os::read_some(own->get(), bytes_.get(), capacity);
    else if (const auto* const callers = std::get_if<os::StdioEnd>(&source_))
        result = callers->read(bytes_.get(), capacity);
    if (result.state == os::IoState::end) {
        source_ = std::monostate{};
        has_source_ended_ = true;
    }
    begin_ = 0;
    end_ = result.count;
    if (look_ && is_held_up()) look_({bytes_.get(), end_});
    return result.state != os::IoState::would_block;
}

bool Flow::empty_out() {
    bool has_moved = false;
    while (is_held_up()) {
        const std::string_view waiting(bytes_.get() + begin_, end_ - begin_);
        os::IoResult result;
        if (const auto* const own = std::get_if<UniqueFd>(&target_))
            result = os::write_some(own->get(), waiting);
        else if (const auto* const callers = std::get_if<os::StdioEnd>(&target_))
            result = callers->write(waiting);
        if (result.state == os::IoState::would_block) return has_moved;
        has_moved = true;
        if (result.state == os::IoState::end) {
            if (errno != EPIPE) write_error_ = errno;
            close();
            return has_moved;
        }
        begin_ += result.count;
    }
    return has_moved;
}

void Flow::close() {
    if (!is_open()) return;
    untaken_ = end_ - begin_ + os::readable_bytes(fd_of(target_));
    begin_ = end_ = 0;
    source_ = std::monostate{};
    target_ = std::monostate{};
}

Result<std::unique_ptr<CallerTerminal>> CallerTerminal::of(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) return os::system_error("dup", errno);
    std::unique_ptr<CallerTerminal> terminal(new CallerTerminal(std::move(copy)));
    termios settings = {};
    if (::tcgetattr(terminal->fd_.get(), &settings) != 0)
        return os::system_error("read the settings of the terminal", errno);
    if (terminal->is_ours()) terminal->settings_ = settings;
    return terminal;
}

CallerTerminal::~CallerTerminal() {
    restore();
}

bool CallerTerminal::is_ours() const {
    const pid_t foreground = ::tcgetpgrp(fd_.get());
    // On an error the terminal belongs to no session or to another one, and nothing stops us.
    return foreground < 0 || foreground == ::getpgrp();
}

Result<void> CallerTerminal::make_raw() {
    termios now = {};
    if (::tcgetattr(fd_.get(), &now) != 0)
        return os::system_error("read the settings of the terminal", errno);
    if (raw_ && are_equal(*raw_, now)) return {};
    termios raw = now;
    ::cfmakeraw(&raw);
    if (::tcsetattr(fd_.get(), TCSADRAIN, &raw) != 0 || ::tcgetattr(fd_.get(), &raw) != 0)
        return os::system_error("change the settings of the terminal", errno);
    settings_ = now;
    raw_ = raw;
    return {};
}

void CallerTerminal::restore() {
    if (!raw_ || !is_ours()) return;
    (void)::tcsetattr(fd_.get(), TCSADRAIN, &*settings_); // the terminal may be gone
    raw_.reset();
}

winsize CallerTerminal::size() const {
    winsize size = {};
    if (::ioctl(fd_.get(), TIOCGWINSZ, &size) != 0) return {};
    return size;
}

StdioGuard::~StdioGuard() {
    for (const Shared& shared : shared_)
        if (shared.fd) (void)::fcntl(shared.fd.get(), F_SETFL, shared.flags); // as before
}

Result<CallerStreams> StdioGuard::open() {
    CallerStreams streams;
    int flags[3] = {};
    for (int fd = 0; fd < 3; ++fd)
        flags[fd] = ::fcntl(fd, F_GETFL);
    struct stat input = {};
    if (::fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode))
        file_ = UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    streams.input.emplace(TRY(os::StdioEnd::open(STDIN_FILENO, false)));
    streams.output.emplace(TRY(os::StdioEnd::open(STDOUT_FILENO, true)));
    streams.errors.emplace(TRY(os::StdioEnd::open(STDERR_FILENO, true)));
    for (int fd = 0; fd < 3; ++fd)
        remember(fd, flags[fd]);
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!nothing) return os::system_error("open /dev/null", errno);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
        if (::dup2(nothing.get(), fd) < 0) return os::system_error("dup", errno);
    return streams;
}

// Remembers the flags only if opening the descriptor changed them for other processes: see
// StdioEnd.
void StdioGuard::remember(int fd, int flags) {
    if (flags < 0 || ::fcntl(fd, F_GETFL) == flags) return;
    shared_[fd] = {UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), flags};
}

void StdioGuard::give_back(std::size_t count) {
    if (!file_ || count == 0) return;
    (void)::lseek(file_.get(), -static_cast<off_t>(count), SEEK_CUR); // stdin was read from there
}

bool is_one_terminal(int input, int output, int errors) {
    struct stat info = {};
    if (::isatty(input) != 1 || ::fstat(input, &info) != 0) return false;
    const dev_t device = info.st_rdev;
    for (const int fd : {output, errors})
        if (::isatty(fd) != 1 || ::fstat(fd, &info) != 0 || info.st_rdev != device) return false;
    return true;
}

} // namespace ew::cli
