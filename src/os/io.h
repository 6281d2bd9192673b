// Thin wrappers of single system calls that distinguish the outcomes that callers need.
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

// Turns the errno of a system call into an Error: "open /x: No such file or directory".
Error system_error(std::string_view what, int error_number);

// Returns the path with all symlinks resolved (realpath(3)). Returns nullopt if the path does not
// exist or cannot be accessed.
std::optional<std::string> real_path(const std::string& path);

// Returns the target of a symlink (readlink(2)). Returns nullopt if `path` is not a symlink or
// cannot be read.
std::optional<std::string> link_target(const std::string& path);

// Writes all bytes and waits if necessary. Returns false and sets errno if not all could be
// written.
bool write_all(int fd, std::string_view bytes);

// Reports a read error as the end, because EIO on the master of a terminal means the end (pty(7)).
IoResult read_some(int fd, char* to, std::size_t size);
IoResult read_some(int fd, const iovec* parts, int count);
IoResult write_some(int fd, std::string_view bytes);

// Our own nonblocking duplicate (above 2) of a standard descriptor. Where the kernel allows it, the
// flags of a descriptor shared with other processes stay unchanged.
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

// Opens /dev/null for those of 0, 1 and 2 that are not open. Otherwise the next pipe would get one
// of these numbers.
void open_missing_stdio();

// Raises the limit of open descriptors to the hard limit. Returns the old limit, which the programs
// get: some programs do work for each possible descriptor.
rlimit raise_open_files_limit();

// Descriptors inherited from the process that started execward must not reach the programs that it
// starts.
void mark_inherited_descriptors_close_on_exec();

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

// The nonblocking ends of a new pipe.
enum class NonBlocking : std::uint8_t { none, read_end, write_end, both };

Result<Pipe> make_pipe(NonBlocking ends = NonBlocking::none);

// Two ends of a stream socket (unix(7)). Our end does not block.
struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;
};

Result<SocketPair> make_socket_pair();
Result<void> set_nonblocking(int fd);

// The number of bytes that can be read without blocking.
std::size_t readable_bytes(int fd);

} // namespace ew::os
