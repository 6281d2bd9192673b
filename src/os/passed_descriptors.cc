#include "os/passed_descriptors.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>

namespace ew::os {

namespace {

// A message with one byte, and space for descriptors.
struct Message {
    char byte = 0;
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_passed * sizeof(int))> control = {};
    msghdr head = {};

    explicit Message(std::size_t descriptors) {
        head.msg_iov = &part;
        head.msg_iovlen = 1;
        head.msg_control = control.data();
        head.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    }

    ~Message() = default;
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
};

} // namespace

bool send_descriptors(int socket, std::span<const int> descriptors) {
    if (descriptors.empty() || descriptors.size() > most_passed) return false;
    Message message(descriptors.size());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message.head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    return ::sendmsg(socket, &message.head, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

std::vector<UniqueFd> receive_descriptors(int socket) {
    Message message(most_passed);
    std::vector<UniqueFd> received;
    if (::recvmsg(socket, &message.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return received;
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message.head);
    if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
        return received;
    const std::size_t size = rights->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(rights) + at, sizeof descriptor);
        received.emplace_back(descriptor);
    }
    return received;
}

} // namespace ew::os
