// One system call each, with the outcomes that matter told apart.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct iovec;

namespace ew::os {

enum class IoState : std::uint8_t { progress, would_block, end };

struct IoResult {
    IoState state = IoState::would_block;
    std::size_t count = 0;
};

// Error of a system call as an Error: "open /x: No such file or directory".
Error system_error(std::string_view what, int error_number);

// The path with all symlinks resolved (realpath(3)). Absent: it does not exist, or must not be
// seen.
std::optional<std::string> real_path(const std::string& path);

// What a symbolic link says (readlink(2)). Absent: it is none, or does not tell.
std::optional<std::string> link_target(const std::string& path);

// All of it, waiting as long as that takes. False, with errno: not all could be written.
bool write_all(int fd, std::string_view bytes);

// A read error counts as the end: on the master of a terminal EIO is how the end is told (pty(7)).
IoResult read_some(int fd, char* to, std::size_t size);
IoResult read_some(int fd, const iovec* parts, int count);
IoResult write_some(int fd, std::string_view bytes);

// A duplicate of our own of a standard descriptor, above 2, that does not block: the flags of a
// descriptor shared with other processes are left alone where the kernel lets us.
class StdioEnd {
public:
    static Result<StdioEnd> open(int fd, bool for_writing);

    int get() const { return fd_.get(); }

    bool is_terminal() const { return is_terminal_; }

    IoResult read(char* to, std::size_t size) const;
    IoResult write(std::string_view bytes) const;

private:
    StdioEnd(UniqueFd fd, bool is_socket, bool is_terminal)
        : fd_(std::move(fd)), is_socket_(is_socket), is_terminal_(is_terminal) {}

    UniqueFd fd_;
    bool is_socket_;
    bool is_terminal_;
};

// Descriptors 0, 1 and 2 that are not open become /dev/null, else the next pipe would get one of
// their numbers.
void open_missing_stdio();

// Lets this process open as many descriptors as it may be allowed. Returns the limit as it was,
// which programs get: some do things for each descriptor that there could be.
rlimit raise_open_files_limit();

// Descriptors that were left open by whoever started us must not reach the programs we start.
void mark_inherited_descriptors_close_on_exec();

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

// The ends of a new pipe that do not block.
enum class NonBlocking : std::uint8_t { none, read_end, write_end, both };

Result<Pipe> make_pipe(NonBlocking ends = NonBlocking::none);

// Two ends of a stream socket (unix(7)). Ours does not block.
struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;
};

Result<SocketPair> make_socket_pair();
Result<void> set_nonblocking(int fd);

// Bytes that can be read at once.
std::size_t readable_bytes(int fd);

} // namespace ew::os
