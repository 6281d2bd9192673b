#include "sandbox/init/command.h"

#include "base/script_file.h"
#include "sandbox/init/landlock.h"
#include "sandbox/init/mounts.h"
#include "sandbox/init/privileges.h"
#include "sandbox/init/report.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ew::sandbox::init {

namespace {

using wire::Step;

// From Linux 5.19 on; older headers lack it. Without it, a signal makes the caller start the call
// again.
constexpr unsigned long wait_killable = 1ul << 5; // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

void require(Step step, int error) {
    if (error != 0) fail(step, error);
}

// Gives the command a session and a terminal of its own. Its process groups then get numbers that
// are valid inside the sandbox.
void take_session(const Order& order) {
    // EPERM: this process leads a group already, as in a sandbox without a first process. Then it
    // must also lead a session.
    if (::setsid() < 0 && ::getsid(0) != ::getpid()) fail(Step::session, errno);
    if (!order.has_terminal) return;
    // This also makes our group the foreground group.
    if (::ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) fail(Step::terminal, errno);
}

// The command inherits this descriptor alone.
void take_script(const Order& order) {
    if (order.script[0] == '\0') return;
    const UniqueFd file = make_script_file(order.script);
    if (!file || ::dup2(file.get(), script_fd) < 0) fail(Step::order, errno);
}

void take_limits(const Order& order) {
    for (std::uint32_t i = 0; i < order.limit_count; ++i) {
        const order_format::Limit& wanted = order.limits[i];
        const rlimit limit = {wanted.soft, wanted.hard};
        if (::setrlimit(static_cast<__rlimit_resource>(wanted.resource), &limit) != 0)
            fail(Step::limits, errno);
    }
}

// Does the kernel write cores into files, rather than hand them to a program or a socket ("|…",
// "@…", core(5))?
bool are_cores_files() {
    const int file = ::open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return false;
    char first = 0;
    const bool is_read = ::read(file, &first, 1) == 1;
    ::close(file);
    return is_read && first != '|' && first != '@';
}

// A limit of 0 holds for files alone. With 1 the kernel hands a core to nobody, and a file is too
// short for one. The filter lets nobody change this limit any more.
void forbid_cores() {
    const rlim_t most = are_cores_files() ? 0 : 1;
    const rlimit no_core = {most, most};
    if (::setrlimit(RLIMIT_CORE, &no_core) != 0) fail(Step::limits, errno);
}

void restrict_files(const Order& order) {
    if (order.landlock == 0) return;
    landlock::Wish wish;
    wish.abi = order.landlock;
    wish.scopes_sockets_and_signals = order.scopes_sockets_and_signals;
    wish.writable = order.writable;
    wish.device_writable = order.device_writable;
    wish.has_terminal = order.has_terminal;
    wish.known = {order.expected, order.expected_paths, order.expected_count};
    const landlock::Failure failure = landlock::restrict_self(wish);
    if (failure.error == ESTALE) fail(Step::mounts, failure.error, failure.path);
    if (failure.error != 0) fail(Step::landlock, failure.error, failure.path);
}

// Returns the listener, or -1 if the order asks for none. From here on, calls that the filter traps
// (connect, and opens for writing) wait for the server, which gets the listener with the next
// record.
int apply_filter(const Order& order) {
    if (order.filter_length == 0) return -1;
    const sock_fprog program = {order.filter_length, order.filter};
    const auto set = [&program](unsigned long flags) {
        return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    };
    long result = 0;
    if (order.has_listener) {
        result = set(SECCOMP_FILTER_FLAG_NEW_LISTENER | wait_killable);
        if (result < 0 && errno == EINVAL) result = set(SECCOMP_FILTER_FLAG_NEW_LISTENER);
    } else {
        result = set(0);
    }
    if (result < 0) fail(Step::filter, errno);
    return order.has_listener ? static_cast<int>(result) : -1;
}

// If the kernel does not know the format of a file, a shell runs it, as in execvp(3). Returns
// errno.
int execute_with_shell(const Order& order, char* program) {
    static constexpr char shell[] = "/bin/sh";
    char** const argv = order.argv - 1;
    char* const name = argv[1];
    argv[0] = const_cast<char*>(shell);
    argv[1] = program;
    ::execve(shell, argv, order.environment);
    argv[1] = name;
    return errno;
}

// As execvp(3): runs the first program that can be run. EACCES is remembered, since it says more
// than the "no such file" of a later place.
[[noreturn]] void execute(const Order& order) {
    int worst = ENOENT;
    const char* about = order.programs[0];
    for (char** program = order.programs; *program != nullptr; ++program) {
        ::execve(*program, order.argv, order.environment);
        int error = errno;
        if (error == ENOEXEC) error = execute_with_shell(order, *program);
        if (error == ENOENT || error == ENOTDIR) continue;
        worst = error;
        about = *program;
        if (error != EACCES) break;
    }
    fail(Step::exec, worst, about, worst == ENOENT ? 127 : 126);
}

} // namespace

void become_command(const Order& order) {
    take_session(order);
    if (::chdir(order.directory) != 0) fail(Step::directory, errno, order.directory);
    take_script(order);
    require(Step::capabilities,
            order.is_first_process ? check_no_capabilities() : drop_capabilities());
    require(Step::privileges, forbid_new_privileges());
    WritableMounts mounts;
    check_mounts(order, mounts);
    restrict_files(order);
    forbid_cores();
    const int listener = apply_filter(order);
    take_limits(order); // all steps that need descriptors or memory are done
    require(Step::report, tell_applied(listener, mounts.ids, mounts.count));
    if (listener >= 0) ::close(listener);
    execute(order);
}

} // namespace ew::sandbox::init
