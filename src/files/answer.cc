#include "files/answer.h"

#include "files/descriptors.h"

#include <cerrno>

namespace ew::files {

void Answer::finish(const Done& done, const std::vector<int>& descriptors) const {
    send(encode_frame(FrameKind::done, encode_done(done)), descriptors);
}

void Answer::finish(const Failed& failed) const {
    send(encode_frame(FrameKind::failed, encode_failed(failed)), {});
}

void Answer::send(std::string_view frame, std::vector<int> descriptors) const {
    while (!frame.empty()) {
        const ssize_t count = send_with(socket_, frame, descriptors);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return;
        descriptors.clear(); // they were sent with the first byte
        frame.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace ew::files
