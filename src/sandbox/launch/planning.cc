#include "sandbox/launch/planning.h"

#include "core/output/utf8.h"
#include "os/file_capabilities.h"
#include "os/io.h"
#include "sandbox/launch/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ew::sandbox {

namespace {

// For root as it is in the sandbox, without capabilities.
void note_closed_roots(Plan& plan) {
    for (const std::string& path : plan.writable) {
        struct stat status = {};
        if (::stat(path.c_str(), &status) != 0 || status.st_uid == 0) continue;
        if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) continue;
        plan.notes.push_back(
            fmt::format("'{}' belongs to user {}, and root has no capabilities in a sandbox, so "
                        "commands cannot "
                        "write there; run execward as that user, or let root's group write there",
                        core::shortened(path), status.st_uid));
    }
}

// In the sandbox root has no capabilities, and bubblewrap has none over files of other users. The
// plan must not count on files that can be reached only with these capabilities.
Result<Plan> plan_as_inside(const LaunchOrder& launch) {
    const bool is_changed = launch.machine.has_mounts && os::set_file_capabilities(false);
    Result<Plan> plan = make_plan(launch.policy, launch.context, launch.walker);
    if (plan && launch.machine.has_mounts && ::geteuid() == 0) note_closed_roots(*plan);
    if (is_changed && !os::set_file_capabilities(true))
        refuse(os::system_error("capabilities of its own", errno));
    return plan;
}

} // namespace

Plan plan_for(const LaunchOrder& launch, const std::string& unguarded) {
    Result<Plan> plan = plan_as_inside(launch);
    if (!plan) refuse(plan.error());
    std::string hint;
    if (!unguarded.empty()) {
        plan->missing.add(Guarantee::fs_metadata);
        plan->notes.push_back(fmt::format(
            "modes, owners and times of the machine's devices can be changed: {}", unguarded));
        hint = fmt::format("root needs CAP_SYS_ADMIN for it ({}); run the server as another user",
                           unguarded);
    }
    if (!plan->missing.empty() && launch.policy.enforcement == Enforcement::require)
        refuse({ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: its policy cannot be kept here: {}",
                            names_of(plan->missing)),
                std::move(hint)});
    return std::move(*plan);
}

} // namespace ew::sandbox
