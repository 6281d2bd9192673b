#include "bpf_interpreter.h"
#include "sandbox/launch/filter.h"
#include "sandbox/launch/system_calls.h"
#include "support/testing.h"

#include <linux/audit.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

using ew::sandbox::Architecture;
using ew::sandbox::FilterOptions;
using ew::sandbox::make_filter;
using ew::sandbox::no_number;
namespace calls = ew::sandbox::calls;

namespace {

constexpr std::array<Architecture, 2> architectures = {Architecture::x86_64, Architecture::aarch64};
constexpr std::uint64_t high = 0xdead'beef'0000'0000;

using Arguments = std::array<std::uint64_t, 6>;

std::string describe(std::uint32_t action) {
    if (action == SECCOMP_RET_ALLOW) return "allow";
    if (action == SECCOMP_RET_USER_NOTIF) return "notify";
    if (action == SECCOMP_RET_KILL_PROCESS) return "kill";
    if ((action & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO) return "?";
    switch (action & SECCOMP_RET_DATA) {
    case 0: return "success"; // without the call
    case EPERM: return "EPERM";
    case EACCES: return "EACCES";
    case ENOSYS: return "ENOSYS";
    case EAFNOSUPPORT: return "EAFNOSUPPORT";
    case EPROTONOSUPPORT: return "EPROTONOSUPPORT";
    default: return "errno " + std::to_string(action & SECCOMP_RET_DATA);
    }
}

std::uint32_t audit_name(Architecture architecture) {
    return architecture == Architecture::x86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

class Filter {
public:
    Filter(Architecture architecture, const FilterOptions& options)
        : architecture_(architecture), program_(make_filter(architecture, options)) {}

    std::string of(std::uint32_t audit, int number, const Arguments& arguments = {}) const {
        seccomp_data call = {};
        call.arch = audit;
        call.nr = number;
        std::copy(arguments.begin(), arguments.end(), call.args);
        const std::optional<std::uint32_t> action = ew::test::run(program_, call);
        return action ? describe(*action) : "invalid";
    }

    std::string of(int number, const Arguments& arguments = {}) const {
        return of(audit_name(architecture_), number, arguments);
    }

private:
    Architecture architecture_;
    std::vector<sock_filter> program_;
};

// One call on both architectures. The numbers are repeated here on purpose.
struct Case {
    const char* name;
    int x86_64;
    int aarch64;
    Arguments arguments;
    const char* expected;
};

template <class Cases>
void check(const FilterOptions& options, const Cases& cases) {
    for (const Architecture architecture : architectures) {
        const bool is_x86 = architecture == Architecture::x86_64;
        const Filter filter(architecture, options);
        for (const Case& entry : cases) {
            const int number = is_x86 ? entry.x86_64 : entry.aarch64;
            if (number == no_number) continue;
            CAPTURE(entry.name);
            CAPTURE(is_x86);
            CAPTURE(entry.arguments[0]);
            CAPTURE(entry.arguments[1]);
            CAPTURE(entry.arguments[2]);
            CHECK(filter.of(number, entry.arguments) == entry.expected);
        }
    }
}

// Every combination of the options.
std::vector<FilterOptions> all_options() {
    std::vector<FilterOptions> all;
    for (unsigned bits = 0; bits < 256; ++bits) {
        FilterOptions options;
        options.allows_internet = (bits & 1) != 0;
        options.has_own_processes = (bits & 2) != 0;
        options.notifies_connect = (bits & 4) != 0;
        options.notifies_writes = (bits & 8) != 0;
        options.allows_unix_datagrams = (bits & 16) != 0;
        options.allows_owner_changes = (bits & 32) != 0;
        options.notifies_datagrams = (bits & 64) != 0;
        if ((bits & 128) != 0) options.only_ids = ew::sandbox::OwnIds{1000, 1000};
        all.push_back(options);
    }
    return all;
}

Case socket_case(Arguments arguments, const char* expected) {
    return {"socket", 41, 198, arguments, expected};
}

// Calls that programs make all the time.
const std::vector<Case> ordinary = {
    {"read", 0, 63, {}, "allow"},
    {"write", 1, 64, {}, "allow"},
    {"close", 3, 57, {}, "allow"},
    {"mmap", 9, 222, {}, "allow"},
    {"mprotect", 10, 226, {}, "allow"},
    {"sendto", 44, 206, {3, 0x7000, 1, 0, 0, 0}, "allow"},
    {"sendmsg", 46, 211, {}, "allow"},
    {"recvfrom", 45, 207, {}, "allow"},
    {"recvmsg", 47, 212, {}, "allow"},
    {"shutdown", 48, 210, {}, "allow"},
    {"bind", 49, 200, {}, "allow"},
    {"listen", 50, 201, {}, "allow"},
    {"accept4", 288, 242, {}, "allow"},
    {"getsockname", 51, 204, {}, "allow"},
    {"getpeername", 52, 205, {}, "allow"},
    {"setsockopt", 54, 208, {}, "allow"},
    {"getsockopt", 55, 209, {}, "allow"},
    {"sendmmsg", 307, 269, {}, "allow"},
    {"fork", 57, no_number, {}, "allow"},
    {"vfork", 58, no_number, {}, "allow"},
    {"execve", 59, 221, {}, "allow"},
    {"execveat", 322, 281, {}, "allow"},
    {"exit_group", 231, 94, {}, "allow"},
    {"kill", 62, 129, {}, "allow"},
    {"tgkill", 234, 131, {}, "allow"},
    {"wait4", 61, 260, {}, "allow"},
    {"futex", 202, 98, {}, "allow"},
    {"fchmod", 91, 52, {}, "allow"},
    {"utimensat", 280, 88, {}, "allow"},
    {"statx", 332, 291, {}, "allow"},
    {"openat2", 437, 437, {}, "allow"},
    {"name_to_handle_at", 303, 264, {}, "allow"},
    {"prctl", 157, 167, {}, "allow"},
    {"seccomp", 317, 277, {1, 8, 0, 0, 0, 0}, "allow"},
    {"landlock_create_ruleset", 444, 444, {}, "allow"},
    {"memfd_create", 319, 279, {}, "allow"},
    {"pidfd_open", 434, 434, {}, "allow"},
    {"pidfd_send_signal", 424, 424, {}, "allow"},
    {"close_range", 436, 436, {}, "allow"},
    {"rseq", 334, 293, {}, "allow"},
    {"membarrier", 324, 283, {}, "allow"},
    {"eventfd2", 290, 19, {}, "allow"},
    {"epoll_pwait", 281, 22, {}, "allow"},
    {"inotify_init1", 294, 26, {}, "allow"},
    {"io_setup", 206, 0, {}, "allow"},
    {"splice", 275, 76, {}, "allow"},
    {"copy_file_range", 326, 285, {}, "allow"},
    {"sched_setaffinity", 203, 122, {}, "allow"},
    {"set_mempolicy", 238, 237, {}, "allow"},
    {"shmget", 29, 194, {}, "allow"},
    {"mincore", 27, 232, {}, "allow"},
    {"getrandom", 318, 278, {}, "allow"},
    {"arch_prctl", 158, no_number, {}, "allow"},
    {"map_shadow_stack", 453, 453, {}, "allow"},
    {"mseal", 462, 462, {}, "allow"},
    {"statmount", 457, 457, {}, "allow"},
    {"clock_gettime", 228, 113, {}, "allow"},
};

const std::vector<Case> always_refused = {
    {"io_uring_setup", 425, 425, {}, "ENOSYS"},
    {"io_uring_enter", 426, 426, {}, "ENOSYS"},
    {"io_uring_register", 427, 427, {}, "ENOSYS"},
    {"clone3", 435, 435, {}, "ENOSYS"},
    {"add_key", 248, 217, {}, "ENOSYS"},
    {"request_key", 249, 218, {}, "ENOSYS"},
    {"keyctl", 250, 219, {}, "ENOSYS"},
    {"vmsplice", 278, 75, {}, "ENOSYS"},
    {"modify_ldt", 154, no_number, {}, "ENOSYS"},
    {"migrate_pages", 256, 238, {}, "ENOSYS"},
    {"move_pages", 279, 239, {}, "ENOSYS"},
    {"_sysctl", 156, no_number, {}, "ENOSYS"},
    {"nfsservctl", 180, 42, {}, "ENOSYS"},
    {"uselib", 134, no_number, {}, "ENOSYS"},
    {"perf_event_open", 298, 241, {}, "EACCES"},
    {"bpf", 321, 280, {}, "EPERM"},
    {"userfaultfd", 323, 282, {}, "EPERM"},
    {"setns", 308, 268, {}, "EPERM"},
    {"pidfd_getfd", 438, 438, {}, "EPERM"},
    {"kcmp", 312, 272, {}, "EPERM"},
    {"mount", 165, 40, {}, "EPERM"},
    {"umount2", 166, 39, {}, "EPERM"},
    {"pivot_root", 155, 41, {}, "EPERM"},
    {"chroot", 161, 51, {}, "EPERM"},
    {"open_tree", 428, 428, {}, "EPERM"},
    {"move_mount", 429, 429, {}, "EPERM"},
    {"fsopen", 430, 430, {}, "EPERM"},
    {"fsconfig", 431, 431, {}, "EPERM"},
    {"fsmount", 432, 432, {}, "EPERM"},
    {"fspick", 433, 433, {}, "EPERM"},
    {"mount_setattr", 442, 442, {}, "EPERM"},
    {"open_tree_attr", 467, 467, {}, "EPERM"},
    {"open_by_handle_at", 304, 265, {}, "EPERM"},
    {"fanotify_init", 300, 262, {}, "EPERM"},
    {"quotactl", 179, 60, {}, "EPERM"},
    {"quotactl_fd", 443, 443, {}, "EPERM"},
    {"swapon", 167, 224, {}, "EPERM"},
    {"swapoff", 168, 225, {}, "EPERM"},
    {"acct", 163, 89, {}, "EPERM"},
    {"init_module", 175, 105, {}, "EPERM"},
    {"finit_module", 313, 273, {}, "EPERM"},
    {"delete_module", 176, 106, {}, "EPERM"},
    {"kexec_load", 246, 104, {}, "EPERM"},
    {"kexec_file_load", 320, 294, {}, "EPERM"},
    {"reboot", 169, 142, {}, "EPERM"},
    {"settimeofday", 164, 170, {}, "EPERM"},
    {"clock_settime", 227, 112, {}, "EPERM"},
    {"adjtimex", 159, 171, {}, "EPERM"},
    {"clock_adjtime", 305, 266, {}, "EPERM"},
    {"sethostname", 170, 161, {}, "EPERM"},
    {"setdomainname", 171, 162, {}, "EPERM"},
    {"syslog", 103, 116, {}, "EPERM"},
    {"vhangup", 153, 58, {}, "EPERM"},
    {"iopl", 172, no_number, {}, "EPERM"},
    {"ioperm", 173, no_number, {}, "EPERM"},
    {"lookup_dcookie", 212, 18, {}, "EPERM"},
};

constexpr std::uint64_t stream = 1;
constexpr std::uint64_t datagram = 2;
constexpr std::uint64_t raw = 3;
constexpr std::uint64_t seqpacket = 5;
constexpr std::uint64_t packet = 10;
constexpr std::uint64_t flags = 02004000; // SOCK_CLOEXEC | SOCK_NONBLOCK
constexpr std::uint64_t family_unix = 1;
constexpr std::uint64_t family_inet = 2;
constexpr std::uint64_t family_inet6 = 10;
constexpr std::uint64_t family_netlink = 16;
constexpr std::uint64_t family_vsock = 40;

constexpr std::uint64_t write_only = 1;
constexpr std::uint64_t read_write = 2;
constexpr std::uint64_t create = 0100;
constexpr std::uint64_t truncating = 01000;
constexpr std::uint64_t close_on_exec = 02000000;

} // namespace

TEST_SUITE_BEGIN("sandbox/filter");

TEST_CASE("the program is one the kernel takes, whatever the options") {
    std::size_t longest = 0;
    for (const Architecture architecture : architectures)
        for (const FilterOptions& options : all_options()) {
            const std::vector<sock_filter> program = make_filter(architecture, options);
            CHECK(ew::test::fault_of(program) == "");
            longest = std::max(longest, program.size());
        }

    MESSAGE("the longest program has ", longest, " instructions, of ", BPF_MAXINSNS);
    CHECK(longest <= BPF_MAXINSNS);
}

TEST_CASE("the program returns nothing but its documented actions") {
    for (const Architecture architecture : architectures)
        for (const FilterOptions& options : all_options())
            for (const sock_filter& step : make_filter(architecture, options)) {
                if (BPF_CLASS(step.code) != BPF_RET) continue;
                const std::string action = describe(step.k);
                CAPTURE(action);
                CHECK((action == "allow" || action == "notify" || action == "kill" ||
                       action == "success" || action.starts_with("E")));
            }
}

TEST_CASE("what ordinary programs call is allowed, whatever the options") {
    for (const FilterOptions& options : all_options())
        check(options, ordinary);
}

TEST_CASE("what only administrators and attackers call is refused, whatever the options") {
    for (const FilterOptions& options : all_options())
        check(options, always_refused);
}

TEST_CASE("calls of another architecture kill the process") {
    const Filter on_x86(Architecture::x86_64, {});
    const Filter on_arm(Architecture::aarch64, {});

    for (const int number : {0, 3, 20, 102, 359, 435, -1}) {
        CHECK(on_x86.of(AUDIT_ARCH_I386, number) == "kill"); // int $0x80
        CHECK(on_x86.of(AUDIT_ARCH_AARCH64, number) == "kill");
        CHECK(on_arm.of(AUDIT_ARCH_ARM, number) == "kill");
        CHECK(on_arm.of(AUDIT_ARCH_X86_64, number) == "kill");
        CHECK(on_x86.of(0, number) == "kill");
    }
}

TEST_CASE("calls of x32 are not there") {
    constexpr int bit = 0x40000000;
    const Filter filter(Architecture::x86_64, {});

    for (const int number : {0, 1, 16, 41, 42, 56, 101, 435, 512, 514, 521, 547, 0x3ffffffe})
        CHECK(filter.of(bit | number, {1, 1, 0, 0, 0, 0}) == "ENOSYS");
    CHECK(filter.of(static_cast<int>(0x80000000U | 41)) == "ENOSYS");
    CHECK(filter.of(static_cast<int>(0xc0000000U | 41)) == "ENOSYS");
    CHECK(filter.of(-2) == "ENOSYS");
}

TEST_CASE("the numbers that belong to x32 alone are not there without its bit either") {
    const Filter filter(Architecture::x86_64, {});

    CHECK(filter.of(511) == "allow");
    for (int number = 512; number <= 547; ++number)
        CHECK(filter.of(number) == "ENOSYS");
    CHECK(filter.of(548) == "allow");
}

TEST_CASE("a call that a tracer makes the kernel skip stays skipped") {
    CHECK(Filter(Architecture::x86_64, {}).of(-1) == "allow");
    CHECK(Filter(Architecture::aarch64, {}).of(-1) == "allow");
}

TEST_CASE("calls of kernels to come are allowed") {
    for (const Architecture architecture : architectures)
        for (const FilterOptions& options : all_options())
            for (const int number : {470, 471, 480, 500, 600, 1000, 0x3fffffff})
                CHECK(Filter(architecture, options).of(number) == "allow");
}

TEST_CASE("sockets of the internet can be made, but raw ones cannot") {
    check({}, std::vector<Case>{
                  socket_case({family_inet, stream, 0}, "allow"),
                  socket_case({family_inet, stream | flags, 6}, "allow"),
                  socket_case({family_inet, datagram | flags, 17}, "allow"),
                  socket_case({family_inet, datagram, 1}, "allow"), // ping without privileges
                  socket_case({family_inet, stream, 262}, "allow"), // MPTCP, Go's default
                  socket_case({family_inet6, stream, 0}, "allow"),
                  socket_case({family_inet6, datagram, 0}, "allow"),
                  socket_case({family_inet, raw, 1}, "EPERM"),
                  socket_case({family_inet, raw | flags, 255}, "EPERM"),
                  socket_case({family_inet6, raw, 58}, "EPERM"),
                  socket_case({family_inet, packet, 0x300}, "EPERM"),
                  socket_case({high | family_inet, high | raw, 1}, "EPERM"),
                  socket_case({high | family_inet, high | stream, 0}, "allow"),
              });
}

TEST_CASE("without a network of its own there are no sockets of the internet") {
    FilterOptions options;
    options.allows_internet = false;

    check(options, std::vector<Case>{
                       socket_case({family_inet, stream, 0}, "EACCES"),
                       socket_case({family_inet6, stream, 0}, "EACCES"),
                       socket_case({family_inet, datagram | flags, 17}, "EACCES"),
                       socket_case({family_inet, packet, 0}, "EACCES"),
                       socket_case({high | family_inet, stream, 0}, "EACCES"),
                       socket_case({high | family_inet6, high | stream, 0}, "EACCES"),
                       socket_case({family_unix, stream, 0}, "allow"),
                   });
}

TEST_CASE("sockets of the machine are streams and packets in sequence, never datagrams") {
    const std::vector<Case> cases = {
        socket_case({family_unix, stream, 0}, "allow"),
        socket_case({family_unix, stream | flags, 0}, "allow"),
        socket_case({family_unix, seqpacket, 0}, "allow"),
        socket_case({family_unix, seqpacket | flags, 0}, "allow"),
        socket_case({family_unix, datagram, 0}, "EPROTONOSUPPORT"),
        socket_case({family_unix, datagram | flags, 0}, "EPROTONOSUPPORT"),
        socket_case({family_unix, raw, 0}, "EPROTONOSUPPORT"), // the kernel makes it a datagram one
        socket_case({family_unix, raw | flags, 0}, "EPROTONOSUPPORT"),
        socket_case({family_unix, 0, 0}, "EPROTONOSUPPORT"),
        socket_case({family_unix, datagram | 0x10, 0}, "EPROTONOSUPPORT"),
        socket_case({high | family_unix, datagram, 0}, "EPROTONOSUPPORT"),
        socket_case({family_unix, high | datagram, 0}, "EPROTONOSUPPORT"),
        socket_case({high | family_unix, high | raw | flags, high}, "EPROTONOSUPPORT"),
        socket_case({high | family_unix, high | stream, 0}, "allow"),
        socket_case({high | family_unix, high | seqpacket | flags, 0}, "allow"),
    };

    check({}, cases);
}

TEST_CASE("a pair of sockets follows the rules of a socket") {
    check({}, std::vector<Case>{
                  {"socketpair", 53, 199, {family_unix, stream, 0}, "allow"},
                  {"socketpair", 53, 199, {family_unix, stream | flags, 0}, "allow"},
                  {"socketpair", 53, 199, {family_unix, seqpacket, 0}, "allow"},
                  {"socketpair", 53, 199, {family_unix, datagram, 0}, "EPROTONOSUPPORT"},
                  {"socketpair", 53, 199, {family_unix, raw | flags, 0}, "EPROTONOSUPPORT"},
                  {"socketpair", 53, 199, {high | family_unix, datagram, 0}, "EPROTONOSUPPORT"},
                  {"socketpair", 53, 199, {30, stream, 0}, "EAFNOSUPPORT"}, // TIPC
              });
}

TEST_CASE("datagrams of the machine can be allowed") {
    FilterOptions options;
    options.allows_unix_datagrams = true;

    check(options, std::vector<Case>{
                       socket_case({family_unix, datagram, 0}, "allow"),
                       socket_case({family_unix, raw, 0}, "allow"),
                       socket_case({family_unix, stream, 0}, "allow"),
                       {"socketpair", 53, 199, {family_unix, datagram | flags, 0}, "allow"},
                   });
}

TEST_CASE("of netlink only what lists interfaces is there") {
    std::vector<Case> cases = {
        socket_case({family_netlink, raw, 0}, "allow"),
        socket_case({family_netlink, raw | flags, 0}, "allow"),
        socket_case({family_netlink, datagram, 0}, "allow"),
        socket_case({high | family_netlink, raw, high}, "allow"),
        socket_case({high | family_netlink, raw, high | 9}, "EAFNOSUPPORT"),
    };
    for (std::uint64_t protocol = 1; protocol < 32; ++protocol)
        cases.push_back(socket_case({family_netlink, raw, protocol}, "EAFNOSUPPORT"));

    check({}, cases);
}

TEST_CASE("every other family is unknown") {
    std::vector<Case> cases;
    for (std::uint64_t family = 0; family < 64; ++family) {
        if (family == family_unix || family == family_inet || family == family_inet6) continue;
        if (family == family_netlink) continue;
        cases.push_back(socket_case({family, stream, 0}, "EAFNOSUPPORT"));
        cases.push_back(socket_case({high | family, datagram, 0}, "EAFNOSUPPORT"));
    }
    cases.push_back(socket_case({0xffff'ffff, stream, 0}, "EAFNOSUPPORT"));
    cases.push_back(socket_case({high | family_vsock, stream, 0}, "EAFNOSUPPORT"));

    for (const FilterOptions& options : all_options())
        check(options, cases);
}

TEST_CASE("nothing can be typed into a terminal, and other requests to it are allowed") {
    constexpr std::uint64_t typing = 0x5412;  // TIOCSTI
    constexpr std::uint64_t console = 0x541c; // TIOCLINUX
    std::vector<Case> cases = {
        {"ioctl", 16, 29, {0, typing, 0}, "EPERM"},
        {"ioctl", 16, 29, {0, console, 0}, "EPERM"},
        {"ioctl", 16, 29, {0, high | typing, 0}, "EPERM"},
        {"ioctl", 16, 29, {0, 0xffff'ffff'0000'0000 | typing, 0}, "EPERM"},
        {"ioctl", 16, 29, {0, 0x1'0000'0000 | console, 0}, "EPERM"},
        {"ioctl", 16, 29, {high, high | typing, high}, "EPERM"},
        {"ioctl", 16, 29, {typing, 0, typing}, "allow"},
        {"ioctl", 16, 29, {0, typing << 32, 0}, "allow"}, // request 0
    };
    // TCGETS, TCSETS, TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCGWINSZ, TIOCSWINSZ, FIONREAD, TIOCNOTTY,
    // TIOCGPTPEER, FICLONE, FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
    for (const std::uint64_t request :
         {0x5401U, 0x5402U, 0x540eU, 0x540fU, 0x5410U, 0x5413U, 0x5414U, 0x541bU, 0x5422U, 0x5441U,
          0x40049409U, 0x80086601U, 0x40086602U})
        cases.push_back({"ioctl", 16, 29, {0, request, 0}, "allow"});

    check({}, cases);
}

TEST_CASE("no process gets a namespace of its own") {
    std::vector<Case> cases = {
        {"clone", 56, 220, {17, 0}, "allow"},            // fork
        {"clone", 56, 220, {0x4111, 0}, "allow"},        // posix_spawn: CLONE_VM | CLONE_VFORK
        {"clone", 56, 220, {0x3d0f00, 0}, "allow"},      // a thread
        {"clone", 56, 220, {high | 17, 0}, "allow"},     // the high half is dropped
        {"clone", 56, 220, {17, 0x10000000}, "allow"},   // a stack there
        {"unshare", 272, 97, {0}, "allow"},              //
        {"unshare", 272, 97, {0x200 | 0x400}, "allow"},  // CLONE_FS | CLONE_FILES
        {"unshare", 272, 97, {high | 0x200}, "allow"},   // left to the kernel: EINVAL
        {"unshare", 272, 97, {0x80}, "EPERM"},           // CLONE_NEWTIME
        {"unshare", 272, 97, {0x10000200}, "EPERM"},     //
        {"unshare", 272, 97, {0x00100000}, "EPERM"},     // a flag of a kernel to come
        {"clone", 56, 220, {0x7e020000 | 17}, "EPERM"},  // all of them
        {"clone", 56, 220, {high | 0x10000011}, "EPERM"} //
    };
    // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
    for (const std::uint64_t flag :
         {0x20000U, 0x2000000U, 0x4000000U, 0x8000000U, 0x10000000U, 0x20000000U, 0x40000000U}) {
        cases.push_back({"clone", 56, 220, {flag | 17}, "EPERM"});
        cases.push_back({"clone", 56, 220, {high | flag}, "EPERM"});
        cases.push_back({"unshare", 272, 97, {flag}, "EPERM"});
        cases.push_back({"unshare", 272, 97, {high | flag}, "EPERM"});
    }

    check({}, cases);
}

TEST_CASE("a personality can be asked for, and can only lose the random addresses") {
    check({}, std::vector<Case>{
                  {"personality", 135, 92, {0}, "allow"},
                  {"personality", 135, 92, {8}, "allow"},
                  {"personality", 135, 92, {0x0040000}, "allow"},
                  {"personality", 135, 92, {0x0040008}, "allow"},
                  {"personality", 135, 92, {0xffff'ffff}, "allow"},
                  {"personality", 135, 92, {0xffff'ffff'ffff'ffff}, "allow"}, // as C passes -1
                  {"personality", 135, 92, {high | 8}, "allow"},
                  {"personality", 135, 92, {high | 0xffff'ffff}, "allow"},
                  {"personality", 135, 92, {1}, "EPERM"},
                  {"personality", 135, 92, {0x0400000}, "EPERM"}, // READ_IMPLIES_EXEC
                  {"personality", 135, 92, {high | 0x0400000}, "EPERM"},
                  {"personality", 135, 92, {0x0440000}, "EPERM"},
                  {"personality", 135, 92, {0x0100000}, "EPERM"}, // MMAP_PAGE_ZERO
                  {"personality", 135, 92, {0xffff'fffe}, "EPERM"},
              });
}

TEST_CASE("memory may be placed, but not that of other processes") {
    check({}, std::vector<Case>{
                  {"mbind", 237, 235, {0, 0, 0, 0, 0, 0}, "allow"},
                  {"mbind", 237, 235, {0, 0, 0, 0, 0, 2}, "allow"}, // MPOL_MF_MOVE
                  {"mbind", 237, 235, {4, 4, 4, 4, 4, 0}, "allow"},
                  {"mbind", 237, 235, {0, 0, 0, 0, 0, 4}, "EPERM"}, // MPOL_MF_MOVE_ALL
                  {"mbind", 237, 235, {0, 0, 0, 0, 0, high | 6}, "EPERM"},
              });
}

TEST_CASE("processes are traced only where there are none but one's own") {
    const auto cases = [](const char* expected) {
        return std::vector<Case>{{"ptrace", 101, 117, {0}, expected},
                                 {"ptrace", 101, 117, {0x4206, 1}, expected},
                                 {"process_vm_readv", 310, 270, {}, expected},
                                 {"process_vm_writev", 311, 271, {}, expected},
                                 {"prlimit64", 302, 261, {1}, expected},
                                 {"prlimit64", 302, 261, {high | 77}, expected},
                                 {"prlimit64", 302, 261, {0, 3, 0x7000}, "allow"},
                                 {"prlimit64", 302, 261, {high, 3, 0x7000}, "allow"}};
    };
    FilterOptions among_strangers;
    among_strangers.has_own_processes = false;

    check({}, cases("allow"));
    check(among_strangers, cases("EPERM"));
}

TEST_CASE("no lease and no delegation holds up other programs") {
    check({}, std::vector<Case>{
                  {"fcntl", 72, 25, {3, 1024, 0}, "EPERM"},        // F_SETLEASE
                  {"fcntl", 72, 25, {3, 1024 + 16, 0}, "EPERM"},   // F_SETDELEG
                  {"fcntl", 72, 25, {3, high | 1040, 0}, "EPERM"}, // an int
                  {"fcntl", 72, 25, {3, 1024 + 1, 0}, "allow"},    // F_GETLEASE
                  {"fcntl", 72, 25, {3, 1024 + 6, 0}, "allow"},    // F_DUPFD_CLOEXEC
              });
}

TEST_CASE("the limits of the first process are read but not set") {
    check({}, std::vector<Case>{
                  {"prlimit64", 302, 261, {1, 0, 0x7000}, "EPERM"},
                  {"prlimit64", 302, 261, {high | 1, 9, 0x7000}, "EPERM"},
                  {"prlimit64", 302, 261, {1, 9, high}, "EPERM"}, // a pointer all the same
                  {"prlimit64", 302, 261, {1, RLIMIT_CORE, 0x7000}, "EPERM"},
                  {"prlimit64", 302, 261, {1, 9, 0, 0x7000}, "allow"},
                  {"prlimit64", 302, 261, {2, 9, 0x7000}, "allow"},
              });
}

TEST_CASE("ids that do not exist inside are not permitted, as to users without privileges") {
    constexpr std::uint64_t none = 0xffff'ffff; // no change
    FilterOptions options;
    options.only_ids = ew::sandbox::OwnIds{1000, 100};
    check(options, std::vector<Case>{
                       {"chown", 92, no_number, {0x7000, 1000, 100}, "allow"},
                       {"chown", 92, no_number, {0x7000, none, none}, "allow"},
                       {"chown", 92, no_number, {0x7000, high | 1000, high | none}, "allow"},
                       {"chown", 92, no_number, {0x7000, 0, none}, "EPERM"},
                       {"lchown", 94, no_number, {0x7000, none, 0}, "EPERM"},
                       {"lchown", 94, no_number, {0x7000, ~0ULL, ~0ULL}, "allow"}, // as C passes -1
                       {"fchown", 93, 55, {3, none, 100}, "allow"},
                       {"fchown", 93, 55, {3, none, 1000}, "EPERM"},
                       {"fchown", 93, 55, {3, 100, none}, "EPERM"},
                       {"fchown", 93, 55, {3, high | 65534, none}, "EPERM"},
                       {"fchownat", 260, 54, {3, 0x7000, 1000, 100, 0}, "allow"},
                       {"fchownat", 260, 54, {3, 0x7000, 1000, 1000, 0}, "EPERM"},
                       {"fchownat", 260, 54, {3, 0x7000, 100, 100, 0}, "EPERM"},
                       {"setuid", 105, 146, {1000}, "allow"},
                       {"setuid", 105, 146, {0}, "EPERM"},
                       {"setgid", 106, 144, {100}, "allow"},
                       {"setgid", 106, 144, {1000}, "EPERM"},
                       {"setreuid", 113, 145, {none, 1000}, "allow"},
                       {"setreuid", 113, 145, {none, 33}, "EPERM"},
                       {"setregid", 114, 143, {33, none}, "EPERM"},
                       {"setresuid", 117, 147, {1000, none, 1000}, "allow"},
                       {"setresuid", 117, 147, {1000, none, 33}, "EPERM"},
                       {"setresgid", 119, 149, {33, 100, 100}, "EPERM"},
                   });
    check({}, std::vector<Case>{{"fchown", 93, 55, {3, 65534, 65534}, "allow"},
                                {"setuid", 105, 146, {33}, "allow"}});
}

TEST_CASE("the limit of core files stays as it is, whatever a program sets") {
    constexpr std::uint64_t core = RLIMIT_CORE;
    check({}, std::vector<Case>{
                  {"setrlimit", 160, 164, {core, 0x7000}, "success"},
                  {"setrlimit", 160, 164, {high | core, 0x7000}, "success"},
                  {"setrlimit", 160, 164, {0, 0x7000}, "allow"},
                  {"prlimit64", 302, 261, {0, core, 0x7000}, "success"},
                  {"prlimit64", 302, 261, {77, core, 0x7000}, "success"},
                  {"prlimit64", 302, 261, {0, core, high}, "success"}, // a pointer all the same
                  {"prlimit64", 302, 261, {0, high | core, 0x7000}, "success"},
                  {"prlimit64", 302, 261, {0, core, 0, 0x7000}, "allow"},
                  {"prlimit64", 302, 261, {0, std::uint64_t{RLIMIT_NOFILE}, 0x7000}, "allow"},
              });
}

TEST_CASE("refused sockets for datagrams are told where somebody listens") {
    FilterOptions options;
    options.notifies_datagrams = true;
    check(options, std::vector<Case>{
                       socket_case({family_unix, datagram}, "notify"),
                       socket_case({family_unix, flags | raw}, "notify"),
                       socket_case({family_unix, stream}, "allow"),
                       {"socketpair", 53, 199, {family_unix, datagram}, "notify"},
                   });
}

TEST_CASE("connects are told, or left to the kernel") {
    FilterOptions silent;
    silent.notifies_connect = false;
    const auto connecting = [](const char* expected) {
        return std::vector<Case>{{"connect", 42, 203, {3, 0x7fff'0000'1234, 16}, expected}};
    };

    check({}, connecting("notify"));
    check(silent, connecting("allow"));
}

TEST_CASE("opens are told if they are meant for writing") {
    const auto cases = [](const char* writing) {
        return std::vector<Case>{
            {"open", 2, no_number, {0, 0}, "allow"},
            {"open", 2, no_number, {0, close_on_exec, create}, "allow"},
            {"open", 2, no_number, {0, write_only}, writing},
            {"open", 2, no_number, {0, high | create}, writing},
            {"openat", 257, 56, {0, 0, 0}, "allow"},
            {"openat", 257, 56, {0, 0, close_on_exec | 0200000, 0666}, "allow"}, // O_DIRECTORY
            {"openat", 257, 56, {0, 0, high}, "allow"},
            {"openat", 257, 56, {write_only, create, 0, write_only}, "allow"},
            {"openat", 257, 56, {0, 0, write_only}, writing},
            {"openat", 257, 56, {0, 0, read_write | close_on_exec}, writing},
            {"openat", 257, 56, {0, 0, create}, writing},
            {"openat", 257, 56, {0, 0, truncating}, writing},
            {"openat", 257, 56, {0, 0, high | truncating}, writing},
            {"openat", 257, 56, {0, 0, 3}, writing},
        };
    };
    FilterOptions telling;
    telling.notifies_writes = true;

    check(telling, cases("notify"));
    check({}, cases("allow"));
}

TEST_CASE("changes by path are told if that was asked for") {
    const auto cases = [](const char* expected) {
        return std::vector<Case>{
            {"creat", 85, no_number, {}, expected},   {"truncate", 76, 45, {}, expected},
            {"unlink", 87, no_number, {}, expected},  {"unlinkat", 263, 35, {}, expected},
            {"rename", 82, no_number, {}, expected},  {"renameat", 264, 38, {}, expected},
            {"renameat2", 316, 276, {}, expected},    {"mkdir", 83, no_number, {}, expected},
            {"mkdirat", 258, 34, {}, expected},       {"rmdir", 84, no_number, {}, expected},
            {"link", 86, no_number, {}, expected},    {"linkat", 265, 37, {}, expected},
            {"symlink", 88, no_number, {}, expected}, {"symlinkat", 266, 36, {}, expected},
            {"chmod", 90, no_number, {}, expected},   {"fchmodat", 268, 53, {}, expected},
            {"fchmodat2", 452, 452, {}, expected},    {"mknod", 133, no_number, {}, expected},
            {"mknodat", 259, 33, {}, expected},       {"ftruncate", 77, 46, {}, "allow"},
        };
    };
    FilterOptions telling;
    telling.notifies_writes = true;

    check(telling, cases("notify"));
    check({}, cases("allow"));
}

TEST_CASE("renames alone are told if that was asked for") {
    const std::vector<Case> cases = {
        {"rename", 82, no_number, {}, "notify"}, {"renameat", 264, 38, {}, "notify"},
        {"renameat2", 316, 276, {}, "notify"},   {"unlink", 87, no_number, {}, "allow"},
        {"mkdirat", 258, 34, {}, "allow"},
    };
    FilterOptions telling;
    telling.notifies_renames = true;

    check(telling, cases);
}

TEST_CASE("owners and attributes stay as they are where nothing else guards them") {
    const auto cases = [](const char* expected) {
        return std::vector<Case>{
            {"chown", 92, no_number, {}, expected},
            {"lchown", 94, no_number, {}, expected},
            {"fchown", 93, 55, {}, expected},
            {"fchownat", 260, 54, {}, expected},
            {"setxattr", 188, 5, {}, expected},
            {"lsetxattr", 189, 6, {}, expected},
            {"fsetxattr", 190, 7, {}, expected},
            {"setxattrat", 463, 463, {}, expected},
            {"removexattr", 197, 14, {}, expected},
            {"lremovexattr", 198, 15, {}, expected},
            {"fremovexattr", 199, 16, {}, expected},
            {"removexattrat", 466, 466, {}, expected},
            {"file_setattr", 469, 469, {}, expected},
            {"ioctl", 16, 29, {3, 0x40086602}, expected},        // FS_IOC_SETFLAGS
            {"ioctl", 16, 29, {3, high | 0x401c5820}, expected}, // FS_IOC_FSSETXATTR
            {"getxattr", 191, 8, {}, "allow"},
            {"listxattr", 194, 11, {}, "allow"},
            {"ioctl", 16, 29, {3, 0x80086601}, "allow"}, // FS_IOC_GETFLAGS
        };
    };
    FilterOptions guarding;
    guarding.allows_owner_changes = false;

    check(guarding, cases("EPERM"));
    check({}, cases("allow"));
}

TEST_CASE("the high half of an argument never changes what happens") {
    for (const Architecture architecture : architectures)
        for (const FilterOptions& options : all_options()) {
            const Filter filter(architecture, options);
            for (int number = 0; number < 480; ++number)
                for (const std::uint64_t value : {0U, 1U, 2U, 16U, 40U, 0x5412U, 0x10000000U}) {
                    const Arguments low = {value, value, value, value, value, value};
                    Arguments tricky = low;
                    for (std::uint64_t& argument : tricky)
                        argument |= high;
                    REQUIRE(filter.of(number, low) == filter.of(number, tricky));
                }
        }
}

#if defined(__x86_64__)
TEST_CASE("the numbers are those of the headers, as far as these know the calls") {
    CHECK(calls::socket.x86_64 == SYS_socket);
    CHECK(calls::ioctl.x86_64 == SYS_ioctl);
    CHECK(calls::clone.x86_64 == SYS_clone);
    CHECK(calls::openat.x86_64 == SYS_openat);
    CHECK(calls::connect.x86_64 == SYS_connect);
    CHECK(calls::keyctl.x86_64 == SYS_keyctl);
    CHECK(calls::mount.x86_64 == SYS_mount);
    CHECK(calls::clone3.x86_64 == SYS_clone3);
    CHECK(calls::pidfd_getfd.x86_64 == SYS_pidfd_getfd);
}
#endif

TEST_SUITE_END();
