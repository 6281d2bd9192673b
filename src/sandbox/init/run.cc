#include "sandbox/init/run.h"

#include "sandbox/init/command.h"
#include "sandbox/init/first_process.h"
#include "sandbox/init/mount_lock.h"
#include "sandbox/init/order_reader.h"
#include "sandbox/init/privileges.h"
#include "sandbox/init/report.h"
#include "sandbox/init/wire.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ew::sandbox::init {

namespace {

using wire::Step;

constexpr int needed_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

struct Mapping {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
};

// Nobody can change the order while it is read: its size and content are sealed, and the mapping is
// private.
Mapping map_order() {
    const int seals = ::fcntl(wire::order_fd, F_GET_SEALS);
    if (seals < 0) fail(Step::order, errno);
    if ((seals & needed_seals) != needed_seals) fail(Step::order, EPERM);
    struct stat status = {};
    if (::fstat(wire::order_fd, &status) != 0) fail(Step::order, errno);
    if (status.st_size <= 0) fail(Step::order, EBADMSG);
    Mapping mapping;
    mapping.size = static_cast<std::size_t>(status.st_size);
    void* const place =
        ::mmap(nullptr, mapping.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, wire::order_fd, 0);
    if (place == MAP_FAILED) fail(Step::order, errno);
    mapping.bytes = static_cast<unsigned char*>(place);
    return mapping;
}

void take_descriptors() {
    for (int fd = wire::status_fd; fd <= wire::end_fd; ++fd)
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) fail(Step::order, errno);
    close_range(wire::order_fd, ~0u);
}

[[noreturn]] void become_first_process(const Order& order, const Mapping& mapping) {
    if (::getpid() != 1) fail(Step::process, ESRCH);
    // The command runs as the same user, but cannot trace this process or read its memory.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail(Step::process, errno);
    if (const int error = forbid_new_privileges(); error != 0) fail(Step::privileges, error);
    hold_signals();
    const pid_t command = ::fork();
    if (command < 0) fail(Step::process, errno);
    if (command > 0) {
        ::munmap(mapping.bytes, mapping.size);
        look_after(command);
    }
    ::close(wire::end_fd);
    release_signals();
    become_command(order);
}

// bubblewrap has made the mounts.
void lock() {
    const int proc = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) fail(Step::namespaces, errno);
    if (const int error = lock_mounts(proc); error != 0) fail(Step::namespaces, error);
    ::close(proc);
    if (const int error = drop_capabilities(); error != 0) fail(Step::capabilities, error);
}

} // namespace

void run(bool locks) {
    const Mapping mapping = map_order();
    take_descriptors();
    Order order;
    if (!read_order(mapping.bytes, mapping.size, order)) fail(Step::order, EBADMSG);
    reset_signals();
    if (locks) lock();
    if (order.is_first_process) become_first_process(order, mapping);
    ::close(wire::end_fd);
    become_command(order);
}

} // namespace ew::sandbox::init
