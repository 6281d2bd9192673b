#include "sandbox/launch/entrance.h"

#include "base/unique_fd.h"
#include "os/forked.h"
#include "os/io.h"
#include "sandbox/aftermath/aftermath.h"
#include "sandbox/init/mount_lock.h"
#include "sandbox/init/privileges.h"
#include "sandbox/init/run.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/host_network.h"
#include "sandbox/launch/mount_tree.h"
#include "sandbox/launch/report.h"
#include "sandbox/plan/bubblewrap_arguments.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

using wire::Step;

void join(const UniqueFd& name_space, int kind) {
    if (::setns(name_space.get(), kind) != 0) fail_start(Step::namespaces, errno, "");
}

void make_own_namespaces() {
    constexpr int needed = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (::unshare(needed) != 0) fail_start(Step::namespaces, errno, "");
    (void)::unshare(CLONE_NEWCGROUP); // no guarantee needs it, and some kernels lack it
}

// `alive` is a pipe that the parent holds as long as it lives: its pid is no pid in this namespace.
void die_with_parent(const os::Pipe& alive) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) leave();
    char byte = 0;
    if (::read(alive.read.get(), &byte, 1) == 0) leave(); // it has ended before the call above
}

[[noreturn]] void become_first_process(const Plan& plan, const Machine& machine,
                                       const std::string& terminal) {
    const std::string machine_proc = std::string(host_path) + "/proc";
    const UniqueFd proc(::open(machine_proc.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!proc) fail_start(Step::build, errno, machine_proc);
    make_mounts(plan, machine, terminal);
    if (const int error = init::lock_mounts(proc.get()); error != 0)
        fail_start(Step::namespaces, error, "");
    if (const int error = init::drop_capabilities(); error != 0)
        fail_start(Step::capabilities, error, "");
    init::run(false);
}

// In the fork. The first process is a child of this one's parent. This one ends when the first
// process runs in the copy of the mounts that locks them (init/mount_lock.h), and closes what it
// has opened: with this one the original goes, for which the kernel waits until nobody looks at it.
[[noreturn]] void make_first_process(const Namespaces& namespaces, const Entrance& entrance,
                                     os::Pipe& alive, pid_t parent) {
    alive.write.reset(); // the parent alone holds it
    Result<os::Pipe> locked = os::make_pipe();
    if (!locked) fail_start(Step::namespaces, errno, "");
    const char* const name = ::ttyname(STDOUT_FILENO);
    const std::string terminal = name == nullptr ? "" : name;
    join(namespaces.users, CLONE_NEWUSER);
    join(namespaces.mounts, CLONE_NEWNS);
    if (entrance.plan.has_hosts)
        make_host_network();
    else if (entrance.plan.has_own_network && namespaces.network)
        join(namespaces.network, CLONE_NEWNET);
    make_own_namespaces();
    // Other credentials make the kernel forget the death signal (prctl(2)).
    if (!os::dies_with(parent)) leave();
    // A signal for all processes of the command would end this one, and so the start. The first
    // process lets signals through again.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    const long child = ::syscall(SYS_clone, CLONE_PARENT, nullptr, nullptr, nullptr, nullptr);
    if (child < 0) fail_start(Step::namespaces, errno, "");
    if (child > 0) {
        char byte = 0;
        os::close_all_but({locked->read.get()}); // the end of the report does not wait for this one
        while (::read(locked->read.get(), &byte, 1) < 0 && errno == EINTR) {}
        ::_exit(0);
    }
    die_with_parent(alive);
    become_first_process(entrance.plan, entrance.machine, terminal);
}

void close_all_but(std::vector<int> kept) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; fd <= 2; ++fd)
        if (::dup2(nothing.get(), fd) < 0) ::close(fd);
    os::close_all_but(std::move(kept));
}

// Returns the wait status of the first process. If that was not made, this process ends.
int wait_for_first_process(pid_t maker) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, 0);
        if (ended < 0 && errno != EINTR) leave();
        if (ended > 0 && ended != maker) return status;
        if (ended == maker && status != 0) leave();
    }
}

// A look that takes too long ends this process, and the server looks.
void tell_what_is_left(std::optional<HeldLook> look) {
    constexpr unsigned longest = 30; // seconds
    if (!look) return;
    ::alarm(longest);
    const std::vector<SetAside> things = look_again(std::move(*look));
    // Nobody reads the pipe before this process has ended, and a user with many large pipes gets
    // only small ones (pipe(7)).
    constexpr int least = 4096;
    (void)::fcntl(wire::end_fd, F_SETPIPE_SZ, static_cast<int>(wire::longest_look));
    const auto size =
        static_cast<std::size_t>(std::max(::fcntl(wire::end_fd, F_GETPIPE_SZ), least));
    const std::size_t status_and_mark = sizeof(int) + wire::look_mark.size();
    const std::string text = encode_set_aside(things, size - status_and_mark);
    (void)os::set_nonblocking(wire::end_fd);
    (void)os::write_all(wire::end_fd, std::string(wire::look_mark) + text);
}

} // namespace

void enter(const Namespaces& namespaces, Entrance entrance, pid_t server) {
    Result<os::Pipe> alive = os::make_pipe(os::NonBlocking::read_end);
    if (!alive) fail_start(Step::namespaces, errno, "");
    const pid_t parent = ::getpid();
    const pid_t maker = ::fork();
    if (maker < 0) fail_start(Step::namespaces, errno, "");
    if (maker == 0) make_first_process(namespaces, entrance, *alive, parent);
    std::vector<int> kept = {alive->write.get(), wire::end_fd};
    if (entrance.look) kept.push_back(entrance.look->lock.get());
    close_all_but(std::move(kept));
    if (!os::dies_with(server)) leave();
    const int status = wait_for_first_process(maker);
    tell_what_is_left(std::move(entrance.look));
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

} // namespace ew::sandbox
