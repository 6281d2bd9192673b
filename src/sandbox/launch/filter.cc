#include "sandbox/launch/filter.h"

#include "base/check.h"
#include "sandbox/launch/system_calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace ew::sandbox {

namespace {

using Code = std::vector<sock_filter>;

constexpr std::uint32_t allow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t notify = SECCOMP_RET_USER_NOTIF;

constexpr std::uint32_t fail_with(int error) {
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// A test of the low 32 bits of an argument. The kernel takes the tested arguments as int or
// unsigned int and drops the high bits; a program could evade a test of all 64 bits by setting some
// of them.
struct Condition {
    enum class Test : std::uint8_t { equal, unequal };

    std::uint32_t argument = 0;
    std::uint32_t mask = 0;
    std::uint32_t value = 0;
    Test test = Test::equal;
};

constexpr std::uint32_t all_bits = 0xffff'ffff;

constexpr Condition masked(std::uint32_t argument, std::uint32_t mask, std::uint32_t value) {
    return {argument, mask, value, Condition::Test::equal};
}

constexpr Condition is(std::uint32_t argument, std::uint32_t value) {
    return masked(argument, all_bits, value);
}

constexpr Condition has_any_of(std::uint32_t argument, std::uint32_t bits) {
    return {argument, bits, 0, Condition::Test::unequal};
}

// The action is taken if all conditions hold.
struct Rule {
    std::vector<Condition> conditions;
    std::uint32_t action = allow;
};

// The first rule that matches decides about a call; if no rule matches, the call is allowed.
struct CallRules {
    SystemCall call;
    std::vector<Rule> rules;
};

// A call whose arguments do not matter.
struct CallAction {
    SystemCall call;
    std::uint32_t action;
};

// Never SIGSYS here: programs try calls to find out whether the kernel has them, and fall back.
constexpr auto always_refused = std::to_array<CallAction>({
    // Opens, connects and makes sockets without system calls. libuv and tokio fall back.
    {calls::io_uring_setup, fail_with(ENOSYS)},
    {calls::io_uring_enter, fail_with(ENOSYS)},
    {calls::io_uring_register, fail_with(ENOSYS)},
    // Its flags are behind a pointer. The C library and Go fall back to clone.
    {calls::clone3, fail_with(ENOSYS)},
    {calls::setns, fail_with(EPERM)},
    {calls::pidfd_getfd, fail_with(EPERM)},
    {calls::kcmp, fail_with(EPERM)},
    // Keyrings belong to a user, not to a namespace.
    {calls::add_key, fail_with(ENOSYS)},
    {calls::request_key, fail_with(ENOSYS)},
    {calls::keyctl, fail_with(ENOSYS)},
    // The errors that the kernel returns to users without privileges.
    {calls::bpf, fail_with(EPERM)},
    {calls::userfaultfd, fail_with(EPERM)},
    {calls::perf_event_open, fail_with(EACCES)},
    {calls::mount, fail_with(EPERM)},
    {calls::umount2, fail_with(EPERM)},
    {calls::pivot_root, fail_with(EPERM)},
    {calls::chroot, fail_with(EPERM)},
    {calls::open_tree, fail_with(EPERM)},
    {calls::open_tree_attr, fail_with(EPERM)},
    {calls::move_mount, fail_with(EPERM)},
    {calls::fsopen, fail_with(EPERM)},
    {calls::fsconfig, fail_with(EPERM)},
    {calls::fsmount, fail_with(EPERM)},
    {calls::fspick, fail_with(EPERM)},
    {calls::mount_setattr, fail_with(EPERM)},
    {calls::open_by_handle_at, fail_with(EPERM)}, // opens files below mounts
    {calls::fanotify_init, fail_with(EPERM)},
    {calls::quotactl, fail_with(EPERM)},
    {calls::quotactl_fd, fail_with(EPERM)},
    {calls::swapon, fail_with(EPERM)},
    {calls::swapoff, fail_with(EPERM)},
    {calls::acct, fail_with(EPERM)},
    {calls::init_module, fail_with(EPERM)},
    {calls::finit_module, fail_with(EPERM)},
    {calls::delete_module, fail_with(EPERM)},
    {calls::kexec_load, fail_with(EPERM)},
    {calls::kexec_file_load, fail_with(EPERM)},
    {calls::reboot, fail_with(EPERM)},
    {calls::settimeofday, fail_with(EPERM)},
    {calls::clock_settime, fail_with(EPERM)},
    {calls::adjtimex, fail_with(EPERM)}, // reading too: the flag for setting is behind a pointer
    {calls::clock_adjtime, fail_with(EPERM)},
    {calls::sethostname, fail_with(EPERM)},
    {calls::setdomainname, fail_with(EPERM)},
    {calls::syslog, fail_with(EPERM)},
    {calls::vhangup, fail_with(EPERM)},
    {calls::iopl, fail_with(EPERM)},
    {calls::ioperm, fail_with(EPERM)},
    {calls::lookup_dcookie, fail_with(EPERM)},
    // Removed from current kernels. _sysctl wrote the settings of /proc/sys without using its
    // mount.
    {calls::nfsservctl, fail_with(ENOSYS)},
    {calls::sysctl, fail_with(ENOSYS)},
    {calls::uselib, fail_with(ENOSYS)},
    // Attacked often, and optional parts of a kernel.
    {calls::vmsplice, fail_with(ENOSYS)},
    {calls::modify_ldt, fail_with(ENOSYS)},
    {calls::migrate_pages, fail_with(ENOSYS)},
    {calls::move_pages, fail_with(ENOSYS)},
});

// Without a pid namespace these could reach processes outside the sandbox.
constexpr auto refused_among_strangers = std::to_array<CallAction>({
    {calls::ptrace, fail_with(EPERM)},
    {calls::process_vm_readv, fail_with(EPERM)},
    {calls::process_vm_writev, fail_with(EPERM)},
});

constexpr auto owner_changes = std::to_array<CallAction>({
    {calls::chown, fail_with(EPERM)},
    {calls::lchown, fail_with(EPERM)},
    {calls::fchown, fail_with(EPERM)},
    {calls::fchownat, fail_with(EPERM)},
    {calls::setxattr, fail_with(EPERM)},
    {calls::lsetxattr, fail_with(EPERM)},
    {calls::fsetxattr, fail_with(EPERM)},
    {calls::setxattrat, fail_with(EPERM)},
    {calls::removexattr, fail_with(EPERM)},
    {calls::lremovexattr, fail_with(EPERM)},
    {calls::fremovexattr, fail_with(EPERM)},
    {calls::removexattrat, fail_with(EPERM)},
    {calls::file_setattr, fail_with(EPERM)},
});

// openat2 is missing: its flags are behind a pointer.
constexpr auto path_changes = std::to_array<CallAction>({
    {calls::creat, notify},     {calls::truncate, notify},  {calls::unlink, notify},
    {calls::unlinkat, notify},  {calls::rename, notify},    {calls::renameat, notify},
    {calls::renameat2, notify}, {calls::mkdir, notify},     {calls::mkdirat, notify},
    {calls::rmdir, notify},     {calls::link, notify},      {calls::linkat, notify},
    {calls::symlink, notify},   {calls::symlinkat, notify}, {calls::chmod, notify},
    {calls::fchmodat, notify},  {calls::fchmodat2, notify}, {calls::mknod, notify},
    {calls::mknodat, notify},
});

constexpr std::uint32_t write_intent = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

// CLONE_NEWTIME is not among them: for clone(2) its bit is part of the signal.
constexpr std::uint32_t new_namespaces = static_cast<std::uint32_t>(CLONE_NEWUSER) | CLONE_NEWNS |
                                         CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                         CLONE_NEWPID | CLONE_NEWNET;

// The flags of unshare(2) that make no namespace.
constexpr std::uint32_t harmless_unshare =
    CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;

constexpr std::uint32_t query_personality = 0xffff'ffff;
// For setarch(8) and debuggers. Other flags make memory executable, or map the page at 0.
constexpr std::uint32_t ordinary_personality =
    static_cast<std::uint32_t>(PER_LINUX32) | static_cast<std::uint32_t>(ADDR_NO_RANDOMIZE);

constexpr std::uint32_t type_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr std::uint32_t type_bits = 0xf; // SOCK_TYPE_MASK of the kernel

void add_unix_rules(std::vector<Rule>& rules, const FilterOptions& options) {
    const Condition unix_family = is(0, AF_UNIX);
    // A datagram socket may name any socket file in each send. SOCK_RAW of this family is a
    // datagram socket too (unix(7) does not say so; unix_create() does).
    if (!options.allows_unix_datagrams) {
        rules.push_back({{unix_family, masked(1, ~type_flags, SOCK_STREAM)}, allow});
        rules.push_back({{unix_family, masked(1, ~type_flags, SOCK_SEQPACKET)}, allow});
        rules.push_back({{unix_family}, fail_with(EPROTONOSUPPORT)});
        return;
    }
    rules.push_back({{unix_family}, allow});
}

void add_internet_rules(std::vector<Rule>& rules, const FilterOptions& options) {
    for (const std::uint32_t family : {std::uint32_t{AF_INET}, std::uint32_t{AF_INET6}}) {
        if (!options.allows_internet) {
            rules.push_back({{is(0, family)}, fail_with(EACCES)});
            continue;
        }
        rules.push_back({{is(0, family), masked(1, type_bits, SOCK_RAW)}, fail_with(EPERM)});
        rules.push_back({{is(0, family), masked(1, type_bits, SOCK_PACKET)}, fail_with(EPERM)});
        rules.push_back({{is(0, family)}, allow});
    }
}

// Rules of socket(2) and socketpair(2).
std::vector<Rule> socket_rules(const FilterOptions& options) {
    std::vector<Rule> rules;
    add_unix_rules(rules, options);
    add_internet_rules(rules, options);
    // The C library, Go and Node list interfaces through this.
    rules.push_back({{is(0, AF_NETLINK), is(2, NETLINK_ROUTE)}, allow});
    // The error of a kernel without that family. Some families (VSOCK, ALG) are in no namespace.
    rules.push_back({{}, fail_with(EAFNOSUPPORT)});
    return rules;
}

std::vector<Rule> ioctl_rules(const FilterOptions& options) {
    std::vector<Rule> rules;
    rules.push_back({{is(1, TIOCSTI)}, fail_with(EPERM)});
    rules.push_back({{is(1, TIOCLINUX)}, fail_with(EPERM)});
    if (options.allows_owner_changes) return rules;
    rules.push_back({{is(1, FS_IOC_SETFLAGS)}, fail_with(EPERM)});
    rules.push_back({{is(1, FS_IOC_FSSETXATTR)}, fail_with(EPERM)});
    return rules;
}

std::vector<CallRules> rules_by_argument(const FilterOptions& options) {
    std::vector<CallRules> all;
    all.push_back({calls::socket, socket_rules(options)});
    all.push_back({calls::socketpair, socket_rules(options)});
    all.push_back({calls::ioctl, ioctl_rules(options)});
    // A lease on a file that is only readable blocks every other program that opens it (fcntl(2)).
    all.push_back({calls::fcntl, {{{is(1, F_SETLEASE)}, fail_with(EPERM)}}});
    all.push_back({calls::clone, {{{has_any_of(0, new_namespaces)}, fail_with(EPERM)}}});
    all.push_back({calls::unshare, {{{has_any_of(0, ~harmless_unshare)}, fail_with(EPERM)}}});
    all.push_back({calls::personality,
                   {{{is(0, query_personality)}, allow},
                    {{has_any_of(0, ~ordinary_personality)}, fail_with(EPERM)}}});
    all.push_back({calls::mbind, {{{has_any_of(5, MPOL_MF_MOVE_ALL)}, fail_with(EPERM)}}});
    // A limit of CPU time can kill a process: without a pid namespace, a program may set only its
    // own limits, as process 0.
    if (!options.has_own_processes)
        all.push_back({calls::prlimit64, {{{has_any_of(0, all_bits)}, fail_with(EPERM)}}});
    if (options.notifies_writes) {
        all.push_back({calls::open, {{{has_any_of(1, write_intent)}, notify}}});
        all.push_back({calls::openat, {{{has_any_of(2, write_intent)}, notify}}});
    }
    return all;
}

// The assembler. Code is built from the inside out: each test is put in front of the code that it
// guards and jumps over it, so no labels are needed, and a call that does not match continues after
// it.

constexpr sock_filter statement(int code, std::uint32_t operand) {
    return {static_cast<std::uint16_t>(code), 0, 0, operand};
}

constexpr sock_filter load(std::size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

constexpr sock_filter finish(std::uint32_t action) {
    return statement(BPF_RET | BPF_K, action);
}

// Both architectures are little-endian: the low half comes first.
constexpr sock_filter load_argument(std::uint32_t index) {
    return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

constexpr sock_filter jump(int test, std::uint32_t operand, std::size_t if_true,
                           std::size_t if_false) {
    CHECK(if_true <= 0xff && if_false <= 0xff);
    return {static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), static_cast<std::uint8_t>(if_true),
            static_cast<std::uint8_t>(if_false), operand};
}

void append(Code& code, const Code& more) {
    code.insert(code.end(), more.begin(), more.end());
}

Code guarded(const Condition& condition, const Code& inner) {
    Code code = {load_argument(condition.argument)};
    if (condition.mask != all_bits)
        code.push_back(statement(BPF_ALU | BPF_AND | BPF_K, condition.mask));
    if (condition.test == Condition::Test::equal)
        code.push_back(jump(BPF_JEQ, condition.value, 0, inner.size()));
    else
        code.push_back(jump(BPF_JEQ, condition.value, inner.size(), 0));
    append(code, inner);
    return code;
}

Code code_of(const Rule& rule) {
    Code code = {finish(rule.action)};
    std::for_each(rule.conditions.rbegin(), rule.conditions.rend(),
                  [&code](const Condition& condition) { code = guarded(condition, code); });
    return code;
}

// Expects the number of the call in the accumulator, and leaves it there for the next test.
Code for_call(int number, const Code& inner) {
    Code code = {jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, inner.size())};
    append(code, inner);
    return code;
}

Code code_of(const std::vector<Rule>& rules) {
    Code code;
    for (const Rule& rule : rules)
        append(code, code_of(rule));
    if (!rules.back().conditions.empty()) code.push_back(finish(allow));
    return code;
}

// Ends with the number of the call in the accumulator.
Code prologue(Architecture architecture) {
    const bool is_x86 = architecture == Architecture::x86_64;
    Code code = {load(offsetof(seccomp_data, arch)),
                 jump(BPF_JEQ, is_x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0),
                 finish(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
    if (!is_x86) return code;
    // x32 has the same architecture and a bit in the number. A number with all bits set is no x32
    // call: a tracer sets it to skip a call.
    constexpr std::uint32_t x32_bit = 0x4000'0000;
    constexpr std::uint32_t skipped = 0xffff'ffff;
    append(code,
           {jump(BPF_JGE, x32_bit, 0, 2), jump(BPF_JEQ, skipped, 1, 0), finish(fail_with(ENOSYS))});
    // Kernels before 5.4 take x32's own calls, an ioctl and a ptrace among them, without the bit.
    append(code, {jump(BPF_JGE, 512, 0, 2), jump(BPF_JGT, 547, 1, 0), finish(fail_with(ENOSYS))});
    return code;
}

std::vector<CallAction> actions_by_number(const FilterOptions& options) {
    std::vector<CallAction> all(always_refused.begin(), always_refused.end());
    const auto add = [&all](const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    if (!options.has_own_processes) add(refused_among_strangers);
    if (!options.allows_owner_changes) add(owner_changes);
    if (options.notifies_connect) all.push_back({calls::connect, notify});
    if (options.notifies_writes) add(path_changes);
    return all;
}

} // namespace

std::vector<sock_filter> make_filter(Architecture architecture, const FilterOptions& options) {
    Code program = prologue(architecture);
    for (const auto& [call, action] : actions_by_number(options)) {
        const int number = call.number(architecture);
        if (number != no_number) append(program, for_call(number, {finish(action)}));
    }
    for (const CallRules& entry : rules_by_argument(options)) {
        const int number = entry.call.number(architecture);
        if (number != no_number) append(program, for_call(number, code_of(entry.rules)));
    }
    program.push_back(finish(allow));
    CHECK(program.size() <= BPF_MAXINSNS);
    return program;
}

} // namespace ew::sandbox
