#include "sandbox/init/session.h"

#include "sandbox/init/report.h"
#include "sandbox/init/wire.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ew::sandbox::init {

namespace {

using wire::Step;

constexpr int wrong_use = 2;

// Best effort: a session without it refuses more, not less.
void write_setting(const char* path, const char* value) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return;
    (void)!::write(file, value, std::strlen(value));
    ::close(file);
}

void send_namespace(wire::Namespace which, const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(Step::namespaces, errno, path);
    wire::Record record;
    record.kind = wire::RecordKind::name_space;
    record.step = static_cast<std::uint32_t>(which);
    if (const int error = send_record(record, "", file); error != 0)
        fail(Step::namespaces, error, path);
    ::close(file);
}

} // namespace

int hold(char** arguments) {
    if (arguments[0] == nullptr) return wrong_use;
    const bool has_network = std::strcmp(arguments[0], "network") == 0;
    // All ports of this network belong to the session (ip(7)).
    if (has_network) write_setting("/host/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    if (has_network) send_namespace(wire::Namespace::network, "/host/proc/self/ns/net");
    send_namespace(wire::Namespace::mounts, "/host/proc/self/ns/mnt");
    send_namespace(wire::Namespace::users, "/host/proc/self/ns/user");
    return 0;
}

} // namespace ew::sandbox::init
