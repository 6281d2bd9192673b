// The answer to one request, frame by frame, over the socket.
#pragma once

#include "base/unique_fd.h"
#include "files/outcome.h"
#include "files/wire.h"

#include <string_view>
#include <vector>

namespace ew::files {

class Answer {
public:
    explicit Answer(int socket) : socket_(socket) {}

    // Waits until the socket has taken it. What cannot be sent is lost: nobody is there any more.
    void add(FrameKind kind, std::string_view body) const { send(encode_frame(kind, body), {}); }

    // The last frame. `descriptors` are borrowed.
    void finish(const Done& done, const std::vector<int>& descriptors = {}) const;
    void finish(const Failed& failed) const;

private:
    void send(std::string_view frame, std::vector<int> descriptors) const;

    int socket_;
};

} // namespace ew::files
