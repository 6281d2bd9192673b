#include "sandbox/become.h"

#include "os/io.h"
#include "sandbox/expected_mounts.h"
#include "sandbox/filter.h"
#include "sandbox/init/wire.h"
#include "sandbox/init_order.h"
#include "sandbox/plan.h"
#include "sandbox/report.h"
#include "sandbox/unconfined.h"

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
#include <utility>

namespace ew::sandbox {

namespace {

constexpr int arguments_fd = 6;

[[noreturn]] void refuse(const Error& error) {
    wire::Record record;
    record.kind = wire::RecordKind::refused;
    record.value = static_cast<std::int64_t>(error.kind);
    send(record,
         fmt::format("{}{}{}{}{}{}", error.message, '\0', error.hint, '\0', error.path, '\0'));
    leave();
}

void die_with_the_server(pid_t server) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The server may have ended before the line above: then nobody sends that signal any more.
    if (::getppid() != server) leave();
}

// Everything else that the server has open is closed, before anything here can take time.
void take_descriptors(const ChildDescriptors& descriptors) {
    for (int fd = 0; fd < 3;
         ++fd) // the server keeps 0, 1 and 2 open, so none of them is in the way
        if (::dup3(descriptors.stdio[fd], fd, 0) < 0) leave();
    constexpr int out_of_the_way = 16;
    const int status = ::fcntl(descriptors.status, F_DUPFD, out_of_the_way);
    const int end = ::fcntl(descriptors.end, F_DUPFD, out_of_the_way);
    if (::dup2(status, wire::status_fd) < 0 || ::dup2(end, wire::end_fd) < 0) leave();
    constexpr unsigned last = ~0u;
    if (::syscall(SYS_close_range, wire::end_fd + 1, last, 0) == 0) return;
    const long most = ::sysconf(_SC_OPEN_MAX); // kernels before 5.9
    for (int fd = wire::end_fd + 1; fd < most; ++fd)
        ::close(fd);
}

void reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ, SIGCHLD, SIGINT, SIGTERM, SIGHUP})
        (void)::signal(signal, SIG_DFL);
}

// The mark of the process (os/cookie.h) is wanted on everything from here on; what else was asked
// for is for the command alone.
void take_mark(std::vector<os::ChildLimit>& limits) {
    std::erase_if(limits, [](const os::ChildLimit& limit) {
        return limit.resource == RLIMIT_RTTIME && ::setrlimit(RLIMIT_RTTIME, &limit.limit) == 0;
    });
}

void put_at(int place, const std::string& content, bool is_sealed) {
    const int fd = ::memfd_create("execward", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (fd < 0) refuse(os::system_error("memory for the sandbox's orders", errno));
    std::string_view rest = content;
    while (!rest.empty()) {
        const ssize_t count = ::write(fd, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) refuse(os::system_error("memory for the sandbox's orders", errno));
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    (void)::lseek(fd, 0, SEEK_SET);
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (is_sealed && ::fcntl(fd, F_ADD_SEALS, seals) != 0)
        refuse(os::system_error("seal the sandbox's orders", errno));
    if (fd == place) { // it stays open over exec, as a copy would
        (void)::fcntl(fd, F_SETFD, 0);
        return;
    }
    if (::dup2(fd, place) < 0) refuse(os::system_error("the sandbox's orders", errno));
    ::close(fd);
}

// The server keeps it locked from now on, and takes it away when all has ended.
void hand_over(Result<Placeholder> placeholder) {
    if (!placeholder) refuse(placeholder.error());
    if (!placeholder->lock) return;
    wire::Record record;
    record.kind = wire::RecordKind::placeholder;
    send(record, placeholder->path, placeholder->lock.get());
}

void make_placeholders(const Plan& plan, const std::string& journal) {
    const bool makes_any = !plan.placeholders.empty() || !plan.placeholder_files.empty();
    if (makes_any && journal.empty())
        refuse({ErrorKind::sandbox_unavailable,
                "the command was not run: what protects its workspace has to be noted in a state "
                "directory, and there is none",
                "set HOME or XDG_STATE_HOME"});
    for (const std::string& path : plan.placeholders)
        hand_over(hold(path, journal));
    for (const PlaceholderFile& file : plan.placeholder_files)
        hand_over(hold_file(file.path, file.content, journal));
}

void tell(const Plan& plan) {
    wire::Record record;
    for (const std::string& note : plan.notes)
        send(record, note);
    if (plan.missing.empty()) return;
    record.kind = wire::RecordKind::missing;
    for (const Guarantee guarantee : plan.missing.list())
        record.value |= std::int64_t{1} << static_cast<unsigned>(guarantee);
    send(record, "");
}

void add_landlock(InitOrder& order, const LaunchOrder& launch, const Plan& plan) {
    order.landlock = launch.machine.landlock;
    if (launch.policy.file_system != FileSystem::restricted) {
        order.writable = {"/"};
        return;
    }
    order.writable = plan.writable;
    order.device_writable = {"/dev"};
    if (!launch.machine.has_mounts) { // its /tmp is the machine's
        if (launch.policy.has_private_tmp) std::erase(order.writable, "/tmp");
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
    order.directory = request.directory;
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
    options.allows_owner_changes = machine.has_mounts; // Landlock does not see them
    options.notifies_connect = machine.has_notify;
    options.notifies_writes = machine.has_notify && launch.policy.reports_writes;
    order.filter = make_filter(own_architecture, options);
    order.has_listener = machine.has_notify;
    return order;
}

std::string joined(const std::vector<std::string>& arguments) {
    std::string text;
    for (const std::string& argument : arguments)
        text.append(argument).push_back('\0');
    return text;
}

// bubblewrap is a dynamic program, so the command's environment must not reach it: LD_PRELOAD in it
// would run before there is a sandbox. Its arguments travel in memory, since what `ps` shows of a
// policy is nobody's business and there is a limit to the length of an argument list.
[[noreturn]] void execute(const Machine& machine) {
    char* const no_environment[] = {nullptr};
    std::array<std::string, 5> words = {machine.bubblewrap, "--args", std::to_string(arguments_fd),
                                        "--", std::string(init_path)};
    std::array<char*, 6> argv = {};
    for (std::size_t i = 0; i < words.size(); ++i)
        argv[i] = words[i].data();
    if (!machine.has_mounts) {
        std::string init = machine.init;
        argv = {init.data()};
        ::execve(argv[0], argv.data(), no_environment);
    } else {
        ::execve(argv[0], argv.data(), no_environment);
    }
    refuse({ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: cannot execute '{}': {}", argv[0],
                        ::strerror(errno)),
            "reinstall it; execward doctor tells what is missing"});
}

// The same mistake is the same error with and without a sandbox.
void check_directory(const os::SpawnRequest& request) {
    struct stat status = {};
    const bool is_there = ::stat(request.directory.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) return;
    refuse(os::describe({os::StartStep::directory, is_there ? ENOTDIR : errno}, request));
}

} // namespace

void become_sandbox(const LaunchOrder& order, const ChildDescriptors& descriptors, pid_t server) {
    die_with_the_server(server);
    take_descriptors(descriptors);
    reset_signals();
    if (::setsid() < 0) refuse(os::system_error("setsid", errno));
    (void)::chdir("/"); // the server's directory is not the sandbox's business
    LaunchOrder launch = order;
    take_mark(launch.request.limits);
    check_directory(launch.request);

    Result<Plan> plan = make_plan(launch.policy, launch.context);
    if (!plan) refuse(plan.error());
    if (!plan->missing.empty() && launch.policy.enforcement == Enforcement::require)
        refuse({ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: its policy cannot be kept here: {}",
                            names_of(plan->missing))});
    if (launch.machine.has_mounts) make_placeholders(*plan, launch.journal);
    tell(*plan);
    InitOrder orders = order_for(launch, *plan);
    if (launch.machine.init.empty()) run_unconfined(std::move(orders));
    Result<void> expected = expect_mounts(*plan, launch.machine, orders);
    if (!expected) refuse(expected.error());
    put_at(wire::order_fd, encode(orders), true);
    if (launch.machine.has_mounts)
        put_at(arguments_fd, joined(bubblewrap_arguments(*plan, launch.machine)), false);
    execute(launch.machine);
}

} // namespace ew::sandbox
