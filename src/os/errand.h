// A disposable process that does what may wait: it is a fork of this one (which has one thread),
// does one thing, tells what came of it through a pipe, and is killed when it takes too long.
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
    static constexpr std::size_t longest_result = 256 << 10; // bytes; more is cut off

    // `body` runs in the new process, in which all descriptors but 0, 1, 2 and `keep` are closed;
    // what it returns is the result. Its standard input is /dev/null, its output goes nowhere.
    // Errors: no more processes or descriptors.
    static Result<Errand> begin(const std::function<std::string()>& body, std::span<const int> keep,
                                TimePoint deadline);
    ~Errand(); // kills it
    Errand(Errand&&) noexcept;
    Errand& operator=(Errand&&) noexcept;
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;

    // Readable when there is something to take.
    int fd() const { return result_.get(); }

    TimePoint deadline() const { return deadline_; }

    pid_t pid() const { return pid_; }

    // Reads without waiting. Absent: not done yet. Whoever owns the loop reaps the process.
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
