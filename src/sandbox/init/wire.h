// Messages between the server, the process that becomes bubblewrap, and execward-init. Plain
// structs in host byte order: all three are the same build on the same machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ew::sandbox::wire {

// Descriptors that bubblewrap passes on. The command inherits none of them.
constexpr int status_fd = 3;   // SOCK_SEQPACKET: records, then end of file when the command runs
constexpr int end_fd = 4;      // a pipe: the wait status (wait(2), 4 bytes) of the command; then
                               // look_mark and what it has left (aftermath.h, encode_set_aside())
constexpr int order_fd = 5;    // a sealed memory file (memfd_create(2)): the order
constexpr int lifeline_fd = 6; // a pipe, until execward-init closes it: see launch_child.cc

// Increased with every change of the format; execward-init refuses any other version.
constexpr std::uint32_t version = 6;

constexpr std::string_view look_mark = "\xff\xff\xff\xff"; // no wait status has these bytes
constexpr std::size_t longest_look = 512 << 10;            // bytes

enum class RecordKind : std::uint32_t {
    refused,     // before bubblewrap; text: kind name, message, hint, each ended by NUL. `value`:
                 // ErrorKind
    placeholder, // text: the path; with the locked descriptor
    note,        // text: a sentence
    missing,     // `value`: bits of a GuaranteeSet
    applied,     // everything is in force; sent by the process that becomes the command (its
                 // credentials give its pid); with the seccomp listener if there is one; text: the
                 // numbers of the mounts that can be written to, 8 bytes each, or nothing
    failed,      // the command does not run; `step`, `value`: errno; text: the path or program
                 // concerned, or nothing
    guarded,     // with a mount namespace, see devices.h
    name_space,  // with a namespace of launch/namespaces.h; `step`: which one (Namespace), users
                 // last; `value`: Namespaces::machine_mounts
    look,        // text: the path of a record of a look (aftermath/look_journal.h); with its lock
    root,        // a KnownDirectory: text: name, path, device, inode, each ended by NUL; with a
                 // descriptor of the directory
    network,     // of a network by host: `step`: which descriptor (NetworkPart), the network last
};

enum class Namespace : std::uint32_t { users, mounts, network };

// What the server gets of a network by host (launch/host_network.h).
enum class NetworkPart : std::uint32_t { datagrams, network };

// One packet: the head, then `size` bytes of text.
struct Record {
    RecordKind kind = RecordKind::note;
    std::uint32_t step = 0;
    std::int64_t value = 0;
    std::uint32_t size = 0;
};

constexpr std::uint32_t longest_text = 32 << 10;

// The steps of execward-init, in order; `failed` names one.
enum class Step : std::uint32_t {
    order,    // reading the order
    process,  // fork
    session,  // setsid
    terminal, // TIOCSCTTY
    limits,
    directory,    // chdir
    capabilities, // checking that none is left
    privileges,   // PR_SET_NO_NEW_PRIVS
    mounts,       // checking the mounts of the sandbox; ESTALE: a path is not the file that it was
                  // outside; EPERM: a mount is writable that must not be
    landlock,
    filter,
    report,
    exec,
    // Those before execward-init, where not bubblewrap takes them (launch/entrance.h):
    namespaces, // entering and making them
    build,      // making the mounts
    proc,       // mounting /proc
};

} // namespace ew::sandbox::wire
