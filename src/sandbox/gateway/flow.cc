#include "sandbox/gateway/flow.h"

#include "sandbox/gateway/tcp.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace ew::sandbox {

std::optional<os::Pipe> Carrier::take_pipe() {
    if (!idle_.empty()) {
        os::Pipe pipe = std::move(idle_.back());
        idle_.pop_back();
        return pipe;
    }
    Result<os::Pipe> pipe = os::make_pipe(os::NonBlocking::both);
    if (!pipe || pipe->read.get() >= end_of_descriptors_ ||
        pipe->write.get() >= end_of_descriptors_)
        return std::nullopt;
    (void)::fcntl(pipe->write.get(), F_SETPIPE_SZ, pipe_size); // a smaller one works too
    return std::move(*pipe);
}

void Carrier::give_back(os::Pipe pipe) {
    if (idle_.size() < most_idle) idle_.push_back(std::move(pipe));
}

std::size_t Flow::note(ssize_t count) {
    has_ended_ = count == 0;
    count_ += static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>(count);
}

Flow::Moved Flow::read(int source, std::span<char> block, std::string_view& bytes) {
    const ssize_t count = ::recv(source, block.data(), block.size(), 0);
    if (count < 0) return would_wait(errno) ? Moved::nothing : Moved::broken;
    bytes = {block.data(), note(count)};
    return Moved::something;
}

Flow::Moved Flow::take(int source, int target, Carrier& carrier) {
    std::optional<os::Pipe> pipe = is_bulk_ ? carrier.take_pipe() : std::nullopt;
    return pipe ? splice(source, target, std::move(*pipe), carrier)
                : copy(source, target, carrier.block());
}

Flow::Moved Flow::copy(int source, int target, std::span<char> block) {
    std::string_view bytes;
    const Moved moved = read(source, block, bytes);
    if (bytes.empty()) return moved;
    is_bulk_ = bytes.size() >= Carrier::least_at_once;
    const ssize_t sent = ::send(target, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && !would_wait(errno)) return Moved::broken;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    copied_ = bytes;
    return Moved::something;
}

Flow::Moved Flow::splice(int source, int target, os::Pipe pipe, Carrier& carrier) {
    const ssize_t count = ::splice(source, nullptr, pipe.write.get(), nullptr, Carrier::pipe_size,
                                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    // At urgent data, splice(2) finds nothing, or even the end. recv(2) passes it by.
    if (count <= 0) {
        carrier.give_back(std::move(pipe));
        is_bulk_ = false;
        return copy(source, target, carrier.block());
    }
    pipe_ = std::move(pipe);
    in_pipe_ = note(count);
    is_bulk_ = in_pipe_ >= Carrier::least_at_once;
    return empty_pipe(target, carrier) == Moved::broken ? Moved::broken : Moved::something;
}

Flow::Moved Flow::empty_pipe(int target, Carrier& carrier) {
    while (in_pipe_ > 0) {
        const ssize_t count = ::splice(pipe_.read.get(), nullptr, target, nullptr, in_pipe_,
                                       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (count < 0) return would_wait(errno) ? Moved::nothing : Moved::broken;
        if (count == 0) return Moved::broken;
        in_pipe_ -= static_cast<std::size_t>(count);
    }
    if (pipe_.read) carrier.give_back(std::move(pipe_));
    return Moved::something;
}

Flow::Moved Flow::flush(int target, Carrier& carrier) {
    while (!copied_.empty()) {
        const ssize_t count =
            ::send(target, copied_.data() + written_, copied_.size() - written_, MSG_NOSIGNAL);
        if (count < 0) return would_wait(errno) ? Moved::nothing : Moved::broken;
        written_ += static_cast<std::size_t>(count);
        if (written_ < copied_.size()) continue;
        copied_ = {};
        written_ = 0;
    }
    const Moved moved = empty_pipe(target, carrier);
    if (moved != Moved::something || !has_ended_) return moved;
    if (!is_shut_ && ::shutdown(target, SHUT_WR) != 0) return Moved::broken;
    is_shut_ = true;
    return Moved::nothing;
}

} // namespace ew::sandbox
