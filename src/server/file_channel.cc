#include "server/file_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ew::server {

namespace {

constexpr std::size_t most_descriptors = 4; // in one message
constexpr std::size_t read_size = 128 << 10;

using Control = std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))>;

void put_descriptors(msghdr& message, Control& control, const std::vector<int>& descriptors) {
    const std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
}

void take_descriptors_of(msghdr& message, std::vector<UniqueFd>& to) {
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

void FileChannel::begin(std::string request, std::vector<int> descriptors) {
    request_ = std::move(request);
    sent_ = 0;
    descriptors_ = std::move(descriptors);
    answer_.clear();
    taken_ = 0;
    write();
}

void FileChannel::write() {
    while (has_unsent()) {
        iovec part = {request_.data() + sent_, request_.size() - sent_};
        msghdr message = {};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) Control control = {};
        if (!descriptors_.empty()) put_descriptors(message, control, descriptors_);
        const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) { // gone: that shows when it is read
            if (errno != EAGAIN && errno != EINTR) sent_ = request_.size();
            break;
        }
        descriptors_.clear();
        sent_ += static_cast<std::size_t>(count);
    }
    if (!has_unsent()) request_ = std::string(); // it may be large
}

bool FileChannel::read() {
    if (taken_ > 0) answer_.erase(0, std::exchange(taken_, 0));
    const std::size_t before = answer_.size();
    answer_.resize(before + read_size);
    iovec part = {answer_.data() + before, read_size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) Control control = {};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const int why = errno;
    answer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) return why == EAGAIN || why == EINTR;
    take_descriptors_of(message, received_);
    return count > 0 && (message.msg_flags & MSG_CTRUNC) == 0 && !files::is_garbage(answer_);
}

std::optional<files::Frame> FileChannel::frame() const {
    return files::first_frame(std::string_view(answer_).substr(taken_));
}

void FileChannel::pop() {
    if (const std::optional<files::Frame> first = frame())
        taken_ += static_cast<std::size_t>(first->size);
}

} // namespace ew::server
