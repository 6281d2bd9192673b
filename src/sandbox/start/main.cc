// execward-init: what happens between the server and a confined command. It is linked statically,
// since the sandbox need not show any library, and no file of the command may be loaded into it.
//
// `start FD` carries out a launch, `walk` keeps walks for launches, `hold` makes the namespaces of
// a session, `lock` and no word are the last steps into a sandbox that bubblewrap has made, and
// `probe` is a command of the trial. As `files` it is a file process, in a sandbox or not.

#include "files/verbs/serve.h"
#include "sandbox/init/probes.h"
#include "sandbox/init/run.h"
#include "sandbox/init/session.h"
#include "sandbox/launch/launch_child.h"
#include "sandbox/launch/start_order.h"
#include "sandbox/walk/walker.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace ew::sandbox {

namespace {

// No other process may read or trace this one while it waits.
int start(const char* orders) {
    constexpr int not_run = 125;
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)!::chdir("/");
    const std::unique_ptr<StartOrder> order = receive_start(::atoi(orders));
    if (order == nullptr) return not_run;
    (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); // its own /proc/self is needed from here on
    launch_child(order->launch, order->descriptors, order->server);
}

} // namespace

} // namespace ew::sandbox

int main(int argc, char** argv) {
    using namespace ew::sandbox;
    const std::string_view word = argc >= 2 ? argv[1] : "";
    if (word == "start" && argc >= 3) return start(argv[2]);
    if (word == "probe") return init::probe(argv + 2);
    if (word == "files") {
        (void)::signal(SIGXFSZ, SIG_IGN); // for EFBIG (setrlimit(2)); cannot fail
        return ew::files::serve(0, argc >= 3 && std::string_view(argv[2]) == "once");
    }
    if (word == "walk") return run_walker(STDIN_FILENO);
    if (word == "hold") return init::hold(argv + 2);
    init::run(word == "lock");
}
