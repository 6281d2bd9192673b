// What is known of a process that waits in a system call for an answer. All of it is read through
// /proc without waiting, and may be of another process once the caller has gone: ask the kernel
// whether the call is still there (SECCOMP_IOCTL_NOTIF_ID_VALID) after looking and before
// believing.
#pragma once

#include "base/unique_fd.h"
#include "sandbox/supervise/socket_address.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ew::sandbox {

struct Caller {
    pid_t thread = 0; // as the notification has it
    pid_t process = 0;
    std::uint64_t threads = 0; // of the process
    pid_t parent = 0;          // of the process
};

// Absent: it has gone.
std::optional<Caller> look_at(pid_t thread);

// The program's path as the caller sees it; empty: unknown.
std::string program_of(const Caller& caller);

// `size` bytes of the caller's memory. Absent: they cannot be read (errno is set: EFAULT if they
// are not there).
std::optional<std::string> read_memory(const Caller& caller, std::uint64_t from, std::size_t size);

// What a descriptor of the caller is: the kernel's name of the socket's protocol ("TCP", "UDPv6",
// "UNIX-STREAM"), or why it is no socket.
struct Descriptor {
    int error = 0;             // EBADF, ENOTSOCK; 0: a socket, or unknown
    std::string protocol = {}; // empty: unknown

    bool is_udp() const;
};

Descriptor descriptor_of(const Caller& caller, int fd);

// A copy of a descriptor of the caller, of the same open file description. Empty: errno is set.
UniqueFd copy_of(const Caller& caller, int fd);

// Has a signal come for it that it will take once its call is over? Only that which no other thread
// can take instead counts.
bool has_signal(const Caller& caller);

// Does a socket wait on that port of a loopback address: a TCP listener, or (`udp`) a UDP socket?
// In the network of that process, by its tables: that takes tens of milliseconds, see
// port_listeners.h.
bool is_served(pid_t process, const SocketAddress& address, bool udp);

// Is the process tree from the child of `server` down to the caller a chain of processes with one
// thread each, so that nobody but the caller itself acts in that sandbox? False also where that
// would take long to find out.
bool is_alone(const Caller& caller, pid_t server);

// The child of `server` from which the caller descends. 0: none.
pid_t top_of(const Caller& caller, pid_t server);

// The value after "Name:" of /proc/PID/status, without the blanks around it.
std::string_view status_field(std::string_view status, std::string_view name);

} // namespace ew::sandbox
