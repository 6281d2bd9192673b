#include "sandbox/launch/launch_child.h"

#include "base/clock.h"
#include "core/output/utf8.h"
#include "core/text/paths.h"
#include "os/forked.h"
#include "os/io.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/devices.h"
#include "sandbox/launch/entrance.h"
#include "sandbox/launch/filter.h"
#include "sandbox/launch/planned_look.h"
#include "sandbox/launch/planned_placeholders.h"
#include "sandbox/launch/planning.h"
#include "sandbox/launch/report.h"
#include "sandbox/launch/start_namespaces.h"
#include "sandbox/launch/unconfined.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/expected_mounts.h"
#include "sandbox/plan/init_order.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/plan/tool_caches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr int arguments_fd = 7;
constexpr int walker_fd = 11; // beside namespace_fds

// Closes all other descriptors of the server before any step here can take time.
void take_descriptors(const ChildDescriptors& descriptors, const Namespaces* namespaces,
                      int& walker) {
    constexpr int out_of_the_way = 16;
    if (walker >= 0) walker = ::fcntl(walker, F_DUPFD, out_of_the_way);
    std::array<int, 3> shared = {-1, -1, -1};
    if (namespaces != nullptr)
        shared = {::fcntl(namespaces->users.get(), F_DUPFD, out_of_the_way),
                  ::fcntl(namespaces->mounts.get(), F_DUPFD, out_of_the_way),
                  ::fcntl(namespaces->network.get(), F_DUPFD, out_of_the_way)};
    std::array<int, 3> stdio = {};
    for (std::size_t fd = 0; fd < stdio.size(); ++fd)
        stdio[fd] = ::fcntl(descriptors.stdio[fd], F_DUPFD, out_of_the_way);
    const int status = ::fcntl(descriptors.status, F_DUPFD, out_of_the_way);
    const int end = ::fcntl(descriptors.end, F_DUPFD, out_of_the_way);
    for (int fd = 0; fd < 3; ++fd)
        if (::dup2(stdio[static_cast<std::size_t>(fd)], fd) < 0) leave();
    const int lifeline = ::fcntl(descriptors.lifeline, F_DUPFD, out_of_the_way);
    if (::dup2(status, wire::status_fd) < 0 || ::dup2(end, wire::end_fd) < 0 ||
        ::dup2(lifeline, wire::lifeline_fd) < 0)
        leave();
    std::vector<int> kept = {wire::status_fd, wire::end_fd, wire::lifeline_fd};
    if (walker >= 0) {
        walker = ::dup3(walker, walker_fd, O_CLOEXEC);
        kept.push_back(walker_fd);
    }
    for (std::size_t i = 0; i < shared.size(); ++i) {
        if (shared[i] < 0) continue;
        if (::dup3(shared[i], namespace_fds[i], O_CLOEXEC) < 0) leave();
        kept.push_back(namespace_fds[i]);
    }
    os::close_all_but(std::move(kept));
}

// Other credentials make the kernel forget the death signal (prctl(2)). So until bubblewrap or
// execward-init takes over, the kernel also sends this signal to the whole group when the server's
// end is closed (F_SETSIG in fcntl(2)).
void hold_on_to_the_server() {
    (void)::fcntl(wire::lifeline_fd, F_SETOWN, -::getpgrp());
    (void)::fcntl(wire::lifeline_fd, F_SETSIG, SIGKILL);
    (void)::fcntl(wire::lifeline_fd, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC);
}

// bubblewrap's second process is the first of its pid namespace, so no signal that the kernel sends
// by itself ends it (pid_namespaces(7)), and it waits for its parent for ever. So the parent must
// not die with the server before it has set the other one free; after that, --die-with-parent
// holds. If the server has ended by then, execward-init cannot report, and ends.
void let_go_of_the_server() {
    (void)::fcntl(wire::lifeline_fd, F_SETFL, O_RDONLY);
    (void)::prctl(PR_SET_PDEATHSIG, 0);
}

void reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ, SIGCHLD, SIGINT, SIGTERM, SIGHUP})
        (void)::signal(signal, SIG_DFL);
}

// All processes from here on must carry the mark (os/cookie.h); the other limits are for the
// command alone.
void take_mark(std::vector<os::ChildLimit>& limits) {
    std::erase_if(limits, [](const os::ChildLimit& limit) {
        return limit.resource == RLIMIT_RTTIME && ::setrlimit(RLIMIT_RTTIME, &limit.limit) == 0;
    });
}

void put_at(int place, const std::string& content, bool is_sealed) {
    const int fd = ::memfd_create("execward", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (fd < 0) refuse(os::system_error("memory for the sandbox's orders", errno));
    if (!os::write_all(fd, content))
        refuse(os::system_error("memory for the sandbox's orders", errno));
    (void)::lseek(fd, 0, SEEK_SET);
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (is_sealed && ::fcntl(fd, F_ADD_SEALS, seals) != 0)
        refuse(os::system_error("seal the sandbox's orders", errno));
    if (fd == place) { // stays open over exec, as a copy would
        (void)::fcntl(fd, F_SETFD, 0);
        return;
    }
    if (::dup2(fd, place) < 0) refuse(os::system_error("the sandbox's orders", errno));
    ::close(fd);
}

void tell(const Plan& plan) {
    wire::Record record;
    for (const std::string& note : plan.notes)
        send(record, note);
    record.kind = wire::RecordKind::root;
    for (const os::KnownDirectory& root : plan.roots)
        if (const UniqueFd place = open_without_links(root.path, O_PATH | O_DIRECTORY))
            send(record,
                 fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}", '\0', root.name, root.path, root.device,
                             root.inode),
                 place.get());
    if (plan.missing.empty()) return;
    record.kind = wire::RecordKind::missing;
    for (const Guarantee guarantee : plan.missing.list())
        record.value |= std::int64_t{1} << static_cast<unsigned>(guarantee);
    send(record, "");
}

bool is_own(const Mount& mount) {
    return mount.kind == Mount::Kind::private_tmp || mount.kind == Mount::Kind::private_directory;
}

void add_landlock(InitOrder& order, const LaunchOrder& launch, const Plan& plan) {
    order.landlock = launch.machine.landlock;
    if (launch.policy.file_system != FileSystem::restricted) {
        order.writable = {"/"};
        return;
    }
    order.writable = plan.writable;
    order.device_writable = {"/dev"};
    if (!launch.machine.has_mounts) { // the directories are the machine's, not the command's own
        for (const Mount& mount : plan.mounts)
            if (is_own(mount)) std::erase(order.writable, mount.path);
        // The machine's own /dev also contains disks and devices that other programs share.
        order.device_writable = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                 "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts"};
        return;
    }
    order.writable.emplace_back("/dev/shm");
    order.device_writable.emplace_back("/proc"); // its settings are mounted read-only
}

InitOrder order_for(const LaunchOrder& launch, const Plan& plan) {
    const Machine& machine = launch.machine;
    const os::SpawnRequest& request = launch.request;
    InitOrder order;
    order.programs = os::program_candidates(request);
    order.argv = request.argv;
    if (request.arg0) order.argv.front() = *request.arg0;
    for (const auto& [name, value] : request.environment) {
        const bool is_moved = name == "TMPDIR" && launch.policy.has_private_tmp;
        order.environment.push_back(fmt::format("{}={}", name, is_moved ? "/tmp" : value));
    }
    if (machine.has_mounts)
        for (const auto& [name, value] : cache_variables(request.environment, launch.policy, plan))
            order.environment.push_back(fmt::format("{}={}", name, value));
    order.directory = request.directory;
    order.script = request.script;
    order.has_terminal = request.terminal.has_value();
    for (const os::ChildLimit& limit : request.limits)
        order.limits.push_back({limit.resource, limit.limit});
    order.is_first_process = machine.has_mounts;
    add_landlock(order, launch, plan);
    if (!machine.has_filter) return order;
    FilterOptions options;
    options.allows_internet = launch.policy.network == Network::enabled ||
                              (machine.has_mounts && machine.has_network_namespace);
    options.has_own_processes = machine.has_mounts;
    options.allows_owner_changes = machine.has_mounts; // Landlock does not guard them
    if (machine.has_mounts) options.only_ids = OwnIds{::geteuid(), ::getegid()};
    options.notifies_connect = machine.has_notify;
    options.notifies_datagrams = machine.has_notify;
    options.notifies_writes = machine.has_notify && launch.policy.reports_writes;
    options.notifies_renames = machine.has_notify && !plan.look.repositories.empty();
    order.filter = make_filter(own_architecture, options);
    order.has_listener = machine.has_notify;
    return order;
}

std::string terminated(const std::vector<std::string>& arguments) {
    std::string text;
    for (const std::string& argument : arguments)
        text.append(argument).push_back('\0');
    return text;
}

// expect_mounts() has opened it to record its identity.
bool is_known(const Mount& mount) {
    return mount.kind == Mount::Kind::writable || mount.kind == Mount::Kind::device ||
           mount.kind == Mount::Kind::read_only;
}

// Checks that the mount points exist.
Result<void> find_mount_points(const Plan& plan) {
    std::string_view own = ""; // a directory in which bubblewrap makes the mount points
    for (const Mount& mount : plan.mounts) {
        const bool is_made = !plan.reads_root || (!own.empty() && is_below(mount.path, own));
        const bool is_link = mount.kind == Mount::Kind::link;
        if (!is_made && !is_link && !is_known(mount) && !exists_without_links(mount.path))
            return Error{
                ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: '{}' is gone", core::shortened(mount.path)),
                "something was moved while the sandbox was made: try again"};
        if (is_own(mount) && !is_made) own = mount.path;
    }
    return {};
}

// Errors: a path has changed since the plan was made.
Result<InitOrder> carry_out(const LaunchOrder& launch, const Plan& plan) {
    if (launch.machine.has_mounts) TRY(make_placeholders(plan, launch.journal));
    InitOrder order = order_for(launch, plan);
    if (launch.machine.init.empty()) return order;
    TRY(expect_mounts(plan, launch.machine, order));
    if (launch.machine.has_mounts) TRY(find_mount_points(plan));
    return order;
}

// Returns an empty string, or why the machine's devices cannot be kept as they are.
std::string guard(const LaunchOrder& launch, bool is_guarded) {
    if (!launch.machine.has_mounts || ::geteuid() != 0) return {};
    Result<void> done = is_guarded ? Result<void>() : guard_devices();
    if (done && !is_guarded) {
        const UniqueFd mounts = own_mounts();
        wire::Record record;
        record.kind = wire::RecordKind::guarded;
        if (mounts) send(record, "", mounts.get());
    }
    if (done) done = open_stdio_anew();
    if (done || !needed_by(launch.policy).has(Guarantee::fs_metadata)) return {};
    return std::move(done.error().message);
}

// The plan may have found a placeholder of another start, which that start removes, or a file that
// a program moves: then another plan is needed. The placeholders of the first plan stay until the
// end.
std::pair<Plan, InitOrder> prepare(const LaunchOrder& launch, const std::string& unguarded) {
    constexpr int most_plans = 32;    // in a shared /tmp, others come and go all the time
    constexpr Millis longest{10'000}; // for all plans; after a longer time another try is useless
    const TimePoint begun = clock_now();
    for (int count = 1;; ++count) {
        Plan plan = plan_for(launch, unguarded);
        Result<InitOrder> order = carry_out(launch, plan);
        if (order) return {std::move(plan), std::move(*order)};
        if (count == most_plans || clock_now() - begun > longest) refuse(order.error());
    }
}

void put_arguments(const Plan& plan, const Machine& machine) {
    // bubblewrap's limit (MAX_ARGS in its source), which includes the arguments on its command
    // line.
    constexpr std::size_t most = 9000 - 8;
    const std::vector<std::string> arguments = bubblewrap_arguments(plan, machine);
    if (arguments.size() > most)
        refuse({ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: its policy needs {} mounts, more than "
                            "bubblewrap can make",
                            plan.mounts.size()),
                "name fewer roots and hidden paths, or directories above them"});
    put_at(arguments_fd, terminated(arguments), false);
}

// bubblewrap is linked dynamically, so the command's environment must not reach it: LD_PRELOAD
// would run before there is a sandbox. Its arguments travel in memory, since `ps` must not show a
// policy to others and the length of an argument list is limited.
[[noreturn]] void execute(const Machine& machine) {
    char* const no_environment[] = {nullptr};
    std::array<std::string, 6> words = {machine.bubblewrap,           "--args",
                                        std::to_string(arguments_fd), "--",
                                        std::string(init_path),       "lock"};
    std::array<char*, 7> argv = {};
    // Without a /proc of its own, a sandbox cannot lock its mounts.
    const std::size_t count = machine.has_proc ? words.size() : words.size() - 1;
    for (std::size_t i = 0; i < count; ++i)
        argv[i] = words[i].data();
    std::string init = machine.init;
    if (machine.has_mounts)
        let_go_of_the_server();
    else
        argv = {init.data()};
    ::execve(argv[0], argv.data(), no_environment);
    refuse({ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: cannot execute '{}': {}", argv[0],
                        ::strerror(errno)),
            "reinstall it; execward doctor tells what is missing"});
}

// A missing directory gives the same error with and without a sandbox.
void check_directory(const os::SpawnRequest& request) {
    struct stat status = {};
    const bool is_there = ::stat(request.directory.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) return;
    refuse(os::describe({os::StartStep::directory, is_there ? ENOTDIR : errno}, request));
}

} // namespace

void launch_child(const LaunchOrder& order, const ChildDescriptors& descriptors, pid_t server) {
    if (!os::dies_with(server)) leave();
    const bool is_guarded = enter_guarded(order.guarded);
    LaunchOrder launch = order;
    take_descriptors(descriptors, order.namespaces, launch.walker);
    reset_signals();
    if (::setsid() < 0) refuse(os::system_error("setsid", errno));
    hold_on_to_the_server();
    (void)!::chdir("/"); // the sandbox must not keep the server's directory
    take_mark(launch.request.limits);
    check_directory(launch.request);

    finish_looks_of_others(launch.journal);
    const std::string unguarded = guard(launch, is_guarded);
    const Namespaces namespaces = namespaces_for(launch);
    auto [plan, orders] = prepare(launch, unguarded);
    if (launch.walker >= 0) ::close(launch.walker); // nothing of the sandbox may reach it
    std::optional<HeldLook> look;
    if (launch.machine.has_mounts) look = look_before(plan, launch.journal);
    tell(plan);
    if (launch.machine.init.empty()) run_unconfined(std::move(orders));
    put_at(wire::order_fd, encode(orders), true);
    if (namespaces.exist()) enter(namespaces, {plan, launch.machine, std::move(look)}, server);
    if (launch.machine.has_mounts) put_arguments(plan, launch.machine);
    execute(launch.machine);
}

} // namespace ew::sandbox
