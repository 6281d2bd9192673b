#include "sandbox/launch/entrance.h"

#include "base/unique_fd.h"
#include "os/forked.h"
#include "os/io.h"
#include "sandbox/init/mount_lock.h"
#include "sandbox/init/privileges.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/mount_tree.h"
#include "sandbox/launch/report.h"
#include "sandbox/plan/bubblewrap_arguments.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

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
    std::string program(init_path);
    char* const argv[] = {program.data(), nullptr};
    char* const no_environment[] = {nullptr};
    ::execve(argv[0], argv, no_environment);
    fail_start(Step::exec, errno, init_path);
}

// Executes a small program for the wait, since this one is a copy of the server. It keeps `alive`.
[[noreturn]] void become_waiter(const UniqueFd& init, pid_t child, int alive) {
    (void)::fcntl(alive, F_SETFD, 0);
    if (init::drop_capabilities() != 0) leave();
    std::string name = "execward-init";
    std::string word = "wait";
    std::string pid = std::to_string(child);
    std::string kept = std::to_string(alive);
    char* const argv[] = {name.data(), word.data(), pid.data(), kept.data(), nullptr};
    char* const no_environment[] = {nullptr};
    ::fexecve(init.get(), argv, no_environment);
    leave();
}

} // namespace

void enter(const Namespaces& namespaces, const Plan& plan, const Machine& machine, pid_t server) {
    const char* const name = ::ttyname(STDOUT_FILENO);
    const std::string terminal = name == nullptr ? "" : name;
    const UniqueFd init(::open(machine.init.c_str(), O_RDONLY | O_CLOEXEC));
    Result<os::Pipe> alive = os::make_pipe(os::NonBlocking::read_end);
    if (!init || !alive) fail_start(Step::namespaces, errno, machine.init);

    join(namespaces.users, CLONE_NEWUSER);
    join(namespaces.mounts, CLONE_NEWNS);
    if (plan.has_own_network && namespaces.network) join(namespaces.network, CLONE_NEWNET);
    make_own_namespaces();
    // Other credentials make the kernel forget the death signal (prctl(2)).
    if (!os::dies_with(server)) leave();
    const pid_t child = ::fork();
    if (child < 0) fail_start(Step::namespaces, errno, "");
    if (child > 0) become_waiter(init, child, alive->write.get());
    alive->write.reset();
    die_with_parent(*alive);
    become_first_process(plan, machine, terminal);
}

} // namespace ew::sandbox
