#include "sandbox/launch/start_reports.h"

#include "os/io.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace ew::sandbox {

namespace {

// Takes what came beside the bytes of a message.
void take_control(msghdr& message, StartReport& report) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_RIGHTS) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part), sizeof fd); // our own processes send one at most
            report.descriptor = UniqueFd(fd);
        }
        if (part->cmsg_type == SCM_CREDENTIALS) {
            ucred credentials = {};
            std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
            report.sender = credentials.pid;
        }
    }
}

} // namespace

std::vector<std::string> StartReport::texts() const {
    std::vector<std::string> texts;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\0');
        texts.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return texts;
}

std::vector<std::uint64_t> StartReport::numbers() const {
    std::vector<std::uint64_t> numbers(text.size() / sizeof(std::uint64_t));
    std::string_view rest = text;
    for (std::uint64_t& number : numbers) {
        std::memcpy(&number, rest.data(), sizeof number);
        rest.remove_prefix(sizeof number);
    }
    return numbers;
}

Result<UniqueFd> StartReports::open() {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return os::system_error("socketpair", errno);
    socket_ = UniqueFd(pair[0]);
    UniqueFd theirs(pair[1]);
    // The kernel then adds the sender to each packet, with pids of our namespace (unix(7)).
    const int yes = 1;
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
        return os::system_error("SO_PASSCRED", errno);
    TRY(os::set_nonblocking(socket_.get()));
    return theirs;
}

StartReports::Taken StartReports::take(StartReport& report) {
    std::array<char, wire::longest_text> text; // most packets need little of it
    std::array<iovec, 2> parts = {
        {{&report.record, sizeof report.record}, {text.data(), text.size()}}};
    alignas(cmsghdr) std::array<char, 256> control = {};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Taken::none;
    if (size > 0) take_control(message, report);
    if (size > 0 && (message.msg_flags & MSG_CTRUNC) != 0) return Taken::loss;
    if (size < static_cast<ssize_t>(sizeof report.record)) return Taken::end;
    report.text.assign(text.data(),
                       std::min<std::size_t>(report.record.size, static_cast<std::size_t>(size) -
                                                                     sizeof report.record));
    return Taken::report;
}

} // namespace ew::sandbox
