// Prints the arguments that bubblewrap gets for a workspace-write sandbox of a directory, each
// ended by NUL. scripts/bench/sandbox.py starts bubblewrap with exactly these. usage: plan_cli
// BUBBLEWRAP EXECWARD_INIT DIRECTORY
#include "sandbox/launch/bubblewrap.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"

#include <unistd.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
    using namespace ew::sandbox;
    if (argc != 4) return 2;
    Machine machine;
    machine.bubblewrap = argv[1];
    machine.init = argv[2];
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = true;
    machine.has_filter = machine.has_notify = true;
    machine.takes_size = takes_size(machine.bubblewrap);
    machine.is_root = ::geteuid() == 0;
    Context context;
    context.cwd = argv[3];
    context.workspace_roots = {context.cwd};
    ew::Result<Plan> plan =
        make_plan(policy_of(ew::core::SandboxMode::workspace_write, {}), context);
    if (!plan) {
        std::fprintf(stderr, "%s\n", plan.error().message.c_str());
        return 1;
    }
    for (const std::string& argument : bubblewrap_arguments(*plan, machine))
        std::fwrite(argument.c_str(), 1, argument.size() + 1, stdout);
    return 0;
}
