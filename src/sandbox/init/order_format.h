// The order for execward-init as bytes. Written by encode() in sandbox/plan/init_order.cc, read by
// order_reader.cc, both of the same build on the same machine. In this order, without gaps:
//
//   Header
//   Limit        × limits
//   Expected     × expected
//   sock_filter  × filter         (linux/filter.h; 8 bytes each)
//   slots        of 8 bytes: the lists programs, one spare slot, argv, environment, writable,
//                device_writable, the expected paths, submounts, each with a slot of 0 as its
//                end; then one slot for the directory, and one for the script
//   texts        each ended by NUL, up to the end of the order
//
// A slot holds the offset of its text from the start of the order. The reader maps the order
// privately and turns the slots into pointers in place, so that execve(2) can use the lists. The
// spare slot is for the shell that runs a script without an interpreter.
#pragma once

#include <cstdint>

namespace ew::sandbox::order_format {

constexpr std::uint64_t magic = 0x726564726f2d7765; // "ew-order"

enum Flag : std::uint32_t {
    has_terminal = 1,
    is_first_process = 2,
    scopes_sockets_and_signals = 4,
    has_listener = 8,
    checks_mounts = 16,
    may_lack_proc = 32,
    all_flags = 63,
};

struct Header {
    std::uint64_t magic = 0;
    std::uint32_t version = 0; // wire::version
    std::uint32_t flags = 0;
    std::uint64_t size = 0; // of the whole order in bytes
    std::uint32_t landlock = 0;
    std::uint32_t limits = 0; // this and the following fields are counts
    std::uint32_t filter = 0;
    std::uint32_t programs = 0;
    std::uint32_t argv = 0;
    std::uint32_t environment = 0;
    std::uint32_t writable = 0;
    std::uint32_t device_writable = 0;
    std::uint32_t expected = 0;
    std::uint32_t submounts = 0;
};

static_assert(sizeof(Header) == 64);

struct Limit {
    std::uint64_t resource = 0;
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
};

static_assert(sizeof(Limit) == 24);

enum class ExpectedKind : std::uint32_t {
    place,     // the same file as outside, whether it is a mount or not
    writable,  // the same file as outside, and the root of a mount
    read_only, // the same as `writable`, but the mount is read-only
    hidden,    // a read-only mount of any file
    own,       // a file system that the sandbox has made for itself
};

constexpr std::uint32_t expected_kinds = 5;

struct Expected {
    std::uint64_t device = 0; // as in stat(2); not checked for `hidden` and `own`
    std::uint64_t inode = 0;
    std::uint64_t mount = 0; // the number of the mount, filled in by the reader
    ExpectedKind kind = ExpectedKind::place;
    std::uint32_t reserved = 0;
};

static_assert(sizeof(Expected) == 32);

constexpr bool has_identity(ExpectedKind kind) {
    return kind <= ExpectedKind::read_only;
}

} // namespace ew::sandbox::order_format
