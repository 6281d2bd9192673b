#include "server/fs/file_channel.h"

#include "files/descriptors.h"

#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace ew::server {

namespace {

constexpr std::size_t read_size = 128 << 10;

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
        const std::string_view rest = std::string_view(request_).substr(sent_);
        const ssize_t count = files::send_with(socket_.get(), rest, descriptors_, MSG_DONTWAIT);
        if (count < 0) { // the peer is gone: read() reports that
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
    const ssize_t count =
        files::receive_with(socket_.get(), answer_, read_size, received_, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    return count > 0 && !files::is_garbage(answer_);
}

bool FileChannel::discard() {
    answer_.clear();
    taken_ = 0;
    received_.clear();
    const ssize_t count =
        files::receive_with(socket_.get(), answer_, read_size, received_, MSG_DONTWAIT);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

std::optional<files::Frame> FileChannel::frame() const {
    return files::first_frame(std::string_view(answer_).substr(taken_));
}

void FileChannel::pop() {
    if (const std::optional<files::Frame> first = frame())
        taken_ += static_cast<std::size_t>(first->size);
}

} // namespace ew::server
