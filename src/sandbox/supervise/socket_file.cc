#include "sandbox/supervise/socket_file.h"

#include "base/unique_fd.h"
#include "os/forked.h"
#include "os/io.h"
#include "os/proc.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/socket_owners.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace ew::sandbox {

namespace {

using Refusal = ConnectResult::Refusal;

constexpr int most_tries = 64; // of a look-up that a rename disturbs (openat2(2))

struct Identity {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups = {};
};

// The descriptors and paths that must be opened with our own rights, and while the call is known to
// wait.
struct Hold {
    UniqueFd socket;
    UniqueFd root;
    UniqueFd directory;
    std::string root_path;      // both paths as in /proc: in the caller's mount namespace
    std::string directory_path; // empty: unknown
    bool is_of_own_network = false;
    Identity identity;
};

// Of the four user ids (proc(5), status) the last one decides about files.
std::optional<Identity> identity_of(const Caller& caller) {
    const std::string status = os::read_proc_file(fmt::format("/proc/{}/status", caller.thread));
    const std::vector<unsigned> users = numbers_in(status_field(status, "Uid"));
    const std::vector<unsigned> groups = numbers_in(status_field(status, "Gid"));
    if (users.size() != 4 || groups.size() != 4) return std::nullopt;
    return Identity{users[3], groups[3], numbers_in(status_field(status, "Groups"))};
}

std::vector<gid_t> own_groups() {
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (count > 0) (void)!::getgroups(count, groups.data()); // as many as the first call returned
    return groups;
}

bool has_same(std::vector<gid_t> a, std::vector<gid_t> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
}

// Puts all permitted capabilities in force, or none.
bool set_capabilities(bool in_force) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets = {};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
    for (__user_cap_data_struct& set : sets)
        set.effective = in_force ? set.permitted : 0;
    return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

// From here on the kernel checks files as for the caller, without any capability. A change of
// credentials clears the parent-death signal (prctl(2)).
bool act_as(const Identity& identity, pid_t server) {
    if (!has_same(own_groups(), identity.groups) &&
        ::setgroups(identity.groups.size(), identity.groups.data()) != 0)
        return false;
    if (::getegid() != identity.group && ::setegid(identity.group) != 0) return false;
    if (::geteuid() != identity.user && ::seteuid(identity.user) != 0) return false;
    return set_capabilities(false) && os::dies_with(server);
}

bool act_as_self(pid_t server) {
    if (!set_capabilities(true)) return false;
    if (::geteuid() != ::getuid() && ::seteuid(::getuid()) != 0) return false;
    return set_capabilities(true) && os::dies_with(server);
}

// Returns 0 or an errno.
int take_hold(const ConnectOrder& order, Hold& hold) {
    hold.socket = copy_of(order.caller, order.fd);
    const int why = hold.socket ? 0 : errno;
    const std::string process = fmt::format("/proc/{}", order.caller.thread);
    constexpr int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    if (order.address.kind == SocketAddress::Kind::path) {
        hold.root = UniqueFd(::open((process + "/root").c_str(), flags));
        hold.directory = UniqueFd(::open((process + "/cwd").c_str(), flags));
        hold.root_path = os::link_target(process + "/root").value_or("");
        hold.directory_path = os::link_target(process + "/cwd").value_or("");
    }
    hold.is_of_own_network = hold.socket && is_of_network_of(order.caller, hold.socket.get());
    const std::optional<Identity> identity = identity_of(order.caller);
    if (!is_waiting(order.listener, order.id)) return ESRCH;
    if (why != 0) return why == EBADF ? EBADF : EACCES;
    if (!identity) return EACCES;
    hold.identity = *identity;
    return 0;
}

// Opens `path` with `root` as the root directory.
UniqueFd open_in(const UniqueFd& root, const std::string& path, std::uint64_t flags) {
    open_how how = {};
    how.flags = flags | O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    for (int i = 0; i < most_tries; ++i) {
        UniqueFd file(
            static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
        if (file || errno != EAGAIN) return file;
    }
    return {};
}

bool is_same_file(int a, int b) {
    struct stat one = {};
    struct stat other = {};
    return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

// Returns the working directory as a path from the caller's root, or nullopt if there is none or it
// is uncertain.
std::optional<std::string> directory_inside(const Hold& hold) {
    std::string_view path = hold.directory_path;
    if (hold.root_path != "/") {
        if (!path.starts_with(hold.root_path)) return std::nullopt;
        path.remove_prefix(hold.root_path.size());
        if (path.empty()) path = "/";
    }
    if (!path.starts_with('/')) return std::nullopt;
    std::string inside(path);
    const UniqueFd found = open_in(hold.root, inside, O_DIRECTORY);
    if (!found || !hold.directory || !is_same_file(found.get(), hold.directory.get()))
        return std::nullopt;
    return inside;
}

bool is_below_one_of(std::string_view path, const std::vector<std::string>& directories) {
    return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
        return is_at_or_below(path, directory);
    });
}

bool is_in_writable_place(const SocketFileRules& rules, int socket, const std::string& path) {
    if (!rules.has_mounts) return is_below_one_of(path, rules.writable);
    struct statvfs place = {};
    return ::fstatvfs(socket, &place) == 0 && (place.f_flag & ST_RDONLY) == 0 &&
           rules.mounts.has(socket);
}

// A path that is too long to be read may be below any directory. Without mounts, a socket file can
// be linked or moved from a shared directory into another writable directory of the same file
// system.
bool is_in_shared_place(const SocketFileRules& rules, int socket, const std::string& path) {
    if (rules.shared_tmp.empty()) return false;
    if (!path.starts_with('/') || is_below_one_of(path, rules.shared_tmp)) return true;
    struct stat file = {};
    if (rules.has_mounts || ::fstat(socket, &file) != 0) return !rules.has_mounts;
    return std::any_of(
        rules.shared_tmp.begin(), rules.shared_tmp.end(), [&](const std::string& directory) {
            struct stat shared = {};
            return ::stat(directory.c_str(), &shared) != 0 || shared.st_dev == file.st_dev;
        });
}

int connect_to(int socket, std::string_view address) {
    const void* const bytes = address.data();
    const auto size = static_cast<socklen_t>(address.size());
    return ::connect(socket, static_cast<const sockaddr*>(bytes), size) == 0 ? 0 : errno;
}

// Uses the number of the descriptor: it names the file that was decided about, and always fits.
int connect_to_file(int socket, int file) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const auto end =
        fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}", file);
    const std::size_t size = offsetof(sockaddr_un, sun_path) + end.size + 1;
    std::string bytes(size, '\0');
    std::memcpy(bytes.data(), &address, size);
    return connect_to(socket, bytes);
}

// Returns 0, or the kernel's error for a socket that cannot take a path as an address.
int check_socket(int socket) {
    int domain = 0;
    int type = 0;
    socklen_t size = sizeof domain;
    if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return errno;
    if (domain != AF_UNIX) return EAFNOSUPPORT;
    size = sizeof type;
    if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return errno;
    return type == SOCK_STREAM || type == SOCK_SEQPACKET ? 0 : EPROTOTYPE;
}

bool is_of_an_agent(std::string_view path) {
    // GnuPG's agents; OpenSSH's (ssh-XXXX/agent.PID); those that desktops start.
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("S.") || name.starts_with("agent.") ||
           name.find("ssh-agent") != std::string_view::npos || path.ends_with("/keyring/ssh") ||
           path.ends_with("/gcr/ssh");
}

bool is_socket(const std::string& path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// A socket of an agent that the caller does not find: the machine's agent may be hidden, or none
// runs, and the caller's attempt to start one fails where it cannot make the socket.
Refusal refusal_of_agent(const Hold& hold, const std::string& path) {
    const UniqueFd directory = open_in(hold.root, parent_of(path), O_DIRECTORY);
    struct statvfs place = {};
    if (!directory || ::fstatvfs(directory.get(), &place) != 0) return Refusal::hidden;
    return (place.f_flag & ST_RDONLY) != 0 ? Refusal::not_writable : Refusal::none;
}

// The result of a failed look-up. Our own /proc/self is not the caller's, so a path through it
// finds nothing. In our own mount namespace, `path` is the machine's.
ConnectResult not_found(const Hold& hold, const std::string& path, int why) {
    const bool is_by_self = path.starts_with("/proc/self") || path.starts_with("/proc/thread-self");
    if (is_by_self || why == ELOOP) return {EACCES, Refusal::unreachable, path};
    if (is_socket(path)) return {why, Refusal::hidden, path};
    return {why, is_of_an_agent(path) ? refusal_of_agent(hold, path) : Refusal::none, path};
}

ConnectResult connect_to_path(const ConnectOrder& order, const Hold& hold) {
    std::string path = order.address.name;
    if (!path.starts_with('/')) {
        const std::optional<std::string> directory = directory_inside(hold);
        if (!directory) return {EACCES, Refusal::unreachable, path};
        path = *directory + "/" + path;
    }
    const UniqueFd file = open_in(hold.root, path, 0);
    if (!file) return not_found(hold, path, errno);
    const std::string resolved =
        os::link_target(fmt::format("/proc/self/fd/{}", file.get())).value_or("");
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0) return {errno, Refusal::none, resolved};
    if (!S_ISSOCK(info.st_mode)) return {ECONNREFUSED, Refusal::none, resolved};
    if (!is_in_writable_place(order.rules, file.get(), resolved))
        return {EACCES, Refusal::not_writable, resolved};
    if (is_in_shared_place(order.rules, file.get(), resolved)) {
        const bool is_ours =
            act_as_self(order.server) && is_listened_inside(order.caller, file.get(), order.server);
        if (!is_ours) return {EACCES, Refusal::foreign, resolved};
        if (!act_as(hold.identity, order.server)) return {EACCES, Refusal::none, resolved};
    }
    return {connect_to_file(hold.socket.get(), file.get()), Refusal::none, resolved};
}

// The listener is held until the connect is done: nobody else can take its name before.
ConnectResult connect_to_own_name(const ConnectOrder& order, const Hold& hold) {
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(hold.socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0)
        return {errno, Refusal::none, {}};
    const NameOwner owner = find_owner(order.caller, {order.address.name, type}, order.server);
    switch (owner.kind) {
    case NameOwner::Kind::nobody: return {ECONNREFUSED, Refusal::none, {}};
    case NameOwner::Kind::other: return {EACCES, Refusal::abstract, {}};
    case NameOwner::Kind::sandbox: break;
    }
    if (!act_as(hold.identity, order.server)) return {EACCES, Refusal::none, {}};
    return {connect_to(hold.socket.get(), order.address.bytes), Refusal::none, {}};
}

} // namespace

ConnectResult connect_for_caller(const ConnectOrder& order) {
    Hold hold;
    const int why = take_hold(order, hold);
    if (why != 0) return {why, Refusal::none, {}};
    if (order.address.kind == SocketAddress::Kind::abstract) {
        if (!order.has_own_network) return connect_to_own_name(order, hold);
        if (!hold.is_of_own_network) return {EACCES, Refusal::other_network, {}};
    }
    if (!act_as(hold.identity, order.server)) return {EACCES, Refusal::none, {}};
    if (order.address.kind != SocketAddress::Kind::path)
        return {connect_to(hold.socket.get(), order.address.bytes), Refusal::none, {}};
    const int unfit = check_socket(hold.socket.get());
    if (unfit != 0) return {unfit, Refusal::none, {}};
    return connect_to_path(order, hold);
}

std::string encode(const ConnectResult& result) {
    return fmt::format("{} {} {}", result.error, static_cast<int>(result.refusal), result.path);
}

ConnectResult decode_connect_result(std::string_view text) {
    ConnectResult unreadable = {EACCES, Refusal::none, {}};
    ConnectResult result;
    unsigned refusal = 0;
    const char* const end = text.data() + text.size();
    const auto error = std::from_chars(text.data(), end, result.error);
    if (error.ec != std::errc() || error.ptr == end) return unreadable;
    const auto second = std::from_chars(error.ptr + 1, end, refusal);
    if (second.ec != std::errc() || second.ptr == end) return unreadable;
    if (refusal > static_cast<unsigned>(Refusal::unreachable)) return unreadable;
    result.refusal = static_cast<Refusal>(refusal);
    result.path.assign(second.ptr + 1, end);
    return result;
}

} // namespace ew::sandbox
