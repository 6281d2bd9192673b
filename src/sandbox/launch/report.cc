#include "sandbox/launch/report.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

namespace ew::sandbox {

void leave() {
    constexpr int not_run = 125;
    ::_exit(not_run);
}

void refuse(const Error& error) {
    wire::Record record;
    record.kind = wire::RecordKind::refused;
    record.value = static_cast<std::int64_t>(error.kind);
    send(record,
         fmt::format("{}{}{}{}{}{}", error.message, '\0', error.hint, '\0', error.path, '\0'));
    leave();
}

void fail_start(wire::Step step, int error, std::string_view about) {
    wire::Record record;
    record.kind = wire::RecordKind::failed;
    record.step = static_cast<std::uint32_t>(step);
    record.value = error;
    send(record, about);
    leave();
}

void send(wire::Record record, std::string_view text, int descriptor) {
    text = text.substr(0, wire::longest_text);
    record.size = static_cast<std::uint32_t>(text.size());
    std::string copy(text);
    std::array<iovec, 2> parts = {{{&record, sizeof record}, {copy.data(), copy.size()}}};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (descriptor >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
    }
    (void)::sendmsg(wire::status_fd, &message, MSG_NOSIGNAL);
}

} // namespace ew::sandbox
