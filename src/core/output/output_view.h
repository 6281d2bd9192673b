// The beginning and the end of a log from some position on, for a text of bounded size. Several
// views of one log are independent. The log drops its oldest bytes, so look_at() must be called
// after every read.
#pragma once

#include "core/output/output_log.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ew::core {

class OutputView {
public:
    // Half of the bytes that a log retains. The view copies the beginning; the end is still in the
    // log.
    static constexpr std::size_t head_bytes = 512 << 10;

    struct Kept {
        std::string head;
        std::string tail;          // empty if everything is in `head`
        std::uint64_t omitted = 0; // number of bytes between head and tail
    };

    explicit OutputView(std::uint64_t begin = 0) : begin_(begin) {}

    // Copies the beginning before the log drops it. Since the last call, at most the bytes that the
    // log retains minus head_bytes may have been appended.
    void look_at(const OutputLog& log);

    std::uint64_t begin() const { return begin_; }

    std::uint64_t size(const OutputLog& log) const { return log.end() - begin_; }

    Kept kept(const OutputLog& log) const;

private:
    std::uint64_t begin_;
    std::string head_; // empty until it has to be copied
};

} // namespace ew::core
