#include "sandbox/launch/start_process.h"

#include "os/io.h"
#include "os/passed_descriptors.h"
#include "sandbox/launch/start_order.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

Error not_executed(const std::string& init, int error_number) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: cannot execute '{}': {}", init,
                        ::strerror(error_number)),
            "reinstall it; execward doctor tells what is missing"};
}

// Returns an error number.
int execute(const std::string& init, int orders, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    if (const int error = ::posix_spawn_file_actions_init(&actions); error != 0) return error;
    // A copy to the same number stays open over exec (posix_spawn_file_actions_adddup2(3p)).
    int error = ::posix_spawn_file_actions_adddup2(&actions, orders, orders);
    std::string name = "execward-init";
    std::string word = "start";
    std::string number = std::to_string(orders);
    const std::array<char*, 4> argv = {name.data(), word.data(), number.data(), nullptr};
    char* const no_environment[] = {nullptr};
    if (error == 0)
        error = ::posix_spawn(&pid, init.c_str(), &actions, nullptr, argv.data(), no_environment);
    ::posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

Result<StartProcess> StartProcess::begin(std::string init) {
    std::array<int, 2> pair = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
        return os::system_error("socketpair", errno);
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
    pid_t pid = 0;
    const int error = execute(init, theirs.get(), pid);
    if (error == EAGAIN || error == ENOMEM) return os::system_error("create a process", error);
    if (error != 0) return not_executed(init, error);
    return StartProcess(std::move(init), std::move(ours), pid);
}

bool StartProcess::take(const std::string& order, std::span<const int> descriptors) {
    const UniqueFd orders = std::move(orders_);
    const UniqueFd bytes(::memfd_create("execward", MFD_CLOEXEC));
    if (!orders || !bytes || !os::write_all(bytes.get(), order)) return false;
    std::vector<int> sent = {bytes.get()};
    sent.insert(sent.end(), descriptors.begin(), descriptors.end());
    return sent.size() <= most_order_descriptors && os::send_descriptors(orders.get(), sent);
}

} // namespace ew::sandbox
