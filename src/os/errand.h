// A short-lived process for one task that may block. It is a fork of this process (which has one
// thread), sends its result through a pipe, and is killed at its deadline.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace ew::os {

class Errand {
public:
    static constexpr std::size_t longest_result = 256 << 10; // bytes; the rest is cut off

    // Runs `body` in a new process, which closes all descriptors except 0, 1, 2 and `keep`. The
    // return value of `body` is the result. Stdin is /dev/null, and the output is discarded.
    // Errors: no more processes or descriptors.
    static Result<Errand> begin(const std::function<std::string()>& body, std::span<const int> keep,
                                TimePoint deadline);
    ~Errand(); // kills the process
    Errand(Errand&&) noexcept;
    Errand& operator=(Errand&&) noexcept;
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;

    // Becomes readable when take_result() can make progress.
    int fd() const { return result_.get(); }

    TimePoint deadline() const { return deadline_; }

    pid_t pid() const { return pid_; }

    // Reads without waiting. Returns nullopt if the process is not done yet. The owner of the loop
    // reaps the process.
    std::optional<std::string> take_result();

    void kill();

private:
    Errand() = default;

    UniqueFd result_;
    UniqueFd pidfd_;
    pid_t pid_ = 0;
    TimePoint deadline_;
    std::string text_;
};

} // namespace ew::os
