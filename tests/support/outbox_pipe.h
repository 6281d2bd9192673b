// An outbox with a client that reads only when the test tells it to.
#pragma once

#include "os/io.h"
#include "server/connection/outbox.h"
#include "support/testing.h"

#include <fcntl.h>

#include <string>
#include <utility>

namespace ew::test {

class OutboxPipe {
public:
    static constexpr std::size_t pipe_size = 4096;

    OutboxPipe() : pipe_(new_pipe()), outbox_(open_end(pipe_.write.get())) {
        pipe_.write.reset();
        REQUIRE(os::set_nonblocking(pipe_.read.get()));
        REQUIRE(::fcntl(pipe_.read.get(), F_SETPIPE_SZ, pipe_size) >= 0);
    }

    server::Outbox& outbox() { return outbox_; }

    void add(server::Lane lane, std::string_view message) {
        outbox_.begin(lane).append(message);
        outbox_.end();
    }

    // Returns what one read of the client returns.
    std::string read() {
        std::string bytes(pipe_size, '\0');
        bytes.resize(os::read_some(pipe_.read.get(), bytes.data(), bytes.size()).count);
        return bytes;
    }

    // Reads as the client until nothing arrives any more.
    std::string read_all() {
        std::string all;
        do {
            outbox_.flush();
            const std::string bytes = read();
            if (bytes.empty()) return all;
            all += bytes;
        } while (true);
    }

    void leave() { pipe_.read.reset(); }

private:
    static os::Pipe new_pipe() {
        Result<os::Pipe> pipe = os::make_pipe();
        REQUIRE(pipe);
        return std::move(*pipe);
    }

    static os::StdioEnd open_end(int fd) {
        Result<os::StdioEnd> end = os::StdioEnd::open(fd, true);
        REQUIRE(end);
        return std::move(*end);
    }

    os::Pipe pipe_;
    server::Outbox outbox_;
};

} // namespace ew::test
