#include "sandbox/supervise/caller.h"

#include "os/io.h"
#include "os/pidfd.h"
#include "os/proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr int deepest_chain = 64;                // ancestors to look at
constexpr std::size_t longest_table = 256 << 10; // bytes of a table of sockets
constexpr std::string_view blanks = " \t\n";
constexpr unsigned pidfd_thread = O_EXCL; // PIDFD_THREAD, Linux 6.9

std::uint64_t number_in(std::string_view text, int base = 10) {
    std::uint64_t value = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), value, base); // else 0
    return value;
}

std::string_view next_part(std::string_view& rest, std::string_view separators) {
    rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
    const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end);
    return part;
}

// A table of sockets (proc(5), /proc/net/tcp) contains, in hexadecimal, the address in words of
// this machine's byte order, the port, and the state. Does loopback reach this address?
bool is_reached_by_loopback(std::string_view address) {
    if (address.find_first_not_of('0') == std::string_view::npos) return true; // all addresses
    if (address.size() == 8) return (number_in(address, 16) & 0xff) == 127;    // 127.x.y.z
    const bool is_mapped = address.substr(0, 24) == "0000000000000000FFFF0000";
    if (is_mapped) return is_reached_by_loopback(address.substr(24));
    return address == "00000000000000000000000001000000"; // ::1
}

// One line of the table: "sl local remote state …".
struct SocketRow {
    std::string_view address;
    std::uint64_t port = 0;
    std::string_view state;
};

SocketRow row_of(std::string_view line) {
    SocketRow row;
    (void)next_part(line, blanks); // its number
    std::string_view local = next_part(line, blanks);
    (void)next_part(line, blanks); // the remote address
    row.state = next_part(line, blanks);
    row.address = next_part(local, ":");
    row.port = number_in(next_part(local, ":"), 16);
    return row;
}

// TCP tables list all listeners before any other socket.
enum class Found : std::uint8_t { yes, no, not_yet };

Found look_for(std::uint16_t port, bool udp, std::string_view line) {
    const SocketRow row = row_of(line);
    if (row.state == "st") return Found::not_yet; // the headings
    if (!udp && row.state != "0A") return Found::no;
    return row.port == port && is_reached_by_loopback(row.address) ? Found::yes : Found::not_yet;
}

bool table_has(const std::string& path, std::uint16_t port, bool udp) {
    const UniqueFd table(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 16 << 10> block;
    std::string text; // from the start of a line
    for (std::size_t total = 0; table && total < longest_table;) {
        const ssize_t count = ::read(table.get(), block.data(), block.size());
        if (count <= 0) return false;
        total += static_cast<std::size_t>(count);
        text.append(block.data(), static_cast<std::size_t>(count));
        std::string_view rest = text;
        for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
            const Found found = look_for(port, udp, rest.substr(0, end));
            if (found != Found::not_yet) return found == Found::yes;
            rest.remove_prefix(end + 1);
        }
        text = std::string(rest);
    }
    return false;
}

// The thread's own descriptor table may differ from that of its process.
UniqueFd handle_of(const Caller& caller) {
    UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, caller.thread, pidfd_thread)));
    return handle ? std::move(handle) : os::open_pidfd(caller.process);
}

} // namespace

std::string_view status_field(std::string_view status, std::string_view name) {
    while (!status.empty()) {
        const std::size_t end = std::min(status.find('\n'), status.size());
        std::string_view line = status.substr(0, end);
        status.remove_prefix(std::min(end + 1, status.size()));
        if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
        line.remove_prefix(name.size() + 1);
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        return line.substr(0, line.find_last_not_of(blanks) + 1);
    }
    return {};
}

std::vector<unsigned> numbers_in(std::string_view text) {
    std::vector<unsigned> numbers;
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    while (at < end) {
        unsigned number = 0;
        const auto parsed = std::from_chars(at, end, number);
        if (parsed.ec == std::errc()) numbers.push_back(number);
        at = parsed.ptr == at ? at + 1 : parsed.ptr;
    }
    return numbers;
}

std::optional<Caller> look_at(pid_t thread) {
    const std::string status = os::read_proc_file(fmt::format("/proc/{}/status", thread));
    const auto process = static_cast<pid_t>(number_in(status_field(status, "Tgid")));
    if (process == 0) return std::nullopt;
    return Caller{thread, process};
}

// Only the first thread of a process has the process's number, and only it can be opened as a
// process (pidfd_open(2)).
std::optional<HeldCaller> hold_caller(pid_t thread) {
    if (UniqueFd process = os::open_pidfd(thread))
        return HeldCaller{{thread, thread}, std::move(process)};
    const std::optional<Caller> caller = look_at(thread);
    if (!caller) return std::nullopt;
    return HeldCaller{*caller, handle_of(*caller)};
}

std::string program_of(const Caller& caller) {
    return os::link_target(fmt::format("/proc/{}/exe", caller.thread)).value_or("");
}

std::vector<std::string> words_of(const Caller& caller) {
    constexpr std::size_t most_words = 16;
    constexpr std::size_t longest_word = 256; // bytes
    // A program can have as many as it likes (prctl(2), PR_SET_MM).
    std::string line(most_words * (longest_word + 1), '\0');
    const UniqueFd file(
        ::open(fmt::format("/proc/{}/cmdline", caller.thread).c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t count = ::read(file.get(), line.data(), line.size());
    line.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < line.size() && words.size() < most_words;) {
        const std::size_t end = std::min(line.find('\0', begin), line.size());
        words.push_back(line.substr(begin, std::min(end - begin, longest_word)));
        begin = end + 1;
    }
    return words;
}

std::optional<std::string> read_memory(const Caller& caller, std::uint64_t from, std::size_t size) {
    std::string bytes(size, '\0');
    const iovec to = {bytes.data(), size};
    const iovec remote = {std::bit_cast<void*>(from), size};
    const ssize_t count = ::process_vm_readv(caller.thread, &to, 1, &remote, 1, 0);
    if (count >= 0 && static_cast<std::size_t>(count) == size) return bytes;
    if (count >= 0) errno = EFAULT; // the rest of the memory does not exist
    return std::nullopt;
}

// Only a socket is copied: to close another file's descriptor may wait for its file system.
int socket_error(const Caller& caller, int fd) {
    const std::optional<std::string> target =
        os::link_target(fmt::format("/proc/{}/fd/{}", caller.thread, fd));
    if (!target) return errno == ENOENT ? EBADF : 0;
    return target->starts_with("socket:[") ? 0 : ENOTSOCK;
}

UniqueFd copy_of(int handle, int fd) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, handle, fd, 0)));
}

UniqueFd copy_of(const Caller& caller, int fd) {
    UniqueFd handle = handle_of(caller);
    if (!handle) return {};
    UniqueFd copy = copy_of(handle.get(), fd);
    const int why = errno;
    handle.reset();
    errno = why;
    return copy;
}

bool is_of_network_of(const Caller& caller, int socket) {
    const UniqueFd network(::ioctl(socket, SIOCGSKNS));
    struct stat of_socket = {};
    struct stat of_caller = {};
    const std::string path = fmt::format("/proc/{}/ns/net", caller.thread);
    return network && ::fstat(network.get(), &of_socket) == 0 &&
           ::stat(path.c_str(), &of_caller) == 0 && of_socket.st_dev == of_caller.st_dev &&
           of_socket.st_ino == of_caller.st_ino;
}

// A signal for the process wakes its first thread if that thread does not block it
// (complete_signal() of the kernel).
bool has_signal(const Caller& caller) {
    const std::string status = os::read_proc_file(fmt::format("/proc/{}/status", caller.thread));
    std::uint64_t pending = number_in(status_field(status, "SigPnd"), 16);
    if (caller.thread == caller.process) pending |= number_in(status_field(status, "ShdPnd"), 16);
    return (pending & ~number_in(status_field(status, "SigBlk"), 16)) != 0;
}

bool is_served(pid_t process, const SocketAddress& address, bool udp) {
    const std::string_view name = udp ? "udp" : "tcp";
    const std::string tables = fmt::format("/proc/{}/net/{}", process, name);
    // An IPv6 socket may accept both families.
    return table_has(tables, address.port, udp) || table_has(tables + "6", address.port, udp);
}

pid_t top_of(const Caller& caller, pid_t server) {
    pid_t process = caller.process;
    for (int depth = 0; depth < deepest_chain && process > 1; ++depth) {
        const pid_t parent = os::parent_of(process);
        if (parent == server) return process;
        process = parent;
    }
    return 0;
}

} // namespace ew::sandbox
