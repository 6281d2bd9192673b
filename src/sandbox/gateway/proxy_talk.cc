#include "sandbox/gateway/proxy_talk.h"

#include "sandbox/gateway/tcp.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace ew::sandbox {

using State = ProxyTalk::State;

State ProxyTalk::go_on(int socket, std::span<char> block) {
    if (!send_request(socket)) return refuse("closed the connection");
    return read_answer(socket, block);
}

// Returns false if the connection is broken.
bool ProxyTalk::send_request(int socket) {
    while (!request_.empty()) {
        const ssize_t count = ::send(socket, request_.data(), request_.size(), MSG_NOSIGNAL);
        if (count < 0) return would_wait(errno);
        request_.erase(0, static_cast<std::size_t>(count));
    }
    return true;
}

State ProxyTalk::read_answer(int socket, std::span<char> block) {
    while (true) {
        const ssize_t count = ::recv(socket, block.data(), block.size(), 0);
        if (count < 0 && would_wait(errno)) return State::goes_on;
        if (count <= 0) return refuse("closed the connection without an answer");
        answer_.append(block.data(), static_cast<std::size_t>(count));
        const core::ProxyAnswer answer = core::read_proxy_answer(answer_);
        if (answer.state == core::ProxyAnswer::State::incomplete) continue;
        if (answer.state == core::ProxyAnswer::State::broken)
            return refuse("gave an answer that is not one of HTTP, or is too long");
        if (answer.status < 200 || answer.status > 299)
            return refuse(fmt::format("answered with the status {}", answer.status));
        answer_.erase(0, answer.size);
        return State::open;
    }
}

State ProxyTalk::refuse(std::string_view why) {
    refusal_ = fmt::format("{} {}", name_, why);
    return State::refused;
}

} // namespace ew::sandbox
