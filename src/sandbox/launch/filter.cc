#include "sandbox/launch/filter.h"

#include "base/check.h"
#include "sandbox/launch/filter_code.h"
#include "sandbox/launch/system_calls.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

namespace ew::sandbox {

namespace {

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

constexpr auto renames = std::to_array<CallAction>({
    {calls::rename, notify},
    {calls::renameat, notify},
    {calls::renameat2, notify},
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
        rules.push_back(
            {{unix_family}, options.notifies_datagrams ? notify : fail_with(EPROTONOSUPPORT)});
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

// A limit for core files is in force that must not be lowered to 0 (see forbid_cores() of
// execward-init). Programs that do this want no core, so they are told that it has worked. The new
// limit of prlimit64 is a pointer, of which 0 means that the limit is only read.
constexpr std::uint32_t success = fail_with(0);

std::vector<Rule> prlimit_rules(const FilterOptions& options) {
    std::vector<Rule> rules;
    const auto answer_new_limits = [&rules](const Condition& of, std::uint32_t action) {
        rules.push_back({{of, has_any_of(2, all_bits)}, action});
        rules.push_back({{of, has_high_bits(2)}, action});
    };
    // A limit of CPU time or memory can kill a process: without a pid namespace, a program may set
    // only its own limits, as process 0; with one, not those of execward-init, which is process 1.
    if (options.has_own_processes)
        answer_new_limits(is(0, 1), fail_with(EPERM));
    else
        rules.push_back({{has_any_of(0, all_bits)}, fail_with(EPERM)});
    answer_new_limits(is(1, RLIMIT_CORE), success);
    return rules;
}

// A call that takes ids, of which -1 stands for no change, in these arguments.
struct IdCall {
    SystemCall call;
    std::vector<std::uint32_t> users;
    std::vector<std::uint32_t> groups;
};

void add_id_rules(std::vector<CallRules>& all, const OwnIds& own) {
    const std::vector<IdCall> id_calls = {
        {calls::chown, {1}, {2}},          {calls::lchown, {1}, {2}},
        {calls::fchown, {1}, {2}},         {calls::fchownat, {2}, {3}},
        {calls::setuid, {0}, {}},          {calls::setgid, {}, {0}},
        {calls::setreuid, {0, 1}, {}},     {calls::setregid, {}, {0, 1}},
        {calls::setresuid, {0, 1, 2}, {}}, {calls::setresgid, {}, {0, 1, 2}},
    };
    for (const IdCall& entry : id_calls) {
        std::vector<Rule> rules;
        for (const std::uint32_t argument : entry.users)
            rules.push_back(
                {{is_not(argument, own.user), is_not(argument, all_bits)}, fail_with(EPERM)});
        for (const std::uint32_t argument : entry.groups)
            rules.push_back(
                {{is_not(argument, own.group), is_not(argument, all_bits)}, fail_with(EPERM)});
        all.push_back({entry.call, std::move(rules)});
    }
}

std::vector<CallRules> rules_by_argument(const FilterOptions& options) {
    std::vector<CallRules> all;
    all.push_back({calls::socket, socket_rules(options)});
    all.push_back({calls::socketpair, socket_rules(options)});
    all.push_back({calls::ioctl, ioctl_rules(options)});
    // A lease on a file that is only readable blocks every other program that opens it (fcntl(2)).
    // So does a delegation, which may be on a directory (F_SETDELEG(2const), Linux 6.19).
    constexpr std::uint32_t set_delegation = F_SETLEASE + 16;
    all.push_back(
        {calls::fcntl,
         {{{is(1, F_SETLEASE)}, fail_with(EPERM)}, {{is(1, set_delegation)}, fail_with(EPERM)}}});
    all.push_back({calls::clone, {{{has_any_of(0, new_namespaces)}, fail_with(EPERM)}}});
    all.push_back({calls::unshare, {{{has_any_of(0, ~harmless_unshare)}, fail_with(EPERM)}}});
    all.push_back({calls::personality,
                   {{{is(0, query_personality)}, allow},
                    {{has_any_of(0, ~ordinary_personality)}, fail_with(EPERM)}}});
    all.push_back({calls::mbind, {{{has_any_of(5, MPOL_MF_MOVE_ALL)}, fail_with(EPERM)}}});
    all.push_back({calls::prlimit64, prlimit_rules(options)});
    all.push_back({calls::setrlimit, {{{is(0, RLIMIT_CORE)}, success}}});
    if (options.only_ids) add_id_rules(all, *options.only_ids);
    if (options.notifies_writes) {
        all.push_back({calls::open, {{{has_any_of(1, write_intent)}, notify}}});
        all.push_back({calls::openat, {{{has_any_of(2, write_intent)}, notify}}});
    }
    return all;
}

std::vector<CallAction> actions_by_number(const FilterOptions& options) {
    std::vector<CallAction> all(always_refused.begin(), always_refused.end());
    const auto add = [&all](const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    if (!options.has_own_processes) add(refused_among_strangers);
    if (!options.allows_owner_changes) add(owner_changes);
    if (options.notifies_connect) all.push_back({calls::connect, notify});
    if (options.notifies_writes) add(path_changes);
    if (options.notifies_renames && !options.notifies_writes) add(renames);
    return all;
}

// The code of each call, by its number. Of two entries for a call the first one counts.
std::map<int, Code> code_by_number(Architecture architecture, const FilterOptions& options) {
    std::map<int, Code> all;
    for (const auto& [call, action] : actions_by_number(options))
        all.try_emplace(call.number(architecture), Code{finish(action)});
    for (const CallRules& entry : rules_by_argument(options))
        all.try_emplace(entry.call.number(architecture), code_of(entry.rules));
    all.erase(no_number);
    return all;
}

} // namespace

std::vector<sock_filter> make_filter(Architecture architecture, const FilterOptions& options) {
    Code program = prologue(architecture);
    const std::map<int, Code> calls = code_by_number(architecture, options);
    append(program, choice({calls.begin(), calls.end()}));
    CHECK(program.size() <= BPF_MAXINSNS);
    return program;
}

} // namespace ew::sandbox
