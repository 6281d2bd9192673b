#include "os/input_reader.h"

#include "os/blocked_call.h"
#include "os/directory.h"
#include "os/io.h"
#include "os/proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ew::os {

namespace {

constexpr std::size_t most_threads = 256;
constexpr std::size_t most_watched = 256;  // descriptors of one call
constexpr unsigned terminal_major = 136;   // of the slaves that /dev/ptmx makes (pts(4))
constexpr unsigned own_terminal_major = 5; // /dev/tty is 5:0 (tty(4))

// A thread that sleeps in a system call.
class SleepingThread {
public:
    SleepingThread(pid_t process, pid_t thread)
        : process_(process), path_(fmt::format("/proc/{}/task/{}", process, thread)) {}

    const std::string& path() const { return path_; }

    bool reads(const BlockedCall& call, InputWait wait, const InputFile& file) const;
    bool returns_soon(const BlockedCall& call, const InputWaitForm& form) const;

private:
    std::optional<std::string> memory(std::uint64_t from, std::size_t size) const;
    bool is_file(int fd, const InputFile& file) const;

    pid_t process_;
    std::string path_;
};

std::optional<std::string> SleepingThread::memory(std::uint64_t from, std::size_t size) const {
    std::string bytes(size, '\0');
    const iovec to = {bytes.data(), size};
    const iovec remote = {std::bit_cast<void*>(from), size};
    const ssize_t count = ::process_vm_readv(process_, &to, 1, &remote, 1, 0);
    if (count != static_cast<ssize_t>(size)) return std::nullopt;
    return bytes;
}

// A terminal has many paths, so its device number decides. AT_STATX_DONT_SYNC asks no file server.
bool SleepingThread::is_file(int fd, const InputFile& file) const {
    const std::string link = fmt::format("{}/fd/{}", path_, fd);
    const std::string target = link_target(link).value_or("");
    if (file.kind == InputFile::Kind::pipe) return target == fmt::format("pipe:[{}]", file.number);
    if (target.find("/dev/") == std::string::npos) return false;
    struct statx status = {};
    if (::statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
    const std::uint64_t device = makedev(status.stx_rdev_major, status.stx_rdev_minor);
    return S_ISCHR(status.stx_mode) &&
           (device == file.number || device == makedev(own_terminal_major, 0));
}

bool SleepingThread::reads(const BlockedCall& call, InputWait wait, const InputFile& file) const {
    const auto& arguments = call.arguments;
    std::vector<int> watched;
    switch (wait) {
    case InputWait::read: return is_file(static_cast<int>(arguments[0]), file);
    case InputWait::poll: {
        const std::size_t count = std::min<std::size_t>(arguments[1], most_watched);
        constexpr std::size_t entry_size = 8; // of a pollfd
        watched = watched_by_poll(memory(arguments[0], count * entry_size).value_or(""));
        break;
    }
    case InputWait::select: {
        const std::size_t count = std::min<std::size_t>(arguments[0], FD_SETSIZE);
        watched = watched_by_select(memory(arguments[1], (count + 63) / 64 * 8).value_or(""));
        break;
    }
    case InputWait::epoll:
        watched = watched_by_epoll(
            read_proc_file(fmt::format("{}/fdinfo/{}", path_, static_cast<int>(arguments[0]))));
        break;
    }
    if (watched.size() > most_watched) watched.resize(most_watched);
    return std::ranges::any_of(watched, [&](int fd) { return is_file(fd, file); });
}

// Both structs begin with the seconds; then come nanoseconds or microseconds.
bool SleepingThread::returns_soon(const BlockedCall& call, const InputWaitForm& form) const {
    const std::uint64_t argument = call.arguments[form.limit_argument];
    if (form.limit == TimeLimit::none) return false;
    if (form.limit == TimeLimit::milliseconds) {
        const int limit = static_cast<int>(argument);
        return limit >= 0 && static_cast<std::uint64_t>(limit) < ReaderLook::soon_ms;
    }
    if (argument == 0) return false; // no limit
    std::uint64_t parts[2] = {};
    const std::optional<std::string> bytes = memory(argument, sizeof parts);
    if (!bytes) return true;
    std::memcpy(parts, bytes->data(), sizeof parts);
    const std::uint64_t per_ms = form.limit == TimeLimit::timespec ? 1'000'000 : 1'000;
    return parts[0] == 0 && parts[1] / per_ms < ReaderLook::soon_ms;
}

std::uint64_t number_at(std::string_view text) {
    std::uint64_t value = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::uint64_t sleeps_of(const std::string& thread) {
    constexpr std::string_view label = "\nvoluntary_ctxt_switches:\t";
    const std::string status = read_proc_file(thread + "/status");
    const std::size_t at = status.find(label);
    return at == std::string::npos ? 0
                                   : number_at(std::string_view(status).substr(at + label.size()));
}

// The file has the nanoseconds that the thread has run, and those that it has waited to run.
// Returns nullopt if the kernel does not count them.
std::optional<std::uint64_t> busy_ms_of(const std::string& thread) {
    const std::string times = read_proc_file(thread + "/schedstat");
    const std::size_t blank = times.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    return (number_at(times) + number_at(std::string_view(times).substr(blank + 1))) / 1'000'000;
}

// Returns true if the search is over: a reader that does not return soon needs no further look.
bool look_at_thread(pid_t process, pid_t thread, const InputFile& file, ReaderLook& look) {
    const char state = state_of_thread(process, thread);
    if (state == 'R') look.is_busy = true;
    if (state != 'S') return false;
    const SleepingThread sleeping(process, thread);
    const std::string text = read_proc_file(sleeping.path() + "/syscall");
    if (text.empty() && living_process(process)) look.is_hidden = true;
    const std::optional<BlockedCall> call = parse_blocked_call(text);
    if (!call) return false;
    const std::optional<InputWaitForm> form = input_wait_form(call->number);
    if (!form || !sleeping.reads(*call, form->wait, file)) return false;
    const bool is_timed_read = form->wait == InputWait::read && file.reads_return_soon;
    const bool returns_soon = is_timed_read || sleeping.returns_soon(*call, *form);
    const std::optional<std::uint64_t> busy_ms = busy_ms_of(sleeping.path());
    if (returns_soon && !busy_ms) return false; // it cannot be told from a thread that works
    look.reader = {thread, sleeps_of(sleeping.path()), busy_ms.value_or(0), returns_soon};
    return !returns_soon;
}

} // namespace

std::optional<InputFile> terminal_of_master(int master) {
    constexpr cc_t soon = ReaderLook::soon_ms / 100; // VTIME counts tenths of a second
    unsigned number = 0;
    termios mode = {};
    if (::ioctl(master, TIOCGPTN, &number) != 0 || ::tcgetattr(master, &mode) != 0)
        return std::nullopt;
    const bool is_timed =
        (mode.c_lflag & ICANON) == 0 && mode.c_cc[VMIN] == 0 && mode.c_cc[VTIME] < soon;
    return InputFile{InputFile::Kind::terminal, makedev(terminal_major, number), is_timed};
}

std::optional<InputFile> pipe_of_end(int end) {
    struct stat status = {};
    if (::fstat(end, &status) != 0) return std::nullopt;
    return InputFile{InputFile::Kind::pipe, status.st_ino};
}

// The first thread reads in most programs, and the kernel lists it first.
ReaderLook look_for_reader(pid_t process, const InputFile& file) {
    ReaderLook look;
    const Directory threads = open_directory(fmt::format("/proc/{}/task", process));
    if (!threads) {
        look.is_hidden = ::kill(process, 0) == 0 || errno == EPERM; // proc(5), hidepid
        return look;
    }
    std::size_t left = most_threads;
    while (const dirent* entry = left > 0 ? ::readdir(threads.get()) : nullptr) {
        pid_t thread = 0;
        const std::string_view name = entry->d_name;
        if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc())
            continue;
        if (look_at_thread(process, thread, file, look)) return look;
        --left;
    }
    return look;
}

} // namespace ew::os
