// Facts about a process that waits in a system call for an answer. They are read through /proc
// without waiting, and may be of another process once the caller has ended. So after a read and
// before its use, ask the kernel whether the call still waits (SECCOMP_IOCTL_NOTIF_ID_VALID).
#pragma once

#include "base/unique_fd.h"
#include "sandbox/supervise/socket_address.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct Caller {
    pid_t thread = 0; // as in the notification
    pid_t process = 0;
};

// Returns nullopt if the process has ended.
std::optional<Caller> look_at(pid_t thread);

// As look_at(), and a descriptor of the thread (pidfd_open(2)), or of its process where the kernel
// has none of threads. The descriptor is empty if there are no more.
struct HeldCaller {
    Caller caller = {};
    UniqueFd handle = {};
};

std::optional<HeldCaller> hold_caller(pid_t thread);

// The program's path as the caller sees it; empty: unknown.
std::string program_of(const Caller& caller);

// The words of its command line, as the caller shows them, which can have changed them. Long ones
// are cut, and only the first 16 are returned.
std::vector<std::string> words_of(const Caller& caller);

// Reads `size` bytes of the caller's memory. Returns nullopt if they cannot be read (errno is set:
// EFAULT if they do not exist).
std::optional<std::string> read_memory(const Caller& caller, std::uint64_t from, std::size_t size);

// Returns EBADF or ENOTSOCK, or 0 if the caller's descriptor is a socket, or may be one.
int socket_error(const Caller& caller, int fd);

// Returns a copy of a descriptor of the caller, of the same open file description, or an empty one
// with errno. `handle`: as of hold_caller().
UniqueFd copy_of(int handle, int fd);
UniqueFd copy_of(const Caller& caller, int fd);

// Is the socket of the caller's network namespace? A socket keeps the network in which it was made,
// and programs can hand sockets to other sandboxes (unix(7), SCM_RIGHTS). Also returns false if the
// kernel does not tell, as for a network over which this process has no rights. Does not wait.
bool is_of_network_of(const Caller& caller, int socket);

// Is a signal pending that the caller will take when its call ends? A signal that another thread
// could take does not count.
bool has_signal(const Caller& caller);

// Does a socket wait on that port of a loopback address: a TCP listener, or (`udp`) a UDP socket?
// It reads the tables of that process's network, which takes tens of milliseconds: see
// port_listeners.h.
bool is_served(pid_t process, const SocketAddress& address, bool udp);

// Returns the child of `server` that is the caller or its ancestor, or 0 if there is none.
pid_t top_of(const Caller& caller, pid_t server);

// The value after "Name:" of /proc/PID/status, without the blanks around it.
std::string_view status_field(std::string_view status, std::string_view name);

// The decimal numbers in the text, whatever stands between them.
std::vector<unsigned> numbers_in(std::string_view text);

} // namespace ew::sandbox
