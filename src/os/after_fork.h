// What runs in a new process before exec. The child shares the memory of the server, which goes on
// running, so this is a language of its own: raw system calls, no errno, no allocation, no library.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace ew::os {

// Which step failed, as the child reports it.
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

// Everything the child needs, made before it exists. All pointers outlive its exec.
struct ChildPlan {
    pid_t server = 0;
    const int* stdio = nullptr; // three that become 0, 1 and 2; the first may be -1: /dev/null
    bool has_terminal = false;  // descriptor 0 becomes the controlling terminal
    const char* directory = nullptr;
    const ChildLimit* limits = nullptr;
    std::size_t limit_count = 0;
    const char* const* programs = nullptr; // absolute or relative paths to try, null at the end
    char* const* argv = nullptr;
    // "/bin/sh", the program, the arguments: for a script without "#!" as execvp(3) runs it.
    char** shell_argv = nullptr;
    char* const* environment = nullptr;
    int report = -1; // the failure goes here; exec closes it
};

// The body of the child; the argument is a ChildPlan. Never returns.
int run_child(void* child_plan);

} // namespace ew::os
