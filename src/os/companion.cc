#include "os/companion.h"

#include "os/forked.h"
#include "os/io.h"
#include "os/pidfd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace ew::os {

namespace {

constexpr int not_executed = 127; // the exit code that a shell uses too

[[noreturn]] void become(const std::string& program, std::vector<char*>& argv, int socket,
                         pid_t parent) {
    if (!dies_with(parent, SIGTERM)) ::_exit(not_executed);
    reset_signals();
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || ::dup2(socket, 0) < 0 || ::dup2(null, 1) < 0 || ::dup2(null, 2) < 0)
        ::_exit(not_executed);
    close_all_but({});
    char* const environment[] = {nullptr};
    ::execve(program.c_str(), argv.data(), environment);
    ::_exit(not_executed);
}

} // namespace

Result<Companion> Companion::begin(const std::string& program,
                                   const std::vector<std::string>& arguments) {
    std::vector<std::string> texts = {program};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    argv.reserve(texts.size() + 1);
    for (std::string& text : texts)
        argv.push_back(text.data());
    argv.push_back(nullptr);

    SocketPair sockets = TRY(make_socket_pair());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error("create a process", errno);
    if (pid == 0) become(program, argv, sockets.theirs.get(), parent);
    Companion companion;
    companion.pidfd_ = open_pidfd(pid);
    if (!companion.pidfd_) {
        const int why = errno;
        ::kill(pid, SIGKILL); // the pid cannot be reused: nothing has reaped the process yet
        return system_error("pidfd_open", why);
    }
    companion.socket_ = std::move(sockets.ours);
    return companion;
}

Companion::~Companion() {
    if (pidfd_) signal_by_pidfd(pidfd_.get(), SIGTERM);
}

} // namespace ew::os
