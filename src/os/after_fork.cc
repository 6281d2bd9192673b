#include "os/after_fork.h"

#include "base/script_file.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>

namespace ew::os {

namespace {

// The C library's wrappers write errno, which belongs to the server's thread here. These wrappers
// do not. They return the kernel's result: a value, or a negative error number.
#if defined(__x86_64__)
inline long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
inline long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#else
#error "execward knows the system call instruction of x86-64 and arm64 only"
#endif

template <class T>
long pointer(T* value) {
    return reinterpret_cast<long>(value);
}

[[noreturn]] void fail(const ChildPlan& plan, StartStep step, long result) {
    StartFailure failure;
    failure.step = step;
    failure.error_number = static_cast<std::int32_t>(-result);
    raw(SYS_write, plan.report, pointer(&failure), sizeof failure);
    for (;;)
        raw(SYS_exit_group, 127);
}

void die_with_the_server(const ChildPlan& plan) {
    raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    // If the server has ended before the prctl, the kernel never sends that signal.
    if (raw(SYS_getppid) != plan.server) raw(SYS_exit_group, 127);
}

void take_terminal(const ChildPlan& plan) {
    if (const long result = raw(SYS_setsid); result < 0) fail(plan, StartStep::session, result);
    if (!plan.has_terminal) return;
    if (const long result = raw(SYS_ioctl, plan.stdio[0], TIOCSCTTY, 0); result < 0)
        fail(plan, StartStep::terminal, result);
}

// Opened in the child, where it costs the server nothing. close_other_descriptors() closes the
// original.
long open_nothing() {
    return raw(SYS_openat, AT_FDCWD, pointer("/dev/null"), O_RDONLY | O_CLOEXEC);
}

void take_descriptors(const ChildPlan& plan) {
    for (int fd = 0; fd < 3; ++fd) {
        // The server keeps 0, 1 and 2 open, so no descriptor of the plan is one of them.
        const long from = plan.stdio[fd] >= 0 ? plan.stdio[fd] : open_nothing();
        const long result = from < 0 ? from : raw(SYS_dup3, from, fd, 0);
        if (result < 0) fail(plan, StartStep::descriptors, result);
    }
    if (plan.script < 0) return;
    const long result = raw(SYS_dup3, plan.script, script_fd, 0);
    if (result < 0) fail(plan, StartStep::descriptors, result);
}

// Exec would close all of them except the report. But the child may hang before exec, and must not
// keep the pipes of other programs open meanwhile. Kernels before 5.9 do not have close_range(2).
void close_other_descriptors(const ChildPlan& plan) {
    constexpr long last = 0x7fffffff;
    const bool has_script = plan.script >= 0;
    if (has_script) raw(SYS_close_range, 3, script_fd - 1, 0);
    raw(SYS_close_range, has_script ? script_fd + 1 : 3, plan.report - 1, 0);
    raw(SYS_close_range, plan.report + 1, last, 0);
}

void take_limits(const ChildPlan& plan) {
    for (std::size_t i = 0; i < plan.limit_count; ++i) {
        const ChildLimit& wanted = plan.limits[i];
        const long result = raw(SYS_prlimit64, 0, wanted.resource, pointer(&wanted.limit));
        if (result < 0) fail(plan, StartStep::limits, result);
    }
}

void unblock_signals() {
    const std::uint64_t none = 0;
    raw(SYS_rt_sigprocmask, SIG_SETMASK, pointer(&none), 0, sizeof none);
}

// Works like execvp(3): executes the first program that can be executed. EACCES is remembered,
// since it tells more than the ENOENT of a later directory.
[[noreturn]] void execute(const ChildPlan& plan) {
    long worst = -ENOENT;
    for (const char* const* program = plan.programs; *program != nullptr; ++program) {
        long result =
            raw(SYS_execve, pointer(*program), pointer(plan.argv), pointer(plan.environment));
        if (result == -ENOEXEC) {
            plan.shell_argv[1] = const_cast<char*>(*program);
            result = raw(SYS_execve, pointer(plan.shell_argv[0]), pointer(plan.shell_argv),
                         pointer(plan.environment));
        }
        if (result == -ENOENT || result == -ENOTDIR) continue;
        worst = result;
        if (result != -EACCES) break;
    }
    fail(plan, StartStep::exec, worst);
}

} // namespace

int run_child(void* child_plan) {
    const ChildPlan& plan = *static_cast<const ChildPlan*>(child_plan);
    die_with_the_server(plan);
    take_terminal(plan);
    take_descriptors(plan);
    close_other_descriptors(plan);
    take_limits(plan);
    if (const long result = raw(SYS_chdir, pointer(plan.directory)); result < 0)
        fail(plan, StartStep::directory, result);
    unblock_signals();
    execute(plan);
}

} // namespace ew::os
