// The guarantees of a confinement, independent of the mechanisms that keep them. A policy needs
// some, a machine gives some, and the difference is missing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

enum class Guarantee : std::uint8_t {
    fs_write,         // no file outside the writable roots is made, changed or removed
    fs_metadata,      // their mode, owner, times and attributes stay too
    protected_paths,  // read-only paths inside writable roots stay so
    deny_read,        // denied paths cannot be read
    private_tmp,      // /tmp is the session's own, /dev/shm the command's
    kernel_settings,  // nothing below /proc/sys and similar directories can be written
    proc_hidden,      // other processes of the machine are invisible
    signals,          // other processes cannot be signalled or traced
    ends_together,    // no process of the command outlives it
    net_off,          // no network except a loopback of its own
    abstract_sockets, // the machine's abstract sockets are out of reach (unix(7))
    socket_files,     // the machine's socket files are out of reach, except in writable roots
    named_pipes,      // nothing is written to named pipes outside the writable roots (fifo(7))
    system_calls,     // system calls that no ordinary program needs are refused
};

constexpr std::size_t guarantee_count = 14;

// The name on the wire and on the command line: "fsWrite".
std::string_view name_of(Guarantee guarantee);

// The meaning in half a sentence for a person: "files outside the writable roots stay as they are".
std::string_view meaning_of(Guarantee guarantee);

class GuaranteeSet {
public:
    constexpr GuaranteeSet() = default;

    constexpr GuaranteeSet(std::initializer_list<Guarantee> list) {
        for (const Guarantee guarantee : list)
            add(guarantee);
    }

    constexpr void add(Guarantee guarantee) { bits_ |= bit(guarantee); }

    constexpr void remove(Guarantee guarantee) { bits_ &= ~bit(guarantee); }

    constexpr bool has(Guarantee guarantee) const { return (bits_ & bit(guarantee)) != 0; }

    constexpr bool empty() const { return bits_ == 0; }

    constexpr GuaranteeSet operator-(GuaranteeSet other) const {
        GuaranteeSet result;
        result.bits_ = bits_ & ~other.bits_;
        return result;
    }

    // In the order of the enum.
    std::vector<Guarantee> list() const;

    constexpr bool operator==(const GuaranteeSet&) const = default;

private:
    static constexpr std::uint32_t bit(Guarantee guarantee) {
        return 1u << static_cast<unsigned>(guarantee);
    }

    std::uint32_t bits_ = 0;
};

// "net_off, private_tmp" as their names, for a message.
std::string names_of(GuaranteeSet set);

} // namespace ew::sandbox
