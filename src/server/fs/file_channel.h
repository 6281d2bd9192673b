// One request to a file process and its answer (files/wire.h), over a socket that never blocks.
#pragma once

#include "base/unique_fd.h"
#include "files/wire.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class FileChannel {
public:
    explicit FileChannel(UniqueFd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.get(); }

    // `descriptors` are borrowed until the first byte has gone, which write() does.
    void begin(std::string request, std::vector<int> descriptors);

    bool has_unsent() const { return sent_ < request_.size(); }

    // Sends what the socket takes.
    void write();

    // Reads once. False: the other side has ended, or has said what is no frame.
    bool read();

    // Reads once and forgets what came. False: nobody has the other side open any more.
    bool discard();

    // The first frame that is there; it is valid until pop() or read().
    std::optional<files::Frame> frame() const;
    void pop();

    // What came beside the frames since the last call.
    std::vector<UniqueFd> take_descriptors() { return std::move(received_); }

private:
    UniqueFd socket_;
    std::string request_;
    std::size_t sent_ = 0;
    std::vector<int> descriptors_; // to go with the first byte
    std::string answer_;
    std::size_t taken_ = 0; // bytes of answer_
    std::vector<UniqueFd> received_;
};

} // namespace ew::server
