// The bytes of one direction of a connection, from a socket to another one. A target that does not
// read stops the source: of what was taken, at most one block or pipe waits here.
#pragma once

#include "os/io.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

// What the flows of a gateway move bytes with: a block to copy small amounts, and pipes through
// which the kernel moves pages (splice(2)). A flow has a pipe only while bytes are in it.
class Carrier {
public:
    static constexpr std::size_t block_size = 128 << 10;
    static constexpr int pipe_size = 512 << 10; // for a user's pipes the kernel has few pages
    static constexpr std::size_t most_idle = 4; // pipes that are kept
    static constexpr std::size_t least_at_once = 16 << 10; // less is copied the next time

    // No pipe gets a descriptor from this number on.
    explicit Carrier(int end_of_descriptors)
        : block_(block_size), end_of_descriptors_(end_of_descriptors) {}

    std::span<char> block() { return block_; }

    // Returns an empty pipe; nullopt: descriptors are scarce.
    std::optional<os::Pipe> take_pipe();
    void give_back(os::Pipe pipe); // which is empty

private:
    std::vector<char> block_;
    std::vector<os::Pipe> idle_;
    int end_of_descriptors_;
};

class Flow {
public:
    enum class Moved : std::uint8_t { nothing, something, broken };

    std::uint64_t count() const { return count_; } // bytes that the source has sent

    bool has_ended() const { return has_ended_; } // the source has

    bool is_done() const { return has_ended_ && is_shut_; }

    bool is_empty() const { return copied_.empty() && in_pipe_ == 0; }

    bool has_to_write() const { return !is_empty() || (has_ended_ && !is_shut_); }

    // Takes at most a block from the source, for a caller that looks at it. `bytes` is of the
    // block, and empty at the end of the source.
    Moved read(int source, std::span<char> block, std::string_view& bytes);

    // What was read is to be passed on. Only if is_empty().
    void hold(std::string bytes) { copied_ = std::move(bytes); }

    // The same for bytes that were read from the source without this flow. They count as sent.
    void take_over(std::string bytes) {
        count_ += bytes.size();
        hold(std::move(bytes));
    }

    // Passes on what the source has now. Only if is_empty().
    Moved take(int source, int target, Carrier& carrier);

    // Returns `something` if nothing is left that waits for the target.
    Moved flush(int target, Carrier& carrier);

private:
    Moved copy(int source, int target, std::span<char> block);
    Moved splice(int source, int target, os::Pipe pipe, Carrier& carrier);
    Moved empty_pipe(int target, Carrier& carrier);
    std::size_t note(ssize_t count);

    std::string copied_;      // read, and not written yet
    std::size_t written_ = 0; // of it
    os::Pipe pipe_;           // exists while in_pipe_ > 0, and is written after what was copied
    std::size_t in_pipe_ = 0; // bytes
    std::uint64_t count_ = 0;
    bool is_bulk_ = false; // so much came last that a pipe is worth it
    bool has_ended_ = false;
    bool is_shut_ = false; // the target has been told
};

} // namespace ew::sandbox
