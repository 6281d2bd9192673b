// One request to a file process (files/serve.h) and all of its answer, without the process.
#pragma once

#include "base/unique_fd.h"
#include "files/serve.h"
#include "files/wire.h"
#include "support/testing.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ew::test {

struct Outcome {
    std::optional<files::Done> done = {};
    std::optional<files::Failed> failed = {};
    std::string text = {}; // base64
    std::vector<files::Entry> entries = {};
    std::vector<files::Problem> problems = {};
    std::vector<UniqueFd> descriptors = {};
    bool is_garbage = false;

    // "" if it has worked.
    std::string message() const { return failed ? failed->message : done ? "" : "no answer"; }

    bool failed_as(files::Trouble trouble) const { return failed && failed->trouble == trouble; }
};

namespace detail {

constexpr std::size_t most_descriptors = 2;
using Control = std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))>;

inline void send_request(int socket, const std::string& text, const std::vector<int>& descriptors) {
    std::string_view rest = text;
    alignas(cmsghdr) Control control = {};
    std::size_t size = descriptors.size() * sizeof(int);
    while (!rest.empty()) {
        iovec part = {const_cast<char*>(rest.data()), rest.size()};
        msghdr message = {};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (size > 0) {
            message.msg_control = control.data();
            message.msg_controllen = CMSG_SPACE(size);
            cmsghdr* const header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(size);
            std::memcpy(CMSG_DATA(header), descriptors.data(), size);
        }
        const ssize_t count = ::sendmsg(socket, &message, MSG_NOSIGNAL);
        REQUIRE(count > 0);
        size = 0;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

// False: the end.
inline bool receive(int socket, std::string& buffer, std::vector<UniqueFd>& descriptors) {
    std::array<char, 64 << 10> block;
    iovec part = {block.data(), block.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) Control control = {};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (count <= 0) return false;
    buffer.append(block.data(), static_cast<std::size_t>(count));
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) return true;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, reinterpret_cast<const char*>(header) + at, sizeof fd);
        descriptors.emplace_back(fd);
    }
    return true;
}

inline void take(const files::Frame& frame, Outcome& outcome) {
    std::string_view body = frame.body;
    switch (frame.kind) {
    case files::FrameKind::text: outcome.text += body; break;
    case files::FrameKind::entries:
        while (std::optional<files::Entry> entry = files::take_entry(body))
            outcome.entries.push_back(std::move(*entry));
        CHECK(body.empty());
        break;
    case files::FrameKind::problems:
        while (std::optional<files::Problem> problem = files::take_problem(body))
            outcome.problems.push_back(std::move(*problem));
        CHECK(body.empty());
        break;
    case files::FrameKind::done: outcome.done = files::decode_done(body); break;
    case files::FrameKind::failed: outcome.failed = files::decode_failed(body); break;
    }
}

} // namespace detail

inline Outcome carried_out(const files::Request& request,
                           const std::vector<int>& descriptors = {}) {
    std::array<int, 2> sockets = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    const UniqueFd ours(sockets[0]);
    UniqueFd theirs(sockets[1]);
    std::thread server([&theirs] {
        (void)files::serve(theirs.get(), true);
        theirs.reset();
    });
    detail::send_request(ours.get(), files::encode(request), descriptors);
    Outcome outcome;
    std::string buffer;
    while (detail::receive(ours.get(), buffer, outcome.descriptors)) {
        outcome.is_garbage = outcome.is_garbage || files::is_garbage(buffer);
        std::size_t taken = 0;
        while (const auto frame = files::first_frame(std::string_view(buffer).substr(taken))) {
            detail::take(*frame, outcome);
            taken += static_cast<std::size_t>(frame->size);
        }
        buffer.erase(0, taken);
    }
    server.join();
    CHECK(buffer.empty()); // what is no frame is left over
    return outcome;
}

inline files::Request request_for(files::Verb verb, std::string path) {
    files::Request request;
    request.verb = verb;
    request.path = std::move(path);
    return request;
}

} // namespace ew::test
