#include "files/descriptors.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ew::files {

namespace {

using Control = std::array<char, CMSG_SPACE(most_passed * sizeof(int))>;

void take(msghdr& message, std::vector<UniqueFd>& to) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            to.emplace_back(fd);
        }
    }
}

} // namespace

ssize_t send_with(int socket, std::string_view bytes, const std::vector<int>& descriptors,
                  int flags) {
    iovec part = {const_cast<char*>(bytes.data()), bytes.size()}; // sendmsg(2) only reads
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) Control control = {};
    if (const std::size_t size = descriptors.size() * sizeof(int); size > 0) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(header), descriptors.data(), size);
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL | flags);
}

ssize_t receive_with(int socket, std::string& buffer, std::size_t most,
                     std::vector<UniqueFd>& descriptors, int flags) {
    const std::size_t before = buffer.size();
    buffer.resize(before + most);
    iovec part = {buffer.data() + before, most};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) Control control = {};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    const int why = errno;
    buffer.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    errno = why;
    if (count < 0) return count;
    take(message, descriptors);
    if ((message.msg_flags & MSG_CTRUNC) == 0) return count;
    errno = EMFILE;
    return -1;
}

} // namespace ew::files
