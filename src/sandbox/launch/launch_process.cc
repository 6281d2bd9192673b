#include "sandbox/launch/launch_process.h"

#include "os/io.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/launch/start_order.h"
#include "sandbox/launch/start_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

namespace ew::sandbox {

namespace {

// These programs are executed unconfined: no confined program may replace them.
void name_own_programs(LaunchOrder& order) {
    static const std::string own = os::real_path("/proc/self/exe").value_or("");
    order.context.read_only = {init_place(), order.machine.bubblewrap, own};
    if (const char* const home = ::getenv("HOME")) order.context.home = home;
}

// Without execward-init nothing is enforced.
Result<pid_t> fork_child(const LaunchOrder& order, const ChildDescriptors& descriptors,
                         pid_t server) {
    const pid_t pid = ::fork();
    if (pid < 0) return os::system_error("create a process", errno);
    if (pid == 0) launch_child(order, descriptors, server);
    return pid;
}

} // namespace

Result<pid_t> begin_child(LaunchOrder& order, const ChildDescriptors& descriptors, pid_t server) {
    name_own_programs(order);
    if (order.machine.init.empty()) return fork_child(order, descriptors, server);
    const auto [bytes, passed] = encode(order, descriptors, server);
    const std::string& init = order.machine.init;
    StartProcess* const ready = order.ready;
    if (ready != nullptr && ready->init() == init && ready->take(bytes, passed))
        return ready->pid();
    StartProcess process = TRY(StartProcess::begin(init));
    if (process.take(bytes, passed)) return process.pid();
    (void)::kill(process.pid(), SIGKILL); // another program may be in its place
    while (::waitpid(process.pid(), nullptr, 0) < 0 && errno == EINTR) {}
    return Error{ErrorKind::sandbox_unavailable,
                 "the command was not run: the process that makes its sandbox has ended",
                 "try again; execward doctor tells more"};
}

} // namespace ew::sandbox
