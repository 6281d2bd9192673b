#include "sandbox/supervise/socket_owners.h"

#include "base/unique_fd.h"
#include "os/directory.h"
#include "os/forked.h"
#include "os/proc.h"
#include "sandbox/launch/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

// A socket file as the kernel names it internally: the device is that of the superblock, which
// stat(2) replaces in some file systems.
struct FileIdentity {
    std::uint32_t inode = 0; // its low half, as sock_diag(7) has it
    std::uint32_t device = 0;
};

template <class T>
T number_in(std::string_view text) {
    T value = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), value); // 0 if there is no number
    return value;
}

// "36 35 98:0 /root /mount …" (proc(5), mountinfo): returns the device of the mount with that
// number.
std::optional<std::uint32_t> device_in(std::string_view mounts, std::string_view mount) {
    while (!mounts.empty()) {
        const std::size_t end = std::min(mounts.find('\n'), mounts.size());
        std::string_view line = mounts.substr(0, end);
        mounts.remove_prefix(std::min(end + 1, mounts.size()));
        if (!line.starts_with(mount) || line.substr(mount.size(), 1) != " ") continue;
        line.remove_prefix(mount.size() + 1);
        line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
        const std::size_t colon = std::min(line.find(':'), line.size() - 1);
        constexpr unsigned minor_bits = 20; // of the kernel's dev_t
        return number_in<std::uint32_t>(line) << minor_bits |
               number_in<std::uint32_t>(line.substr(colon + 1));
    }
    return std::nullopt;
}

std::optional<FileIdentity> identity_of(const Caller& caller, int socket) {
    struct stat info = {};
    if (::fstat(socket, &info) != 0) return std::nullopt;
    const std::string about = os::read_proc_file(fmt::format("/proc/self/fdinfo/{}", socket));
    const std::string_view mount = status_field(about, "mnt_id");
    if (mount.empty()) return std::nullopt;
    const std::string mounts = os::read_proc_file(fmt::format("/proc/{}/mountinfo", caller.thread));
    const std::optional<std::uint32_t> device = device_in(mounts, mount);
    if (!device) return std::nullopt;
    return FileIdentity{static_cast<std::uint32_t>(info.st_ino), *device};
}

bool ask_for_listeners(int netlink, std::uint32_t shown) {
    struct {
        nlmsghdr header;
        unix_diag_req request;
    } message = {};

    message.header.nlmsg_len = sizeof message;
    message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.request.sdiag_family = AF_UNIX;
    message.request.udiag_states = 1U << TCP_LISTEN; // the states of TCP stand for those of unix(7)
    message.request.udiag_show = shown;
    return ::send(netlink, &message, sizeof message, 0) == static_cast<ssize_t>(sizeof message);
}

// Returns the value of the attribute of that type, or nullopt if there is none.
std::optional<std::string_view> attribute_in(std::string_view attributes, std::uint16_t type) {
    while (attributes.size() >= sizeof(rtattr)) {
        rtattr attribute = {};
        std::memcpy(&attribute, attributes.data(), sizeof attribute);
        if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) break;
        if (attribute.rta_type == type)
            return attributes.substr(RTA_LENGTH(0), attribute.rta_len - std::size_t{RTA_LENGTH(0)});
        attributes.remove_prefix(
            std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
    }
    return std::nullopt;
}

// A listener, with the attributes that were asked for.
using Match = std::function<bool(const unix_diag_msg& socket, std::string_view attributes)>;

enum class Answer : std::uint8_t { goes_on, is_complete, is_broken };

// Adds the inodes of the matching sockets in one datagram of the answer.
Answer take_messages(std::string_view bytes, const Match& match,
                     std::vector<std::uint32_t>& inodes) {
    while (bytes.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header = {};
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size())
            return Answer::is_broken;
        if (header.nlmsg_type == NLMSG_DONE) return Answer::is_complete;
        const std::string_view body =
            bytes.substr(NLMSG_HDRLEN, header.nlmsg_len - std::size_t{NLMSG_HDRLEN});
        unix_diag_msg socket = {};
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || body.size() < sizeof socket)
            return Answer::is_broken;
        std::memcpy(&socket, body.data(), sizeof socket);
        const bool listens = socket.udiag_state == TCP_LISTEN;
        if (listens && match(socket, body.substr(NLMSG_ALIGN(sizeof socket))))
            inodes.push_back(socket.udiag_ino);
        bytes.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), bytes.size()));
    }
    return Answer::goes_on;
}

// Returns the inodes of the matching listeners in this network namespace, or nullopt if the kernel
// does not tell all of them.
std::optional<std::vector<std::uint32_t>> find_listeners(std::uint32_t shown, const Match& match) {
    std::vector<std::uint32_t> inodes;
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink || !ask_for_listeners(netlink.get(), shown)) return std::nullopt;
    std::vector<char> block(64 << 10); // larger than any datagram of the kernel
    for (;;) {
        const ssize_t count = ::recv(netlink.get(), block.data(), block.size(), 0);
        if (count <= 0) return std::nullopt;
        const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
        switch (take_messages(bytes, match, inodes)) {
        case Answer::goes_on: break;
        case Answer::is_complete: return inodes;
        case Answer::is_broken: return std::nullopt;
        }
    }
}

std::vector<std::uint32_t> listeners_on(const FileIdentity& file) {
    const auto is_bound = [&file](const unix_diag_msg& /*socket*/, std::string_view attributes) {
        const std::optional<std::string_view> value = attribute_in(attributes, UNIX_DIAG_VFS);
        unix_diag_vfs at = {};
        if (!value || value->size() < sizeof at) return false;
        std::memcpy(&at, value->data(), sizeof at);
        return at.udiag_vfs_ino == file.inode && at.udiag_vfs_dev == file.device;
    };
    return find_listeners(UDIAG_SHOW_VFS, is_bound).value_or(std::vector<std::uint32_t>());
}

std::optional<std::vector<std::uint32_t>> listeners_on(const AbstractName& name) {
    std::string bytes(1, '\0');
    bytes += name.name;
    const auto is_bound = [&](const unix_diag_msg& socket, std::string_view attributes) {
        return socket.udiag_type == name.type && attribute_in(attributes, UNIX_DIAG_NAME) == bytes;
    };
    return find_listeners(UDIAG_SHOW_NAME, is_bound);
}

// A child process asks, since a process cannot leave a user namespace again.
bool is_listened_in(int network, const FileIdentity& file) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
        if (!os::dies_with(parent) || !enter_network(network)) ::_exit(1);
        ::_exit(listeners_on(file).empty() ? 1 : 0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct HeldSocket {
    pid_t process = 0;
    int fd = -1;
};

// Returns a descriptor of the process for one of the sockets ("socket:[INODE]"), if it has one.
std::optional<HeldSocket> socket_held_by(pid_t process, const std::vector<std::string>& sockets) {
    const os::Directory open = os::open_directory(fmt::format("/proc/{}/fd", process));
    if (!open) return std::nullopt;
    std::array<char, 64> link;
    while (const dirent* entry = ::readdir(open.get())) {
        const ssize_t size =
            ::readlinkat(::dirfd(open.get()), entry->d_name, link.data(), link.size());
        if (size <= 0) continue;
        const std::string_view text(link.data(), static_cast<std::size_t>(size));
        if (std::find(sockets.begin(), sockets.end(), text) != sockets.end())
            return HeldSocket{process, number_in<int>(entry->d_name)};
    }
    return std::nullopt;
}

// For a network that the sandbox shares with the machine: returns the descriptor by which a process
// of the sandbox holds one of the sockets.
std::optional<HeldSocket> socket_held_inside(const Caller& caller, pid_t server,
                                             const std::vector<std::uint32_t>& inodes) {
    const pid_t top = top_of(caller, server);
    if (top == 0 || inodes.empty()) return std::nullopt;
    std::vector<std::string> sockets;
    sockets.reserve(inodes.size());
    for (const std::uint32_t inode : inodes)
        sockets.push_back(fmt::format("socket:[{}]", inode));
    if (const std::optional<HeldSocket> held = socket_held_by(top, sockets)) return held;
    for (const os::ProcessIdentity& process : os::descendants_of(top))
        if (const std::optional<HeldSocket> held = socket_held_by(process.pid, sockets))
            return held;
    return std::nullopt;
}

bool is_one_of(int socket, const std::vector<std::uint32_t>& inodes) {
    struct stat info = {};
    if (::fstat(socket, &info) != 0) return false;
    return std::find(inodes.begin(), inodes.end(), info.st_ino) != inodes.end();
}

} // namespace

bool is_listened_inside(const Caller& caller, int socket, pid_t server) {
    const std::optional<FileIdentity> file = identity_of(caller, socket);
    if (!file) return false;
    const std::string path = fmt::format("/proc/{}/ns/net", caller.thread);
    const UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat theirs = {};
    struct stat ours = {};
    if (!network || ::fstat(network.get(), &theirs) != 0) return false;
    if (::stat("/proc/self/ns/net", &ours) != 0) return false;
    if (theirs.st_ino != ours.st_ino) return is_listened_in(network.get(), *file);
    return socket_held_inside(caller, server, listeners_on(*file)).has_value();
}

NameOwner find_owner(const Caller& caller, const AbstractName& name, pid_t server) {
    using Kind = NameOwner::Kind;
    const std::optional<std::vector<std::uint32_t>> listeners = listeners_on(name);
    if (!listeners) return {};
    if (listeners->empty()) return {Kind::nobody, {}};
    const std::optional<HeldSocket> held = socket_held_inside(caller, server, *listeners);
    if (!held) return {};
    UniqueFd listener = copy_of({held->process, held->process}, held->fd);
    // The descriptor may have changed since it was found.
    if (!listener || !is_one_of(listener.get(), *listeners)) return {};
    return {Kind::sandbox, std::move(listener)};
}

} // namespace ew::sandbox
