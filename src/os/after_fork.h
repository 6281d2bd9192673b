// The code that runs in a new process before exec. The child shares the memory of the running
// server, so this code may only use raw system calls: no errno, no allocation, no library.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace ew::os {

// The step that failed, as the child reports it.
enum class StartStep : std::uint32_t {
    none,
    session,
    terminal,
    descriptors,
    limits,
    directory,
    exec
};

struct StartFailure {
    StartStep step = StartStep::none;
    std::int32_t error_number = 0;
};

struct ChildLimit {
    int resource;
    rlimit limit;
};

// Everything the child needs, prepared before the child exists. All pointers stay valid until its
// exec.
struct ChildPlan {
    pid_t server = 0;
    const int* stdio = nullptr; // become 0, 1 and 2; the first may be -1 for /dev/null
    int script = -1;            // becomes script_fd; -1: there is none
    bool has_terminal = false;  // descriptor 0 becomes the controlling terminal
    const char* directory = nullptr;
    const ChildLimit* limits = nullptr;
    std::size_t limit_count = 0;
    const char* const* programs = nullptr; // absolute or relative paths to try, null at the end
    char* const* argv = nullptr;
    // "/bin/sh", the program and its arguments. Runs a script without "#!" as execvp(3) does.
    char** shell_argv = nullptr;
    char* const* environment = nullptr;
    int report = -1; // the child writes the failure here; exec closes it; above script_fd
};

// The entry point of the child; the argument is a ChildPlan. Never returns.
int run_child(void* child_plan);

} // namespace ew::os
