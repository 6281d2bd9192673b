#include "sandbox/launch/unconfined.h"

#include "base/script_file.h"
#include "sandbox/launch/report.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace ew::sandbox {

namespace {

[[noreturn]] void fail(wire::Step step, int error) {
    wire::Record record;
    record.kind = wire::RecordKind::failed;
    record.step = static_cast<std::uint32_t>(step);
    record.value = error;
    send(record, "");
    leave();
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

void prepare(const InitOrder& order) {
    if (order.has_terminal && ::ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
        fail(wire::Step::terminal, errno);
    for (const InitOrder::Limit& limit : order.limits)
        if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.limit) != 0)
            fail(wire::Step::limits, errno);
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_CORE, &none) != 0) fail(wire::Step::limits, errno);
    if (::chdir(order.directory.c_str()) != 0) fail(wire::Step::directory, errno);
    if (order.script.empty()) return;
    const UniqueFd file = make_script_file(order.script);
    if (!file || ::dup2(file.get(), script_fd) < 0) fail(wire::Step::order, errno);
}

// If the kernel does not know the format of a file, a shell runs it, as in execvp(3). Returns
// errno.
int execute_with_shell(const std::string& program, std::vector<char*> argv,
                       char* const* environment) {
    std::string shell = "/bin/sh";
    std::string path = program;
    argv.front() = path.data();
    argv.insert(argv.begin(), shell.data());
    ::execve(shell.c_str(), argv.data(), environment);
    return errno;
}

} // namespace

void run_unconfined(InitOrder order) {
    prepare(order);
    const std::vector<char*> argv = pointers_to(order.argv);
    const std::vector<char*> environment = pointers_to(order.environment);
    ::close(wire::end_fd);
    (void)::fcntl(wire::status_fd, F_SETFD, FD_CLOEXEC);
    wire::Record record;
    record.kind = wire::RecordKind::applied;
    send(record, "");

    int worst = ENOENT;
    for (const std::string& program : order.programs) {
        ::execve(program.c_str(), argv.data(), environment.data());
        int error = errno;
        if (error == ENOEXEC) error = execute_with_shell(program, argv, environment.data());
        if (error == ENOENT || error == ENOTDIR) continue;
        worst = error;
        if (error != EACCES) break;
    }
    fail(wire::Step::exec, worst);
}

} // namespace ew::sandbox
