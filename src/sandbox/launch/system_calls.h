// Numbers of the system calls that the filter and the supervisor name, on both architectures.
// Defined here because the headers of a distribution may be older than its kernel. Source: the
// kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
#pragma once

#include "sandbox/launch/filter.h"

#include <cstdint>
#include <string_view>

namespace ew::sandbox {

struct SystemCall {
    std::string_view name;
    int x86_64;  // or no_number
    int aarch64; // or no_number

    constexpr int number(Architecture architecture) const {
        return architecture == Architecture::x86_64 ? x86_64 : aarch64;
    }
};

constexpr int no_number = -1;

} // namespace ew::sandbox

// From 424 on both architectures have the same numbers.
namespace ew::sandbox::calls {

// Sockets.
constexpr SystemCall socket{"socket", 41, 198};
constexpr SystemCall socketpair{"socketpair", 53, 199};
constexpr SystemCall connect{"connect", 42, 203};

// Processes.
constexpr SystemCall clone{"clone", 56, 220};
constexpr SystemCall clone3{"clone3", 435, 435};
constexpr SystemCall unshare{"unshare", 272, 97};
constexpr SystemCall setns{"setns", 308, 268};
constexpr SystemCall ptrace{"ptrace", 101, 117};
constexpr SystemCall process_vm_readv{"process_vm_readv", 310, 270};
constexpr SystemCall process_vm_writev{"process_vm_writev", 311, 271};
constexpr SystemCall pidfd_getfd{"pidfd_getfd", 438, 438};
constexpr SystemCall kcmp{"kcmp", 312, 272};
constexpr SystemCall prlimit64{"prlimit64", 302, 261};
constexpr SystemCall personality{"personality", 135, 92};
constexpr SystemCall setrlimit{"setrlimit", 160, 164};
constexpr SystemCall setuid{"setuid", 105, 146};
constexpr SystemCall setgid{"setgid", 106, 144};
constexpr SystemCall setreuid{"setreuid", 113, 145};
constexpr SystemCall setregid{"setregid", 114, 143};
constexpr SystemCall setresuid{"setresuid", 117, 147};
constexpr SystemCall setresgid{"setresgid", 119, 149};

// Descriptors and terminals.
constexpr SystemCall ioctl{"ioctl", 16, 29};
constexpr SystemCall fcntl{"fcntl", 72, 25};
constexpr SystemCall vhangup{"vhangup", 153, 58};
constexpr SystemCall io_uring_setup{"io_uring_setup", 425, 425};
constexpr SystemCall io_uring_enter{"io_uring_enter", 426, 426};
constexpr SystemCall io_uring_register{"io_uring_register", 427, 427};

// Files by path.
constexpr SystemCall open{"open", 2, no_number};
constexpr SystemCall openat{"openat", 257, 56};
constexpr SystemCall creat{"creat", 85, no_number};
constexpr SystemCall truncate{"truncate", 76, 45};
constexpr SystemCall unlink{"unlink", 87, no_number};
constexpr SystemCall unlinkat{"unlinkat", 263, 35};
constexpr SystemCall rename{"rename", 82, no_number};
constexpr SystemCall renameat{"renameat", 264, 38};
constexpr SystemCall renameat2{"renameat2", 316, 276};
constexpr SystemCall mkdir{"mkdir", 83, no_number};
constexpr SystemCall mkdirat{"mkdirat", 258, 34};
constexpr SystemCall rmdir{"rmdir", 84, no_number};
constexpr SystemCall link{"link", 86, no_number};
constexpr SystemCall linkat{"linkat", 265, 37};
constexpr SystemCall symlink{"symlink", 88, no_number};
constexpr SystemCall symlinkat{"symlinkat", 266, 36};
constexpr SystemCall chmod{"chmod", 90, no_number};
constexpr SystemCall fchmodat{"fchmodat", 268, 53};
constexpr SystemCall fchmodat2{"fchmodat2", 452, 452};
constexpr SystemCall mknod{"mknod", 133, no_number};
constexpr SystemCall mknodat{"mknodat", 259, 33};

// Owners and attributes.
constexpr SystemCall chown{"chown", 92, no_number};
constexpr SystemCall lchown{"lchown", 94, no_number};
constexpr SystemCall fchown{"fchown", 93, 55};
constexpr SystemCall fchownat{"fchownat", 260, 54};
constexpr SystemCall setxattr{"setxattr", 188, 5};
constexpr SystemCall lsetxattr{"lsetxattr", 189, 6};
constexpr SystemCall fsetxattr{"fsetxattr", 190, 7};
constexpr SystemCall setxattrat{"setxattrat", 463, 463};
constexpr SystemCall removexattr{"removexattr", 197, 14};
constexpr SystemCall lremovexattr{"lremovexattr", 198, 15};
constexpr SystemCall fremovexattr{"fremovexattr", 199, 16};
constexpr SystemCall removexattrat{"removexattrat", 466, 466};
constexpr SystemCall file_setattr{"file_setattr", 469, 469};

// Mounts.
constexpr SystemCall mount{"mount", 165, 40};
constexpr SystemCall umount2{"umount2", 166, 39};
constexpr SystemCall pivot_root{"pivot_root", 155, 41};
constexpr SystemCall chroot{"chroot", 161, 51};
constexpr SystemCall open_tree{"open_tree", 428, 428};
constexpr SystemCall open_tree_attr{"open_tree_attr", 467, 467};
constexpr SystemCall move_mount{"move_mount", 429, 429};
constexpr SystemCall fsopen{"fsopen", 430, 430};
constexpr SystemCall fsconfig{"fsconfig", 431, 431};
constexpr SystemCall fsmount{"fsmount", 432, 432};
constexpr SystemCall fspick{"fspick", 433, 433};
constexpr SystemCall mount_setattr{"mount_setattr", 442, 442};
constexpr SystemCall open_by_handle_at{"open_by_handle_at", 304, 265};
constexpr SystemCall fanotify_init{"fanotify_init", 300, 262};
constexpr SystemCall quotactl{"quotactl", 179, 60};
constexpr SystemCall quotactl_fd{"quotactl_fd", 443, 443};
constexpr SystemCall swapon{"swapon", 167, 224};
constexpr SystemCall swapoff{"swapoff", 168, 225};
constexpr SystemCall acct{"acct", 163, 89};

// Keys, and programs in the kernel.
constexpr SystemCall add_key{"add_key", 248, 217};
constexpr SystemCall request_key{"request_key", 249, 218};
constexpr SystemCall keyctl{"keyctl", 250, 219};
constexpr SystemCall bpf{"bpf", 321, 280};
constexpr SystemCall perf_event_open{"perf_event_open", 298, 241};
constexpr SystemCall userfaultfd{"userfaultfd", 323, 282};
constexpr SystemCall init_module{"init_module", 175, 105};
constexpr SystemCall finit_module{"finit_module", 313, 273};
constexpr SystemCall delete_module{"delete_module", 176, 106};
constexpr SystemCall kexec_load{"kexec_load", 246, 104};
constexpr SystemCall kexec_file_load{"kexec_file_load", 320, 294};

// The machine as a whole.
constexpr SystemCall reboot{"reboot", 169, 142};
constexpr SystemCall settimeofday{"settimeofday", 164, 170};
constexpr SystemCall clock_settime{"clock_settime", 227, 112};
constexpr SystemCall adjtimex{"adjtimex", 159, 171};
constexpr SystemCall clock_adjtime{"clock_adjtime", 305, 266};
constexpr SystemCall sethostname{"sethostname", 170, 161};
constexpr SystemCall setdomainname{"setdomainname", 171, 162};
constexpr SystemCall syslog{"syslog", 103, 116};
constexpr SystemCall iopl{"iopl", 172, no_number};
constexpr SystemCall ioperm{"ioperm", 173, no_number};
constexpr SystemCall lookup_dcookie{"lookup_dcookie", 212, 18};
constexpr SystemCall nfsservctl{"nfsservctl", 180, 42};
constexpr SystemCall sysctl{"_sysctl", 156, no_number};
constexpr SystemCall uselib{"uselib", 134, no_number};

// Memory.
constexpr SystemCall vmsplice{"vmsplice", 278, 75};
constexpr SystemCall modify_ldt{"modify_ldt", 154, no_number};
constexpr SystemCall migrate_pages{"migrate_pages", 256, 238};
constexpr SystemCall move_pages{"move_pages", 279, 239};
constexpr SystemCall mbind{"mbind", 237, 235};

} // namespace ew::sandbox::calls
