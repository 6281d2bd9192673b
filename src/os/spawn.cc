#include "os/spawn.h"

#include "base/check.h"
#include "base/script_file.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace ew::os {

namespace {

// Enough for the code on it, which only makes system calls and has small frames.
constexpr std::size_t stack_size = 16 << 10;
constexpr std::string_view default_path = "/bin:/usr/bin"; // as execvp(3) does without PATH

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

Error spawn_error(std::string message) {
    return {ErrorKind::spawn_failed, std::move(message)};
}

std::string_view path_of(const SpawnRequest& request) {
    for (const auto& [name, value] : request.environment)
        if (name == "PATH") return value;
    return default_path;
}

std::string_view step_name(StartStep step) {
    switch (step) {
    case StartStep::none: return "start";
    case StartStep::session: return "making it a session leader";
    case StartStep::terminal: return "giving it its terminal";
    case StartStep::descriptors: return "giving it its descriptors";
    case StartStep::limits: return "setting its resource limits";
    case StartStep::directory: return "entering its working directory";
    case StartStep::exec: return "executing it";
    }
    return "start";
}

// Opens no /dev/null for a stdin without input; the child does that (ChildPlan::stdio).
Result<ProgramDescriptors> open_our_ends(const SpawnRequest& request) {
    ProgramDescriptors result;
    const auto give = [&](UniqueFd fd, std::initializer_list<int> places) {
        for (const int place : places)
            result.stdio[place] = fd.get();
        result.child_ends.push_back(std::move(fd));
    };
    if (request.terminal) {
        Pty pty = TRY(open_pty(*request.terminal));
        result.ours.output = std::move(pty.master);
        give(std::move(pty.slave), {0, 1, 2});
        return result;
    }
    Pipe error = TRY(make_pipe(NonBlocking::read_end));
    result.ours.error = std::move(error.read);
    give(std::move(error.write), {2});
    if (request.socket_stdin) {
        SocketPair sockets = TRY(make_socket_pair());
        result.ours.output = std::move(sockets.ours);
        give(std::move(sockets.theirs), {0});
        UniqueFd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        if (!nothing) return system_error("open /dev/null", errno);
        give(std::move(nothing), {1});
        return result;
    }
    Pipe output = TRY(make_pipe(NonBlocking::read_end));
    result.ours.output = std::move(output.read);
    give(std::move(output.write), {1});
    if (request.pipe_stdin) {
        Pipe input = TRY(make_pipe(NonBlocking::write_end));
        result.ours.input = std::move(input.write);
        give(std::move(input.read), {0});
    }
    return result;
}

} // namespace

Result<void> check_strings(const SpawnRequest& request) {
    for (const std::string& argument : request.argv)
        if (has_nul(argument)) return spawn_error("an argument holds a NUL byte");
    if (request.arg0 && has_nul(*request.arg0)) return spawn_error("arg0 holds a NUL byte");
    for (const auto& [name, value] : request.environment)
        if (name.empty() || has_nul(name) || has_nul(value) || name.find('=') != std::string::npos)
            return spawn_error(fmt::format(
                "the environment variable '{}' cannot be passed on: a name may not be empty or "
                "hold '=', and nothing may hold a NUL byte",
                name.substr(0, name.find('\0'))));
    return {};
}

// A program with a slash is a path already. An empty element of PATH means the working directory.
std::vector<std::string> program_candidates(const SpawnRequest& request) {
    const std::string& program = request.argv.front();
    if (program.find('/') != std::string::npos || program.empty()) return {program};
    std::vector<std::string> found;
    std::string_view path = path_of(request);
    for (;;) {
        const std::size_t colon = path.find(':');
        const std::string_view directory = path.substr(0, colon);
        found.push_back(directory.empty() ? "./" + program
                                          : fmt::format("{}/{}", directory, program));
        if (colon == std::string_view::npos) return found;
        path.remove_prefix(colon + 1);
    }
}

PendingStart::~PendingStart() {
    CHECK(is_over() || descriptors_.ours.pid == 0); // else the child's stack would be freed
}

Result<std::unique_ptr<PendingStart>> PendingStart::begin(const SpawnRequest& request,
                                                          pid_t server) {
    TRY(check_strings(request));
    std::unique_ptr<PendingStart> start(new PendingStart);
    TRY(start->prepare(request, server));
    start->descriptors_ = TRY(open_our_ends(request));
    if (!request.script.empty()) TRY(start->open_script(request.script));
    // The child's end does not block either. That is harmless, because the few bytes fit into the
    // empty pipe.
    Pipe report = TRY(make_pipe(NonBlocking::both));
    if (report.write.get() <= script_fd)
        report.write = UniqueFd(::fcntl(report.write.get(), F_DUPFD_CLOEXEC, script_fd + 1));
    if (!report.write) return system_error("duplicate a descriptor", errno);
    start->report_ = std::move(report.read);
    start->plan_.report = report.write.get();
    TRY(start->launch());
    start->descriptors_.child_ends.clear();
    return start;
}

Result<void> PendingStart::open_script(const std::string& script) {
    UniqueFd file = make_script_file(script);
    if (!file) return system_error("memory for the script", errno);
    plan_.script = file.get();
    descriptors_.child_ends.push_back(std::move(file));
    return {};
}

Result<void> PendingStart::prepare(const SpawnRequest& request, pid_t server) {
    const std::vector<std::string> programs = program_candidates(request);
    texts_.reserve(programs.size() + request.argv.size() + request.environment.size() + 3);
    const auto keep = [this](std::string text) {
        return texts_.emplace_back(std::move(text)).data();
    };

    for (const std::string& program : programs)
        programs_.push_back(keep(program));
    programs_.push_back(nullptr);
    argv_.push_back(keep(request.arg0.value_or(request.argv.front())));
    shell_argv_ = {keep("/bin/sh"), nullptr};
    for (std::size_t i = 1; i < request.argv.size(); ++i) {
        argv_.push_back(keep(request.argv[i]));
        shell_argv_.push_back(argv_.back());
    }
    argv_.push_back(nullptr);
    shell_argv_.push_back(nullptr);
    for (const auto& [name, value] : request.environment)
        environment_.push_back(keep(fmt::format("{}={}", name, value)));
    environment_.push_back(nullptr);
    limits_ = request.limits;

    plan_.server = server;
    plan_.stdio = descriptors_.stdio;
    plan_.has_terminal = request.terminal.has_value();
    plan_.directory = keep(request.directory);
    plan_.limits = limits_.data();
    plan_.limit_count = limits_.size();
    plan_.programs = programs_.data();
    plan_.argv = argv_.data();
    plan_.shell_argv = shell_argv_.data();
    plan_.environment = environment_.data();
    return {};
}

Result<ProgramDescriptors> open_program_descriptors(const SpawnRequest& request) {
    ProgramDescriptors result = TRY(open_our_ends(request));
    if (result.stdio[0] >= 0) return result;
    UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return system_error("open /dev/null", errno);
    result.stdio[0] = nothing.get();
    result.child_ends.push_back(std::move(nothing));
    return result;
}

Result<void> PendingStart::launch() {
    // From the heap and not from mmap(): a freed stack is reused without a system call.
    stack_ = std::make_unique_for_overwrite<char[]>(stack_size);
    // CLONE_VM without CLONE_VFORK: no page tables are copied, and the server does not wait while
    // the child enters a directory or loads a program from a slow disk.
    const int pid = ::clone(run_child, stack_.get() + stack_size, CLONE_VM | SIGCHLD, &plan_);
    if (pid < 0) return system_error("create a process", errno);
    descriptors_.ours.pid = pid;
    return {};
}

std::optional<StartFailure> PendingStart::outcome() {
    if (is_over_) return failure_;
    StartFailure failure;
    char* const to = static_cast<char*>(static_cast<void*>(&failure));
    IoResult result = read_some(report_.get(), to, sizeof failure);
    if (result.state == IoState::progress) {
        CHECK(result.count == sizeof failure); // below PIPE_BUF, so complete (pipe(7))
        failure_ = failure;
        result = read_some(report_.get(), to, sizeof failure);
    }
    // Only the end of the report shows that the child has left our memory: after a failure it still
    // has to exit.
    if (result.state != IoState::end) return std::nullopt;
    is_over_ = true;
    return failure_;
}

Error describe(const StartFailure& failure, const SpawnRequest& request) {
    const std::string program = request.argv.front().substr(0, 200);
    const std::string reason = ::strerror(failure.error_number);
    const bool is_missing = failure.error_number == ENOENT;
    if (failure.step == StartStep::directory)
        return {is_missing ? ErrorKind::spawn_not_found : ErrorKind::spawn_failed,
                fmt::format("cannot start '{}': working directory '{}': {}", program,
                            request.directory, reason),
                "start it in a directory that exists and that the server's user may enter", "cwd"};
    if (failure.step == StartStep::exec && is_missing)
        return {ErrorKind::spawn_not_found,
                program.find('/') != std::string::npos
                    ? fmt::format("cannot start '{}': no such program, or the interpreter that its "
                                  "first line names does not exist",
                                  program)
                    : fmt::format("cannot start '{}': not found in PATH '{}'", program,
                                  path_of(request)),
                "give an absolute path, or a PATH in env that holds the program", "argv[0]"};
    return {ErrorKind::spawn_failed, fmt::format("cannot start '{}': {} failed: {}", program,
                                                 step_name(failure.step), reason)};
}

} // namespace ew::os
