// Runs a function in a forked child, for functions that change or end a whole process.
#pragma once

#include "base/unique_fd.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace ew::test {

constexpr unsigned longest_scene = 120; // seconds; then a child that hangs is killed

struct ChildOutcome {
    bool is_true = false; // the function returned true
    int signal = 0;       // the signal that ended the child
    std::string errors;   // the child's stderr
};

// Runs in the child. A REQUIRE that fails there must not continue with the tests of the parent.
template <class Function>
bool returns_true(Function function) {
    try {
        return function();
    } catch (...) {
        return false;
    }
}

template <class Function>
ChildOutcome in_child(Function function) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return {};
    UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) {
        for (const int fatal : {SIGABRT, SIGSEGV, SIGALRM})
            ::signal(fatal, SIG_DFL); // doctest's handlers would report in the name of the parent
        ::dup2(write_end.get(), STDERR_FILENO);
        read_end.reset();
        write_end.reset();
        ::alarm(longest_scene);
        ::_exit(returns_true(function) ? 0 : 1);
    }
    write_end.reset();

    ChildOutcome outcome;
    std::array<char, 4096> block = {};
    for (ssize_t count = 0; (count = ::read(read_end.get(), block.data(), block.size())) > 0;)
        outcome.errors.append(block.data(), static_cast<std::size_t>(count));
    int status = 0;
    ::waitpid(pid, &status, 0);
    outcome.is_true = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return outcome;
}

} // namespace ew::test
