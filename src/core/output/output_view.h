// What a log holds from some position on, for a text of bounded size: the beginning and the end.
// Several views of one log do not disturb each other. The log forgets the oldest bytes, so a view
// must be shown the log after every read.
#pragma once

#include "core/output/output_log.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ew::core {

class OutputView {
public:
    // Half of what a log retains: the beginning is kept here, the end is still in the log.
    static constexpr std::size_t head_bytes = 512 << 10;

    struct Kept {
        std::string head;
        std::string tail;          // empty: everything is in the head
        std::uint64_t omitted = 0; // bytes between the two
    };

    explicit OutputView(std::uint64_t begin = 0) : begin_(begin) {}

    // Copies the beginning before the log loses it. At most as many bytes may have been appended
    // since the last call as make head_bytes less than the log retains.
    void look_at(const OutputLog& log);

    std::uint64_t begin() const { return begin_; }

    std::uint64_t size(const OutputLog& log) const { return log.end() - begin_; }

    Kept kept(const OutputLog& log) const;

private:
    std::uint64_t begin_;
    std::string head_; // empty until it has to be kept
};

} // namespace ew::core
