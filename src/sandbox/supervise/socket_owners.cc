#include "sandbox/supervise/socket_owners.h"

#include "base/unique_fd.h"
#include "os/directory.h"
#include "os/forked.h"
#include "os/proc.h"

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
#include <optional>
#include <string>
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

bool ask_for_listeners(int netlink) {
    struct {
        nlmsghdr header;
        unix_diag_req request;
    } message = {};

    message.header.nlmsg_len = sizeof message;
    message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.request.sdiag_family = AF_UNIX;
    message.request.udiag_states = 1U << TCP_LISTEN; // the states of TCP stand for those of unix(7)
    message.request.udiag_show = UDIAG_SHOW_VFS;
    return ::send(netlink, &message, sizeof message, 0) == static_cast<ssize_t>(sizeof message);
}

bool is_bound_to(std::string_view attributes, const FileIdentity& file) {
    while (attributes.size() >= sizeof(rtattr)) {
        rtattr attribute = {};
        std::memcpy(&attribute, attributes.data(), sizeof attribute);
        if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) break;
        unix_diag_vfs at = {};
        const bool is_place =
            attribute.rta_type == UNIX_DIAG_VFS && attribute.rta_len >= RTA_LENGTH(sizeof at);
        if (is_place) {
            std::memcpy(&at, attributes.data() + RTA_LENGTH(0), sizeof at);
            return at.udiag_vfs_ino == file.inode && at.udiag_vfs_dev == file.device;
        }
        attributes.remove_prefix(
            std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
    }
    return false;
}

// Adds the matching sockets in one datagram of the answer. Returns false if it was the last one.
bool take_messages(std::string_view bytes, const FileIdentity& file,
                   std::vector<std::uint32_t>& sockets) {
    while (bytes.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header = {};
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) return false;
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return false; // the end, or an error
        const std::string_view body =
            bytes.substr(NLMSG_HDRLEN, header.nlmsg_len - std::size_t{NLMSG_HDRLEN});
        unix_diag_msg socket = {};
        if (body.size() < sizeof socket) return false;
        std::memcpy(&socket, body.data(), sizeof socket);
        const bool listens = socket.udiag_state == TCP_LISTEN;
        if (listens && is_bound_to(body.substr(NLMSG_ALIGN(sizeof socket)), file))
            sockets.push_back(socket.udiag_ino);
        bytes.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), bytes.size()));
    }
    return true;
}

// Returns the inodes of the listening sockets of this network namespace that are bound to the file.
std::vector<std::uint32_t> listeners_on(const FileIdentity& file) {
    std::vector<std::uint32_t> sockets;
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink || !ask_for_listeners(netlink.get())) return sockets;
    std::vector<char> block(64 << 10); // larger than any datagram of the kernel
    for (;;) {
        const ssize_t count = ::recv(netlink.get(), block.data(), block.size(), 0);
        if (count <= 0) return sockets;
        const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
        if (!take_messages(bytes, file, sockets)) return sockets;
    }
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

bool holds_one_of(pid_t process, const std::vector<std::string>& sockets) {
    const os::Directory open = os::open_directory(fmt::format("/proc/{}/fd", process));
    if (!open) return false;
    std::array<char, 64> link;
    while (const dirent* entry = ::readdir(open.get())) {
        const ssize_t size =
            ::readlinkat(::dirfd(open.get()), entry->d_name, link.data(), link.size());
        if (size <= 0) continue;
        const std::string_view text(link.data(), static_cast<std::size_t>(size));
        if (std::find(sockets.begin(), sockets.end(), text) != sockets.end()) return true;
    }
    return false;
}

// For a network that the sandbox shares with the machine: does a process of the sandbox hold the
// listener?
bool is_listened_by_descendants(const Caller& caller, const FileIdentity& file, pid_t server) {
    const pid_t top = top_of(caller, server);
    std::vector<std::string> sockets;
    for (const std::uint32_t inode : listeners_on(file))
        sockets.push_back(fmt::format("socket:[{}]", inode));
    if (top == 0 || sockets.empty()) return false;
    if (holds_one_of(top, sockets)) return true;
    const std::vector<os::ProcessIdentity> others = os::descendants_of(top);
    return std::any_of(others.begin(), others.end(), [&](const os::ProcessIdentity& process) {
        return holds_one_of(process.pid, sockets);
    });
}

} // namespace

// In the user namespace that owns the network we may have the right to enter it.
bool enter_network(int network) {
    if (::setns(network, CLONE_NEWNET) == 0) return true;
    const UniqueFd owner(::ioctl(network, NS_GET_USERNS));
    return owner && ::setns(owner.get(), CLONE_NEWUSER) == 0 && ::setns(network, CLONE_NEWNET) == 0;
}

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
    return is_listened_by_descendants(caller, *file, server);
}

} // namespace ew::sandbox
