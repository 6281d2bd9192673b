#include "sandbox/init/report.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ew::sandbox::init {

int send_record(const wire::Record& record, const void* text, int descriptor) {
    iovec parts[2] = {{const_cast<wire::Record*>(&record), sizeof record},
                      {const_cast<void*>(text), record.size}};
    alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof descriptor)] = {};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    for (;;) {
        if (::sendmsg(wire::status_fd, &message, MSG_NOSIGNAL) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int tell_applied(int listener, const std::uint64_t* mounts, std::size_t count) {
    wire::Record record;
    record.kind = wire::RecordKind::applied;
    record.size = static_cast<std::uint32_t>(count * sizeof *mounts);
    return send_record(record, mounts, listener);
}

void fail(wire::Step step, int error, const char* about, int code) {
    const std::size_t length = std::strlen(about);
    wire::Record record;
    record.kind = wire::RecordKind::failed;
    record.step = static_cast<std::uint32_t>(step);
    record.value = error;
    record.size = static_cast<std::uint32_t>(length < wire::longest_text ? length : 0);
    // If the server is gone, nobody reads the record. An end without `applied` means that the
    // command was not run.
    (void)send_record(record, about, -1);
    ::_exit(code);
}

} // namespace ew::sandbox::init
