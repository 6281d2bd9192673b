#include "os/errand.h"

#include "os/forked.h"
#include "os/io.h"
#include "os/pidfd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

namespace ew::os {

namespace {

[[noreturn]] void run(const std::function<std::string()>& body, std::vector<int> kept, int result,
                      pid_t parent) {
    if (!dies_with(parent)) ::_exit(1);
    reset_signals();
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; ++fd)
        if (std::find(kept.begin(), kept.end(), fd) == kept.end()) (void)::dup2(null, fd);
    kept.push_back(result);
    close_all_but(std::move(kept));
    const std::string text = body();
    (void)write_all(result, std::string_view(text).substr(
                                0, Errand::longest_result)); // if this fails, the reader is gone
    ::_exit(0);
}

} // namespace

Result<Errand> Errand::begin(const std::function<std::string()>& body, std::span<const int> keep,
                             TimePoint deadline) {
    Pipe pipe = TRY(make_pipe());
    TRY(set_nonblocking(pipe.read.get()));
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error("fork", errno);
    if (pid == 0) run(body, {keep.begin(), keep.end()}, pipe.write.get(), parent);
    Errand errand;
    errand.pid_ = pid;
    errand.result_ = std::move(pipe.read);
    errand.deadline_ = deadline;
    errand.pidfd_ = open_pidfd(pid);
    if (!errand.pidfd_) {
        const int why = errno;
        ::kill(pid, SIGKILL); // the pid cannot be reused: nothing has reaped the process yet
        return system_error("pidfd_open", why);
    }
    return errand;
}

Errand::~Errand() {
    kill();
}

Errand::Errand(Errand&&) noexcept = default;

Errand& Errand::operator=(Errand&& other) noexcept {
    if (this == &other) return *this;
    kill();
    result_ = std::move(other.result_);
    pidfd_ = std::move(other.pidfd_);
    pid_ = std::exchange(other.pid_, 0);
    deadline_ = other.deadline_;
    text_ = std::move(other.text_);
    return *this;
}

std::optional<std::string> Errand::take_result() {
    std::array<char, 4096> block;
    for (;;) {
        const IoResult got = read_some(result_.get(), block.data(), block.size());
        if (got.state == IoState::would_block) return std::nullopt;
        if (got.state == IoState::end) return std::move(text_);
        const std::size_t room = longest_result - std::min(text_.size(), longest_result);
        text_.append(block.data(), std::min(got.count, room));
    }
}

void Errand::kill() {
    if (!pidfd_) return;
    signal_by_pidfd(pidfd_.get(), SIGKILL);
    pidfd_.reset();
}

} // namespace ew::os
