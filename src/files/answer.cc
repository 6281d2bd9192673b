#include "files/answer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ew::files {

void Answer::finish(const Done& done, const std::vector<int>& descriptors) {
    send(encode_frame(FrameKind::done, encode_done(done)), descriptors);
}

void Answer::finish(const Failed& failed) {
    send(encode_frame(FrameKind::failed, encode_failed(failed)), {});
}

void Answer::send(std::string_view frame, const std::vector<int>& descriptors) {
    constexpr std::size_t most = 2;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most * sizeof(int))> control = {};
    std::size_t size = descriptors.size() * sizeof(int);
    while (!frame.empty()) {
        iovec part = {const_cast<char*>(frame.data()), frame.size()}; // sendmsg(2) only reads
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
        const ssize_t count = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return;
        size = 0;
        frame.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace ew::files
