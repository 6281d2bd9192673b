#include "sandbox/launch/namespaces.h"

#include "base/clock.h"
#include "os/forked.h"
#include "os/io.h"
#include "os/proc.h"
#include "sandbox/init/wire.h"
#include "sandbox/plan/machine_entries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

constexpr Millis longest{10'000}; // for bubblewrap; it takes a few milliseconds
constexpr std::string_view holder_path = "/execward-init";

std::vector<std::string> arguments_for(const Machine& machine) {
    std::vector<std::string> words = {machine.bubblewrap, "--unshare-user"};
    const auto add = [&words](std::initializer_list<std::string_view> more) {
        words.insert(words.end(), more.begin(), more.end());
    };
    if (machine.has_network_namespace) add({"--unshare-net"});
    const std::string size = std::to_string(most_in_own_directory());
    if (machine.takes_size) add({"--size", size});
    add({"--perms", "0755", "--tmpfs", session_path, "--dir", new_root_path, "--dev-bind", "/",
         host_path, "--ro-bind", machine.init, holder_path, "--die-with-parent", "--cap-add", "ALL",
         "--", holder_path, "hold", machine.has_network_namespace ? "network" : "no-network"});
    return words;
}

// In the child: `records` is its end of the socket, `messages` that of a pipe.
[[noreturn]] void execute_bubblewrap(std::vector<std::string> words, int records, int messages,
                                     pid_t parent) {
    constexpr int out_of_the_way = 16;
    constexpr int not_run = 125;
    if (!os::dies_with(parent)) ::_exit(not_run);
    const int from_us = ::fcntl(records, F_DUPFD, out_of_the_way);
    const int to_us = ::fcntl(messages, F_DUPFD, out_of_the_way);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(nothing, 0) < 0 || ::dup2(to_us, 1) < 0 || ::dup2(to_us, 2) < 0 ||
        ::dup2(from_us, wire::status_fd) < 0)
        ::_exit(not_run);
    os::close_all_but({wire::status_fd});
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    char* const no_environment[] = {nullptr};
    ::execve(argv[0], argv.data(), no_environment);
    const std::string text = fmt::format("cannot execute '{}': {}", argv[0], ::strerror(errno));
    (void)os::write_all(2, text);
    ::_exit(not_run);
}

// bubblewrap, from its start until it has been reaped.
class Maker {
public:
    explicit Maker(pid_t pid) : pid_(pid) {}

    Maker(const Maker&) = delete;
    Maker& operator=(const Maker&) = delete;

    ~Maker() {
        (void)::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    }

private:
    pid_t pid_;
};

UniqueFd descriptor_in(msghdr& message) {
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    if (part == nullptr || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
        return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd); // execward-init sends one
    return UniqueFd(fd);
}

// Returns false at the end, after an error, and if it takes too long.
bool receive(int records, wire::Record& record, UniqueFd& descriptor, TimePoint deadline) {
    pollfd ready = {records, POLLIN, 0};
    const auto rest = std::chrono::ceil<Millis>(deadline - clock_now()).count();
    if (rest <= 0 || ::poll(&ready, 1, static_cast<int>(rest)) != 1) return false;
    std::array<iovec, 1> parts = {{{&record, sizeof record}}};
    alignas(cmsghdr) std::array<char, 256> control = {};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(records, &message, MSG_CMSG_CLOEXEC);
    if (size < static_cast<ssize_t>(sizeof record)) return false;
    descriptor = descriptor_in(message);
    return true;
}

Error failure(int messages, const wire::Record& last) {
    std::string text(2048, '\0');
    const os::IoResult result = os::read_some(messages, text.data(), text.size());
    text.resize(result.state == os::IoState::progress ? result.count : 0);
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    if (text.empty() && last.kind == wire::RecordKind::failed)
        text = fmt::format("entering its namespaces: {}", ::strerror(static_cast<int>(last.value)));
    if (text.empty()) text = "making its namespaces took too long, or was ended";
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: its sandbox could not be made: {}", text),
            "execward doctor tells what this machine can enforce"};
}

// Do later mounts of the machine appear wherever its mounts were copied? The optional fields of a
// line, before " - ", say so (proc_pid_mountinfo(5)).
bool is_passed_on(std::string_view line) {
    const std::string_view fields = line.substr(0, line.find(" - "));
    return fields.find(" shared:") != std::string_view::npos ||
           fields.find(" master:") != std::string_view::npos;
}

} // namespace

void Namespaces::take(wire::Namespace which, UniqueFd descriptor) {
    switch (which) {
    case wire::Namespace::users: users = std::move(descriptor); return;
    case wire::Namespace::mounts: mounts = std::move(descriptor); return;
    case wire::Namespace::network: network = std::move(descriptor); return;
    }
}

std::uint64_t machine_mounts() {
    const std::string table = os::read_proc_file("/proc/self/mountinfo");
    bool are_passed_on = !table.empty();
    for (std::size_t begin = 0; begin < table.size() && are_passed_on;) {
        const std::size_t end = std::min(table.find('\n', begin), table.size());
        are_passed_on = is_passed_on(std::string_view(table).substr(begin, end - begin));
        begin = end + 1;
    }
    if (are_passed_on) return 0;
    std::uint64_t number = 0xcbf29ce484222325; // FNV-1a, 64 bits: no attacker chooses the text
    for (std::size_t begin = 0; begin < table.size();) {
        const std::size_t end = std::min(table.find('\n', begin), table.size());
        // The first two words of a line are numbers that differ in each copy.
        const std::size_t second = table.find(' ', begin);
        begin = std::min(table.find(' ', second + 1), end);
        for (; begin < end; ++begin)
            number = (number ^ static_cast<unsigned char>(table[begin])) * 0x100000001b3;
        ++begin;
    }
    return number == 0 ? 1 : number;
}

Result<Namespaces> make_namespaces(const Machine& machine) {
    int records[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, records) != 0)
        return os::system_error("socketpair", errno);
    const UniqueFd ours(records[0]);
    UniqueFd theirs(records[1]);
    os::Pipe messages = TRY(os::make_pipe());
    TRY(os::set_nonblocking(messages.read.get()));
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return os::system_error("create a process", errno);
    if (pid == 0)
        execute_bubblewrap(arguments_for(machine), theirs.get(), messages.write.get(), parent);
    const Maker maker(pid);
    theirs.reset();
    messages.write.reset();

    Namespaces result;
    result.machine_mounts = machine_mounts();
    const TimePoint deadline = clock_now() + longest;
    while (!result.exist()) {
        wire::Record record;
        UniqueFd descriptor;
        const bool is_there = receive(ours.get(), record, descriptor, deadline);
        if (!is_there || record.kind != wire::RecordKind::name_space || !descriptor)
            return failure(messages.read.get(), record);
        result.take(static_cast<wire::Namespace>(record.step), std::move(descriptor));
    }
    return result;
}

// In the user namespace that owns the network we may have the right to enter it.
bool enter_network(int network) {
    if (::setns(network, CLONE_NEWNET) == 0) return true;
    const UniqueFd owner(::ioctl(network, NS_GET_USERNS));
    return owner && ::setns(owner.get(), CLONE_NEWUSER) == 0 && ::setns(network, CLONE_NEWNET) == 0;
}

} // namespace ew::sandbox
