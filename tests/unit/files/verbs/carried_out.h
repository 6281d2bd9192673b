// One request to a file process (files/verbs/serve.h) and all of its answer, without the process.
#pragma once

#include "base/unique_fd.h"
#include "files/descriptors.h"
#include "files/verbs/serve.h"
#include "files/wire.h"
#include "support/testing.h"

#include <sys/socket.h>

#include <array>
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

inline void send_request(int socket, const std::string& text, std::vector<int> descriptors) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t count = files::send_with(socket, rest, descriptors);
        REQUIRE(count > 0);
        descriptors.clear();
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

// False: the end.
inline bool receive(int socket, std::string& buffer, std::vector<UniqueFd>& descriptors) {
    return files::receive_with(socket, buffer, 64 << 10, descriptors) > 0;
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
