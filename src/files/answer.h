// Sends the answer to one request over the socket, frame by frame.
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

    // Waits until the socket has taken the frame. If sending fails, the frame is dropped, because
    // the receiver is gone.
    void add(FrameKind kind, std::string_view body) const { send(encode_frame(kind, body), {}); }

    // Sends the last frame. `descriptors` are borrowed.
    void finish(const Done& done, const std::vector<int>& descriptors = {}) const;
    void finish(const Failed& failed) const;

private:
    void send(std::string_view frame, std::vector<int> descriptors) const;

    int socket_;
};

} // namespace ew::files
