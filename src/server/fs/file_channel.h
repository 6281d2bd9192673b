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

    // `descriptors` are borrowed until write() has sent the first byte.
    void begin(std::string request, std::vector<int> descriptors);

    bool has_unsent() const { return sent_ < request_.size(); }

    // Sends as much as the socket takes.
    void write();

    // Reads once. Returns false if the peer has ended, or has sent an invalid frame.
    bool read();

    // Reads once and drops the bytes. Returns false if no process has the other end open.
    bool discard();

    // Returns the first complete frame; it is valid until pop() or read(). Returns nullopt if no
    // frame is complete.
    std::optional<files::Frame> frame() const;
    void pop();

    // Returns the descriptors that have arrived since the last call.
    std::vector<UniqueFd> take_descriptors() { return std::move(received_); }

private:
    UniqueFd socket_;
    std::string request_;
    std::size_t sent_ = 0;
    std::vector<int> descriptors_; // sent with the first byte
    std::string answer_;
    std::size_t taken_ = 0; // bytes of answer_
    std::vector<UniqueFd> received_;
};

} // namespace ew::server
