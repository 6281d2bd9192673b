#include "files/verbs/serve.h"

#include "base/unique_fd.h"
#include "files/answer.h"
#include "files/descriptors.h"
#include "files/verbs/contents.h"
#include "files/verbs/listing.h"
#include "files/verbs/patch_verbs.h"
#include "files/verbs/replacing.h"
#include "files/verbs/tree.h"
#include "files/verbs/watching.h"
#include "files/wire.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

constexpr std::size_t read_size = 64 << 10;

struct Received {
    Request request = {};
    std::vector<UniqueFd> descriptors = {};
};

// Returns false at the end.
bool receive(int socket, std::string& buffer, std::vector<UniqueFd>& descriptors) {
    ssize_t count = 0;
    do {
        count = receive_with(socket, buffer, read_size, descriptors);
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

// The server sends the next request only after the answer to the last, so no bytes are left over.
// Returns nullopt at the end of the socket (`is_clean` is true), or for an invalid or incomplete
// request.
std::optional<Received> next_request(int socket, bool& is_clean) {
    Received received;
    std::string buffer;
    for (;;) {
        const std::optional<std::uint64_t> size = size_of_request(buffer);
        is_clean = buffer.empty();
        if (size && buffer.size() >= *size) {
            std::optional<Request> request = decode_request(buffer);
            if (!request) return std::nullopt;
            received.request = std::move(*request);
            return received;
        }
        if (size) return std::nullopt; // longer than any request
        if (!receive(socket, buffer, received.descriptors)) return std::nullopt;
    }
}

std::size_t descriptors_of(Verb verb) {
    switch (verb) {
    case Verb::read_block:
    case Verb::write_block:
    case Verb::watch_missing: return 1;
    case Verb::commit: return 2;
    case Verb::read_file:
    case Verb::write_file:
    case Verb::create_directory:
    case Verb::metadata:
    case Verb::canonicalize:
    case Verb::read_directory:
    case Verb::walk:
    case Verb::remove:
    case Verb::copy:
    case Verb::open:
    case Verb::open_replace:
    case Verb::patch_check:
    case Verb::patch_apply: break;
    }
    return 0;
}

void carry_out(const Received& received, Answer& answer) {
    const Request& request = received.request;
    const auto fd = [&received](std::size_t i) { return received.descriptors[i].get(); };
    switch (request.verb) {
    case Verb::read_file: return read_file(request, answer);
    case Verb::write_file: return write_file(request, answer);
    case Verb::create_directory: return create_directory(request, answer);
    case Verb::metadata: return metadata(request, answer);
    case Verb::canonicalize: return canonicalize(request, answer);
    case Verb::read_directory: return read_directory(request, answer);
    case Verb::walk: return walk(request, answer);
    case Verb::remove: return remove(request, answer);
    case Verb::copy: return copy(request, answer);
    case Verb::open: return open_file(request, answer);
    case Verb::open_replace: return open_replace(request, answer);
    case Verb::read_block: return read_block(request, fd(0), answer);
    case Verb::write_block: return write_block(request, fd(0), answer);
    case Verb::commit: return commit(request, fd(0), fd(1), answer);
    case Verb::watch_missing: return watch_missing(request, fd(0), answer);
    case Verb::patch_check: return patch_check(request, answer);
    case Verb::patch_apply: return patch_apply(request, answer);
    }
}

} // namespace

int serve(int socket, bool is_single) {
    for (;;) {
        bool is_clean = true;
        const std::optional<Received> received = next_request(socket, is_clean);
        if (!received) return is_clean ? 0 : 1;
        if (received->descriptors.size() != descriptors_of(received->request.verb)) return 1;
        Answer answer(socket);
        carry_out(*received, answer);
        if (is_single) return 0;
    }
}

} // namespace ew::files
