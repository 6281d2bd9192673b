"""Attempts to escape from a sandbox, which must fail, for root as well.

The tests check the effects of an attack outside, if it can have any. They also check the errors that
the attacker gets: for parts of the kernel that are attacked through their bugs, there is nothing else
to check. Each attack is one of many in a Python program.
"""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal, eventually, file_uri, is_alive, within
from support.runner import main
from support.sandboxes import (
    READ_ONLY,
    READS_ALL,
    WRITES_WORKSPACE,
    at,
    bystander,
    connect_to_file,
    listening,
    mode,
    permissions,
    sandbox_test,
    special,
)

# Tools for attacks. Each prints "done NAME" for an attack that worked.
TOOLS = """
import ctypes, errno, mmap, os, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
def call(x86, arm, *arguments):
    number = x86 if X86 else arm
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def attack(name):
    def run(function):
        try:
            result = function()
        except (OSError, ValueError, EOFError, subprocess.SubprocessError) as error:
            print("failed", name, error, flush=True)
            return
        if result is not False:
            print("done", name, "" if result is None else repr(result)[:200], flush=True)
    return run
def put(path, data=b"evil", flags=os.O_WRONLY):
    fd = os.open(path, flags)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(errno.EIO, "short")
    finally:
        os.close(fd)
def get(path, size=4096):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)
def sh(command):
    return subprocess.run(command, shell=True, timeout=20, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
def works(command):
    done = sh(command)
    if done.returncode:
        raise OSError(errno.EPERM, done.stdout.decode("utf-8", "replace")[-200:])
"""


def attacked(site, script, sandbox=None, *arguments, **options):
    """Runs an attack to its end. Returns the names of the attacks that worked, and the whole
    output.
    """
    place = options.pop("place", site.workspace)
    path = site.file(os.path.join(place, "attack.py"), TOOLS + script)
    options.setdefault("cwd", file_uri(place))
    ended = site.run([PYTHON, path, *arguments], sandbox, **options)
    check("Traceback" not in ended.text, "the attack itself is wrong: " + ended.text[-1500:])
    done = [line.split()[1] for line in ended.text.splitlines() if line.startswith("done ")]
    return done, ended.text


def nothing_works(site, script, sandbox=None, *arguments, but=(), **options):
    done, text = attacked(site, script, sandbox, *arguments, **options)
    told = {line for line in text.splitlines() if line.startswith("done ")}
    equal(set(done) - set(but), set(), "what worked: %s" % sorted(told))
    check("failed" in text or but, "the attack did nothing: " + text)
    return text


# The first process, and its resources


@sandbox_test
def the_first_process_gives_nothing_away(site):
    secret = site.file(site.beyond("secret"), "hush\n")
    entries = [READS_ALL, WRITES_WORKSPACE, at(site.outside, "deny")]
    text = nothing_works(
        site,
        """
secret = sys.argv[1]
for name in ("root", "cwd"):
    attack("read-by-" + name)(lambda: get("/proc/1/%s%s" % (name, secret)))
    attack("write-by-" + name)(lambda: put("/proc/1/%s/var/tmp/evil" % name, flags=os.O_WRONLY | os.O_CREAT))
    attack("new-root-" + name)(lambda: os.chroot("/proc/1/" + name))
def other_view():
    if os.stat("/proc/1/root/").st_dev != os.stat("/").st_dev: return
    return False
attack("another-view")(other_view)
attack("write-exe")(lambda: put("/proc/1/exe"))
attack("write-init")(lambda: put("/dev/execward-init"))
attack("append-init")(lambda: put("/dev/execward-init", flags=os.O_WRONLY | os.O_APPEND))
attack("replace-init")(lambda: (open("x", "w").close(), os.rename("x", "/dev/execward-init")))
attack("remove-init")(lambda: os.unlink("/dev/execward-init"))
attack("chmod-init")(lambda: os.chmod("/dev/execward-init", 0o777))
attack("truncate-init")(lambda: os.truncate("/dev/execward-init", 0))
def by_own_exe():
    child = subprocess.Popen(["/dev/execward-init"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05)
    try: put("/proc/%d/exe" % child.pid)
    finally: child.wait()
attack("write-child-exe")(by_own_exe)
def memory():
    maps = get("/proc/1/maps").decode().splitlines()
    for line in maps:
        start = int(line.split("-")[0], 16)
        fd = os.open("/proc/1/mem", os.O_RDWR)
        os.pwrite(fd, b"evil", start)
        return
    return False
attack("memory")(memory)
def ends():
    for name in os.listdir("/proc/1/fd"):
        link = os.readlink("/proc/1/fd/" + name)
        if name not in "012" and not link.startswith("/dev/null"): return link
    return False
attack("descriptors")(ends)
def write_end():
    for name in os.listdir("/proc/1/fd"):
        if int(name) > 2:
            put("/proc/1/fd/" + name, struct.pack("i", 0))
            return name
    return False
attack("tell-another-end")(write_end)
def copy_fd():
    fd = call(434, 434, 1, 0)
    for number in range(20):
        try: return call(438, 438, fd, number, 0)
        except OSError as error: last = error
    raise last
attack("pidfd-getfd")(copy_fd)
attack("ptrace-attach")(lambda: call(101, 117, 16, 1, 0, 0))
attack("ptrace-seize")(lambda: call(101, 117, 0x4206, 1, 0, 0))
def vm(number, arm):
    def run():
        buffer = ctypes.create_string_buffer(8)
        maps = get("/proc/1/maps").decode()
        start = int(maps.split("-")[0], 16)
        local = struct.pack("PN", ctypes.addressof(buffer), 8)
        remote = struct.pack("PN", start, 8)
        call(number, arm, 1, local, 1, remote, 1, 0)
    return run
attack("process-vm-writev")(vm(311, 271))
print("failed anyway")
""",
        permissions(entries, roots=[site.workspace]),
        secret,
        but=("read-end",),
    )
    check("hush" not in text, text)


@sandbox_test
def the_first_process_cannot_be_ended_or_held_up(site):
    ended = site.run_python(
        TOOLS
        + """
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGHUP):
    try: os.kill(1, number)
    except OSError: pass
try: os.kill(-1, 0)
except OSError: pass
import resource
for limit in (0, 2, 7, 6, 9, 15):
    try:
        resource.prlimit(1, limit, (0, 0))
        print("limited", limit, flush=True)
    except PermissionError: pass
    assert len(resource.prlimit(1, limit)) == 2 # may be read
try: os.setpriority(os.PRIO_PROCESS, 1, 19)
except OSError: pass
for name in ("oom_score_adj", "oom_adj"):
    try:
        with open("/proc/1/" + name, "w") as file: file.write("15")
        print("limited by", name, flush=True)
    except OSError: pass
time.sleep(0.3)
print("still here", flush=True)
sys.exit(42)
"""
    )
    equal((ended.code, ended.signal), (42, None), "end of %s" % ended.text)
    check("still here" in ended.text, ended.text)
    check("limited" not in ended.text, ended.text)


@sandbox_test
def its_end_cannot_be_told_wrongly(site):
    for tty in (False, True):
        ended = site.run_python(
            TOOLS
            + """
for number in range(3, 100):
    for data in (struct.pack("i", 0), b"\\0" * 64):
        try: os.write(number, data)
        except OSError: pass
names = sorted(os.listdir("/proc/self/fd"), key=int)
print(names, flush=True)
sys.exit(9)
""",
            tty=tty,
        )
        equal(ended.code, 9, "exit code")
        equal(len(eval(ended.text)), 4, "descriptors: " + ended.text)  # including the one that lists them


@sandbox_test
def orders_and_policies_are_not_left_lying_about(site):
    nothing_works(
        site,
        """
def search(name):
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            data = get("/proc/%s/%s" % (pid, name), 1 << 20)
            if b"bwrap" in data or b"--ro-bind" in data or b"XDG_STATE_HOME" in data: return data
    return False
for name in ("cmdline", "environ"):
    attack("search-" + name)(lambda: search(name))
print("failed anyway")
""",
    )


# Other users


@sandbox_test
def rights_cannot_be_had_back(site):
    nothing_works(
        site,
        """
attack("uid-map")(lambda: put("/proc/self/uid_map", b"0 0 1"))
attack("gid-map")(lambda: put("/proc/self/gid_map", b"0 0 1"))
attack("setgroups")(lambda: put("/proc/self/setgroups", b"allow"))
for name in ("current", "exec", "fscreate"):
    attack("attr-" + name)(lambda: put("/proc/self/attr/" + name, b"unconfined"))
attack("oom")(lambda: put("/proc/1/oom_score_adj", b"-1000"))
attack("loginuid")(lambda: put("/proc/self/loginuid", b"1") if os.getuid() else put("/proc/1/loginuid", b"1"))
def capabilities():
    text = get("/proc/self/status").decode()
    values = {l.split(":")[0]: l.split()[1] for l in text.splitlines() if l[:3] in ("Cap", "NoN", "Sec")}
    held = {n: v for n, v in values.items() if n in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd") and int(v, 16)}
    if held or values["NoNewPrivs"] != "1" or values["Seccomp"] != "2": return values
    return False
attack("capabilities")(capabilities)
attack("setuid-0-back")(lambda: (os.setresuid(0, 0, 0), False)[1] if os.getuid() == 0 else os.setuid(0))
attack("setgroups-call")(lambda: os.setgroups([0, 1]))
for flag, name in ((0x10000000, "user"), (0x20000, "mount"), (0x40000000, "net"), (0x20000000, "pid"),
                   (0x8000000, "ipc"), (0x4000000, "uts"), (0x2000000, "cgroup"), (0x80, "time")):
    attack("unshare-" + name)(lambda: call(272, 97, flag))
def clone(flag):
    pid = call(56, 220, flag | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
attack("clone-user")(lambda: clone(0x10000000))
attack("clone-mount")(lambda: clone(0x20000))
def clone3():
    args = struct.pack("11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    pid = call(435, 435, args, len(args))
    if pid == 0: os._exit(0)
attack("clone3-user")(clone3)
def by_pidfd():
    fd = call(434, 434, 1, 0)
    call(308, 268, fd, 0x20000 | 0x40000000)
attack("setns-pidfd")(by_pidfd)
for name in ("mnt", "net", "user", "pid", "ipc", "uts", "cgroup"):
    attack("setns-" + name)(lambda: call(308, 268, os.open("/proc/1/ns/" + name, os.O_RDONLY), 0))
    attack("setns-self-" + name)(lambda: call(308, 268, os.open("/proc/self/ns/" + name, os.O_RDONLY), 0))
def user_of_namespace():
    import fcntl
    fd = os.open("/proc/self/ns/user", os.O_RDONLY)
    parent = fcntl.ioctl(fd, 0xb702)  # NS_GET_PARENT
    call(308, 268, parent, 0x10000000)
attack("parent-namespace")(user_of_namespace)
for tool in ("unshare -r true", "unshare -m true", "nsenter -t 1 -m true", "mount -t tmpfs x /mnt", "mount -o remount,rw /",
             "umount /proc/sys", "umount -l .git", "chroot / true", "pivot_root . .", "losetup -f", "mount --bind /tmp /mnt",
             "capsh --caps=all+eip -- -c true", "su -c true nobody", "hostname x", "sysctl -w kernel.domainname=x",
             "bwrap --ro-bind / / true", "ip link add d type dummy", "ip link set lo down", "iptables -L", "dmesg", "insmod x", "date -s 2001-01-01"):
    if not sh("command -v " + tool.split()[0]).returncode:
        attack(tool.replace(" ", "_"))(lambda: works(tool))
""",
    )


@sandbox_test
def parts_of_the_kernel_that_are_attacked_are_closed(site):
    nothing_works(
        site,
        """
buffer = ctypes.create_string_buffer(4096)
attack("keyctl-session")(lambda: call(250, 219, 0, -3, 0))
attack("add-key")(lambda: call(248, 217, b"user", b"k", b"x", 1, -3))
attack("request-key")(lambda: call(249, 218, b"user", b"k", None, -3))
attack("userfaultfd")(lambda: call(323, 282, 1))
attack("userfaultfd-device")(lambda: os.open("/dev/userfaultfd", os.O_RDWR))
attack("perf")(lambda: call(298, 241, struct.pack("II", 1, 128) + bytes(120), 0, -1, -1, 0))
attack("bpf-map")(lambda: call(321, 280, 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(112), 128))
attack("bpf-load")(lambda: call(321, 280, 5, bytes(128), 128))
attack("io-uring")(lambda: call(425, 425, 4, buffer))
attack("io-uring-register")(lambda: call(427, 427, 0, 0, 0, 0))
attack("kcmp")(lambda: call(312, 272, os.getpid(), 1, 0, 0, 0))
attack("vmsplice")(lambda: call(278, 75, os.pipe()[1], struct.pack("PN", ctypes.addressof(buffer), 8), 1, 0))
attack("handle")(lambda: call(304, 265, os.open("/", os.O_RDONLY), bytes(64), 0))
attack("fanotify")(lambda: call(300, 262, 0, 0))
attack("syslog")(lambda: call(103, 116, 3, buffer, 4096))
attack("modify-ldt")(lambda: call(154, -1, 0, buffer, 16))
attack("personality")(lambda: call(135, 92, 0x0400000))
attack("personality-zero")(lambda: call(135, 92, 0x0100000))
attack("acct")(lambda: call(163, 89, 0))
attack("swapoff")(lambda: call(168, 225, b"/x"))
attack("reboot")(lambda: call(169, 142, 0xfee1dead, 672274793, 0, 0))
attack("clock")(lambda: call(227, 112, 0, struct.pack("qq", 1, 1)))
attack("module")(lambda: call(313, 273, 0, b"", 0))
attack("kexec")(lambda: call(246, 104, 0, 0, 0, 0))
attack("open-tree")(lambda: call(428, 428, -100, b"/", 1))
attack("fsopen")(lambda: call(430, 430, b"tmpfs", 0))
attack("mount-setattr")(lambda: call(442, 442, -100, b"/", 0x8000, bytes(32), 32))
attack("move-mount")(lambda: call(429, 429, -100, b"/tmp", -100, b"/mnt", 0))
attack("mount")(lambda: call(165, 40, b"x", b"/mnt", b"tmpfs", 0, 0))
attack("umount")(lambda: call(166, 39, b"/proc/sys", 2))
attack("pivot-root")(lambda: call(155, 41, b".", b"."))
attack("quotactl")(lambda: call(179, 60, 0x800001 << 8, b"/", 0, 0))
attack("iopl")(lambda: call(172, -1, 3))
attack("vhangup")(lambda: call(153, 58))
attack("lsm-set")(lambda: call(460, 460, 100, bytes(64), 64, 0))
""",
    )


# The terminal


@sandbox_test
def nothing_can_be_typed_for_another(site):
    text = nothing_works(
        site,
        """
import fcntl
for base in (0x5412, 0x541c):
    for high in (0, 1 << 32, 0xffffffff << 32, 1 << 63):
        for fd in (0, 1, 2):
            attack("ioctl-%x-%x-%d" % (base, high, fd))(
                lambda: call(16, 29, fd, ctypes.c_ulong(high | base), ctypes.c_char_p(b"x")))
attack("console")(lambda: put("/dev/tty0", b"x"))
attack("console1")(lambda: put("/dev/tty1", b"x"))
def others():
    for name in os.listdir("/dev/pts"):
        if name.isdigit(): return name
    return False
attack("terminals")(others)
""",
        tty=True,
    )
    check("xx" not in text, text)


# Settings and devices of the machine


@sandbox_test
def settings_of_the_kernel_stay(site):
    nothing_works(
        site,
        """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
             "/proc/sys/vm/drop_caches", "/proc/sys/vm/swappiness", "/proc/sys/fs/suid_dumpable", "/proc/sys/net/ipv4/ip_forward",
             "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/randomize_va_space", "/proc/sys/fs/binfmt_misc/register",
             "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/timer_list", "/proc/mtrr", "/proc/scsi/scsi",
             "/proc/acpi/wakeup", "/proc/bus/pci/devices", "/proc/1/timerslack_ns",
             "/proc/1/clear_refs", "/proc/1/coredump_filter", "/proc/1/autogroup", "/proc/1/sched", "/proc/1/comm"):
    def rewrite():
        data = get(path) if os.access(path, os.R_OK) else b"1"
        put(path, data or b"1")
    attack("open-" + path)(rewrite)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        attack("flags-%s-%d" % (path, flags))(lambda: os.close(os.open(path, flags)))
    # To what it is: these modes are the machine's, and a failure must do no harm.
    attack("chmod-" + path)(lambda: os.chmod(path, os.stat(path).st_mode & 0o7777))
for name in sorted(os.listdir("/proc")):
    path = "/proc/" + name
    if name.isdigit() or os.path.islink(path): continue
    mode = os.stat(path).st_mode
    if mode & 0o170222 == 0o100000 and mode & 4: continue  # docs/sandbox.md
    attack("mode-" + path)(lambda: os.chmod(path, os.stat(path).st_mode & 0o7777))
""",
        but=own_of_the_first_process(),
    )


def own_of_the_first_process():
    """The first process has the same user, so a program can change its small settings. They have no
    effect outside and end with the sandbox, so this is not an escape.
    """
    names = ("timerslack_ns", "clear_refs", "coredump_filter", "autogroup", "sched", "comm")
    paths = ["/proc/1/" + name for name in names]
    flags = (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC)
    return (
        ["open-" + path for path in paths]
        + ["flags-%s-%d" % (path, flag) for path in paths for flag in flags]
        + ["chmod-" + path for path in paths]
    )


# A sandbox that may write everywhere protects the repositories of all tests.
@sandbox_test(alone=True)
def settings_of_the_kernel_stay_where_all_files_are_open(site):
    """Nothing is written: opening the file for writing would be enough."""
    for sandbox in (
        permissions([special("root", "write")], roots=[site.workspace]),
        mode("danger-full-access", networkPolicy="restricted"),
    ):
        nothing_works(
            site,
            """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/sys/power/state",
             "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/module/kernel/parameters/panic", "/sys/kernel/uevent_helper",
             "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/dev/loop0"):
    attack(path)(lambda: os.close(os.open(path, os.O_WRONLY)))
def group():
    os.mkdir("/sys/fs/cgroup/execward-test")
    os.rmdir("/sys/fs/cgroup/execward-test")
attack("group")(group)
""",
            sandbox,
        )


@sandbox_test
def devices_of_the_machine_keep_their_modes(site):
    """Harmless: the mode is set to its old value, and the change time would still show it."""
    devices = ("null", "zero", "full", "random", "urandom", "tty")
    changed = {name: os.stat("/dev/" + name).st_ctime_ns for name in devices}
    text = nothing_works(
        site,
        """
import stat
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    path = "/dev/" + name
    now = os.stat(path)
    attack("chmod-" + name)(lambda: os.chmod(path, stat.S_IMODE(now.st_mode)))
    attack("fchmod-" + name)(lambda: os.fchmod(os.open(path, os.O_RDONLY | os.O_NOCTTY), stat.S_IMODE(now.st_mode)))
    attack("chown-" + name)(lambda: os.chown(path, now.st_uid, now.st_gid))
    attack("xattr-" + name)(lambda: os.setxattr(path, "user.x", b"x"))
""",
        but=("anything",),
    )
    for name, before in changed.items():
        equal(os.stat("/dev/" + name).st_ctime_ns, before, "time of the last change of " + name)
    check("done" not in text, text)


@sandbox_test
def groups_and_devices_of_the_machine_stay(site):
    nothing_works(
        site,
        """
for top in ("/sys/fs/cgroup", "/sys/kernel", "/sys/module", "/sys/class", "/sys/devices/system", "/sys/power", "/sys/bus", "/sys/firmware"):
    count = 0
    for directory, names, files in os.walk(top):
        for name in files:
            path = os.path.join(directory, name)
            count += 1
            if count > 300: break
            try:
                if not os.stat(path).st_mode & 0o222: continue
            except OSError: continue
            attack(path)(lambda: os.close(os.open(path, os.O_WRONLY)))
        if count > 300: break
attack("cgroup")(lambda: os.mkdir("/sys/fs/cgroup/execward-test"))
attack("cgroup-procs")(lambda: put("/sys/fs/cgroup/cgroup.procs", b"0"))
for name in ("kmsg", "mem", "kmem", "port", "sda", "vda", "loop0", "loop-control", "fuse", "kvm", "vhost-vsock", "vhost-net",
             "net/tun", "ppp", "uinput", "snapshot", "autofs", "cuse", "mapper/control", "rtc0", "watchdog", "hpet", "cpu/0/msr", "nvram"):
    attack("open-" + name)(lambda: os.close(os.open("/dev/" + name, os.O_RDWR)))
    attack("read-" + name)(lambda: get("/dev/" + name))
import stat
for kind, major, minor in ((stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 11), (stat.S_IFCHR, 10, 229), (stat.S_IFBLK, 7, 0), (stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0)):
    for place in ("node", "/tmp/node", "/dev/node", "/dev/shm/node"):
        def node():
            os.mknod(place, kind | 0o666, os.makedev(major, minor))
            return os.close(os.open(place, os.O_RDONLY))
        attack("mknod-%s-%d-%d" % (place, major, minor))(node)
""",
    )
    check(not os.path.exists("/sys/fs/cgroup/execward-test"), "it made a group")
    check(not os.path.lexists(site.inside("node")), "it made a device")


# Sockets


@sandbox_test
def families_that_no_namespace_holds_are_closed(site):
    script = """
for name, family, kind, protocol in (
        ("vsock", 40, socket.SOCK_STREAM, 0), ("vsock-seq", 40, socket.SOCK_SEQPACKET, 0), ("alg", 38, socket.SOCK_SEQPACKET, 0),
        ("packet", 17, socket.SOCK_RAW, 0x300), ("packet-dgram", 17, socket.SOCK_DGRAM, 0x300), ("raw", 2, socket.SOCK_RAW, 1),
        ("raw6", 10, socket.SOCK_RAW, 58), ("packet-old", 2, socket.SOCK_PACKET if hasattr(socket, "SOCK_PACKET") else 10, 0x300),
        ("audit", 16, socket.SOCK_RAW, 9), ("uevent", 16, socket.SOCK_RAW, 15), ("netfilter", 16, socket.SOCK_RAW, 12), ("diag", 16, socket.SOCK_RAW, 4),
        ("xfrm", 16, socket.SOCK_RAW, 6), ("generic", 16, socket.SOCK_RAW, 16), ("crypto", 16, socket.SOCK_RAW, 21), ("connector", 16, socket.SOCK_RAW, 11),
        ("bluetooth", 31, socket.SOCK_RAW, 1), ("can", 29, socket.SOCK_RAW, 1), ("tipc", 30, socket.SOCK_STREAM, 0), ("rds", 21, socket.SOCK_SEQPACKET, 0),
        ("key", 15, socket.SOCK_RAW, 2), ("xdp", 44, socket.SOCK_RAW, 0), ("smc", 43, socket.SOCK_STREAM, 0), ("qrtr", 42, socket.SOCK_DGRAM, 0),
        ("mctp", 45, socket.SOCK_DGRAM, 0), ("pppox", 24, socket.SOCK_STREAM, 0), ("llc", 26, socket.SOCK_STREAM, 0), ("kcm", 41, socket.SOCK_DGRAM, 0),
        ("unix-dgram", 1, socket.SOCK_DGRAM, 0), ("unix-raw", 1, socket.SOCK_RAW, 0)):
    attack(name)(lambda: call(41, 198, family, kind, protocol))
    attack(name + "-high")(lambda: call(41, 198, ctypes.c_ulong(1 << 32 | family), ctypes.c_ulong(1 << 33 | kind), protocol))
    attack(name + "-cloexec")(lambda: call(41, 198, family, kind | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, protocol))
pair = (ctypes.c_int * 2)()
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    attack("pair-%d" % kind)(lambda: call(53, 199, 1, kind, 0, pair))
    attack("pair-high-%d" % kind)(lambda: call(53, 199, 1, ctypes.c_ulong(1 << 32 | kind), 0, pair))
"""
    nothing_works(site, script)
    nothing_works(site, script, mode(networkAccess=True))


@sandbox_test
def sockets_of_the_machine_are_out_of_reach(site):
    name = "execward-test-%d" % os.getpid()
    with contextlib.ExitStack() as stack:
        heard = {
            "abstract": stack.enter_context(listening(abstract=name)),
            "file": stack.enter_context(listening(site.beyond("docker.sock"))),
            "datagram": stack.enter_context(
                listening(site.beyond("dgram"), kind=socket.SOCK_DGRAM)
            ),
            "packets": stack.enter_context(
                listening(site.beyond("seq"), kind=socket.SOCK_SEQPACKET)
            ),
            "port": stack.enter_context(listening()),
            "udp": stack.enter_context(listening(kind=socket.SOCK_DGRAM)),
        }
        os.chmod(site.beyond("docker.sock"), 0o777)
        os.symlink(site.beyond("docker.sock"), site.inside("link.sock"))
        os.symlink(site.outside, site.inside("way"))
        os.link(site.beyond("docker.sock"), site.beyond("hard.sock"))
        text = nothing_works(
            site,
            """
outside, name, port, udp = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def connect(address, family=socket.AF_UNIX, kind=socket.SOCK_STREAM):
    s = socket.socket(family, kind)
    s.settimeout(60)
    s.connect(address)
    return s.recv(5) if kind != socket.SOCK_DGRAM else s.send(b"x")
directory = os.open(outside, os.O_PATH)
ways = [outside + "/docker.sock", "link.sock", "way/docker.sock", "/proc/self/root" + outside + "/docker.sock", outside + "/hard.sock",
        "/proc/1/root" + outside + "/docker.sock", "/proc/self/fd/%d/docker.sock" % directory, "/proc/thread-self/cwd/link.sock",
        "/proc/self/cwd/way/docker.sock", "./way/../link.sock", outside + "//./docker.sock",
        "/proc/self/fd/%d" % os.open(outside + "/docker.sock", os.O_PATH), "/dev/fd/%d" % os.open(outside + "/docker.sock", os.O_PATH)]
for way in ways:
    attack("connect-" + way)(lambda: connect(way))
def chdir():
    os.chdir(outside)
    try: return connect("docker.sock")
    finally: os.chdir(sys.path[0])
attack("connect-from-there")(chdir)
def long_way():
    os.symlink(outside + "/docker.sock", "l0")
    for n in range(1, 30): os.symlink("l%d" % (n - 1), "l%d" % n)
    return connect("l29")
attack("connect-long-way")(long_way)
attack("packets")(lambda: connect(outside + "/seq", kind=socket.SOCK_SEQPACKET))
attack("abstract")(lambda: connect("\\0" + name))
attack("port")(lambda: connect(("127.0.0.1", port), socket.AF_INET))
attack("port-0")(lambda: connect(("0.0.0.0", port), socket.AF_INET))
attack("port-6")(lambda: connect(("::ffff:127.0.0.1", port), socket.AF_INET6))
attack("port-127.1.2.3")(lambda: connect(("127.1.2.3", port), socket.AF_INET))
def fastopen():
    s = socket.socket()
    s.sendto(b"x", 0x20000000, ("127.0.0.1", port))
    return s.recv(5)
attack("fast-open")(fastopen)
def udp_send():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x", ("127.0.0.1", udp))
    s.sendmsg([b"x"], [], 0, ("127.0.0.1", udp))
    return False
attack("udp")(udp_send)
def mptcp():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    s.connect(("127.0.0.1", port))
attack("mptcp")(mptcp)
def sctp():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
    s.connect(("127.0.0.1", port))
attack("sctp")(sctp)
def dgram_by_stream():
    s = socket.socket(socket.AF_UNIX)
    s.sendto(b"x", outside + "/dgram")
attack("sendto-stream")(dgram_by_stream)
def racing():
    # The address is rewritten by another thread between check and use.
    os.mkdir("d"); 
    own = socket.socket(socket.AF_UNIX); own.bind("own.sock"); own.listen(128)
    good, bad = b"own.sock", (outside + "/docker.sock").encode()
    size = 110
    buffer = ctypes.create_string_buffer(size)
    def fill(path): return struct.pack("H", 1) + path.ljust(size - 2, b"\\0")
    stop = False
    def flip():
        while not stop:
            ctypes.memmove(buffer, fill(good), size)
            ctypes.memmove(buffer, fill(bad), size)
    threads = [threading.Thread(target=flip) for _ in range(2)]
    for t in threads: t.start()
    reached = False
    own.setblocking(False)
    for _ in range(400):
        s = socket.socket(socket.AF_UNIX)
        if libc.connect(s.fileno(), buffer, size) == 0:
            s.settimeout(0.02)
            try: reached = reached or s.recv(5) == b"hello"
            except OSError: pass
        s.close()
        try:
            while True: own.accept()[0].close()
        except OSError: pass
    stop = True
    for t in threads: t.join()
    return reached
attack("race")(racing)
def racing_descriptor():
    # Another socket takes the place of the one that was looked at.
    own = socket.create_server(("127.0.0.1", 0)); own.setblocking(False)
    address = struct.pack("H", 1) + (outside + "/docker.sock").encode().ljust(108, b"\\0")
    inet = struct.pack("<HH4s8x", 2, socket.htons(own.getsockname()[1]), bytes([127, 0, 0, 1]))
    stop = False
    a, b = socket.socket(), socket.socket(socket.AF_UNIX)
    target = os.dup(a.fileno())
    def flip():
        while not stop:
            os.dup2(a.fileno(), target); os.dup2(b.fileno(), target)
    buffer = ctypes.create_string_buffer(110)
    def rewrite():
        while not stop:
            ctypes.memmove(buffer, inet, len(inet)); ctypes.memmove(buffer, address, 110)
    threads = [threading.Thread(target=flip), threading.Thread(target=rewrite)]
    for t in threads: t.start()
    for _ in range(400):
        libc.connect(target, buffer, 110)
    stop = True
    for t in threads: t.join()
    b.settimeout(0.2)
    try: return b.recv(5) == b"hello"
    except OSError: return False
attack("race-descriptor")(racing_descriptor)
print("failed", "all", flush=True)
""",
            None,
            site.outside,
            name,
            str(heard["port"].port),
            str(heard["udp"].port),
        )
        equal({what: who.visits for what, who in heard.items() if who.visits}, {}, text[-900:])


@sandbox_test
def an_open_network_opens_no_local_sockets(site):
    name = "execward-test-%d" % os.getpid()
    with listening(abstract=name) as abstract, listening(site.beyond("s")) as file:
        nothing_works(
            site,
            """
def connect(address, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(60)
    s.connect(address)
    return s.recv(5)
attack("abstract")(lambda: connect("\\0" + sys.argv[1]))
attack("file")(lambda: connect(sys.argv[2] + "/s"))
attack("file-by-root")(lambda: connect("/proc/self/root" + sys.argv[2] + "/s"))
""",
            mode(networkAccess=True),
            name,
            site.outside,
        )
        equal((abstract.visits, file.visits), (0, 0), "visits")


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True)
def sockets_in_a_shared_tmp_are_the_machines(site):
    place = tempfile.mkdtemp(prefix="execward-test-", dir="/tmp")
    try:
        with listening(place + "/tmux") as machine:
            sandbox = permissions(
                [READS_ALL, WRITES_WORKSPACE, special("slash_tmp", "write")],
                roots=[site.workspace],
            )
            text = nothing_works(
                site,
                """
place = sys.argv[1]
def connect(path):
    s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(path); return s.recv(5)
attack("connect")(lambda: connect(place + "/tmux"))
def link():
    os.link(place + "/tmux", place + "/other"); return connect(place + "/other")
attack("hard-link")(link)
def rename():
    os.rename(place + "/tmux", place + "/moved")
    try: return connect(place + "/moved")
    finally: os.rename(place + "/moved", place + "/tmux")
attack("rename")(rename)
def into():
    os.link(place + "/tmux", "here.sock"); return connect("here.sock")
attack("link-into-the-workspace")(into)
def symlink():
    os.symlink(place + "/tmux", "sym.sock"); return connect("sym.sock")
attack("symlink")(symlink)
own = socket.socket(socket.AF_UNIX); own.bind(place + "/own"); own.listen()
def serve():
    c, _ = own.accept(); c.send(b"own"); c.close()
threading.Thread(target=serve, daemon=True).start()
print("own", connect(place + "/own"), flush=True)
""",
                sandbox,
                place,
            )
            equal(machine.visits, 0, "visits")
            check("own b'own'" in text, "its own socket there does not work: " + text[-500:])
    finally:
        shutil.rmtree(place, ignore_errors=True)


@sandbox_test
def descriptors_that_are_handed_over_stay_inside(site):
    """Processes outside could pass in any descriptor. Descriptors that are passed around inside
    open nothing.
    """
    nothing_works(
        site,
        """
import array
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
def passed():
    fd = os.open(sys.argv[1], os.O_RDONLY)
    socket.send_fds(a, [b"x"], [fd])
    _, fds, _, _ = socket.recv_fds(b, 1, 1)
    put("/proc/self/fd/%d" % fds[0])
attack("reopen-passed")(passed)
def path_only():
    fd = os.open(sys.argv[1], os.O_PATH)
    socket.send_fds(a, [b"x"], [fd])
    _, fds, _, _ = socket.recv_fds(b, 1, 1)
    put("/proc/self/fd/%d" % fds[0])
attack("reopen-path")(path_only)
def credentials():
    b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, 2, struct.pack("iii", 0x7fffffff, 0, 0))])
attack("credentials")(credentials)
""",
        None,
        site.file(site.beyond("victim"), "old\n"),
    )
    with open(site.beyond("victim")) as file:
        equal(file.read(), "old\n", "the file outside")


# Processes


@sandbox_test
def processes_of_the_machine_are_out_of_reach(site):
    with bystander() as other:
        nothing_works(
            site,
            """
victim = int(sys.argv[1])
own = set(map(int, filter(str.isdigit, os.listdir("/proc"))))
if victim in own: own.discard(victim)
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    for pid in (victim, -victim):
        attack("kill-%d-%d" % (pid, number))(lambda: os.kill(pid, number))
attack("pidfd")(lambda: call(434, 434, victim, 0))
attack("proc")(lambda: get("/proc/%d/environ" % victim))
attack("prlimit")(lambda: __import__("resource").prlimit(victim, 0, (1, 1)))
attack("scheduler")(lambda: os.sched_setaffinity(victim, {0}))
attack("priority")(lambda: os.setpriority(os.PRIO_PROCESS, victim, 19))
def flood():
    for pid in range(2, 70000):
        if pid not in own and pid != os.getpid():
            try: os.kill(pid, signal.SIGKILL); return pid
            except OSError: pass
    return False
attack("all-numbers")(flood)
print("failed", "all")
""",
            None,
            str(other.pid),
        )
    check(is_alive(os.getpid()), "that was us")


@sandbox_test
def programs_in_memory_are_as_confined_as_others(site):
    nothing_works(
        site,
        """
def in_memory():
    fd = os.memfd_create("x")
    os.write(fd, open("/bin/sh", "rb").read())
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        os.execve(fd, ["sh", "-c", "echo evil > %s/evil" % sys.argv[1]], {})
    if os.waitpid(pid, 0)[1]: raise OSError(errno.EPERM, "refused")
attack("memfd")(in_memory)
def other_loader():
    works("/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo evil > %s/evil'" % sys.argv[1])
attack("loader")(other_loader)
def set_user_id():
    import shutil
    shutil.copy("/bin/sh", "sh"); os.chmod("sh", 0o6755)
    works("./sh -p -c 'echo evil > %s/evil'" % sys.argv[1])
attack("set-user-id")(set_user_id)
def from_a_thread():
    done = []
    t = threading.Thread(target=lambda: done.append(works("echo evil > %s/evil" % sys.argv[1])))
    threading.excepthook = lambda *_: None
    t.start(); t.join()
    return False if not done else None
attack("thread")(from_a_thread)
def traced():
    # A tracer that changes the system calls of its child: the filter holds for these too.
    works("gdb -batch -nx -ex 'break main' -ex run -ex 'call (int)unshare(0x10000000)' /bin/true 2>&1 | grep -q '= 0'")
if not sh("command -v gdb").returncode: attack("traced")(traced)
""",
        None,
        site.outside,
    )
    equal(os.listdir(site.outside), [], "files outside")


# Files


@sandbox_test
def names_of_files_outside_lead_nowhere(site):
    victim = site.file(site.beyond("victim"), "old\n", 0o666)
    os.chmod(site.outside, 0o777)
    before = os.stat(victim)
    nothing_works(
        site,
        """
victim, outside = sys.argv[1], os.path.dirname(sys.argv[1])
attack("hard-link")(lambda: (os.link(victim, "hard"), put("hard")))
def by_descriptor():
    fd = os.open(victim, os.O_RDONLY)
    libc.linkat(fd, b"", -100, b"hard2", 0x1000) == 0 or put("none")
    put("hard2")
attack("link-descriptor")(by_descriptor)
def by_proc():
    fd = os.open(victim, os.O_RDONLY)
    if libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"hard3", 0x400): raise OSError(ctypes.get_errno(), "linkat")
    put("hard3")
attack("link-proc")(by_proc)
attack("rename-in")(lambda: os.rename(victim, "mine"))
attack("exchange")(lambda: (open("x", "w").close(), call(316, 276, -100, b"x", -100, victim.encode(), 2)))
attack("rename-out")(lambda: (open("y", "w").close(), os.rename("y", outside + "/y")))
attack("symlink-out")(lambda: os.symlink("x", outside + "/l"))
attack("write-link")(lambda: (os.symlink(victim, "s"), put("s")))
attack("truncate-link")(lambda: os.truncate("s", 0))
attack("chmod-link")(lambda: os.chmod("s", 0o600))
attack("utime")(lambda: os.utime(victim, (1, 1)))
attack("chmod-fd")(lambda: os.fchmod(os.open(victim, os.O_RDONLY), 0o600))
attack("xattr")(lambda: os.setxattr(victim, "user.x", b"x"))
attack("chown")(lambda: os.chown(victim, 0, 0))
attack("flags")(lambda: __import__("fcntl").ioctl(os.open(victim, os.O_RDONLY), 0x40086602, struct.pack("q", 0x10)))
def shared_map():
    fd = os.open(victim, os.O_RDWR)
    mmap.mmap(fd, 4)[:4] = b"evil"
attack("map")(shared_map)
attack("copy-range")(lambda: os.copy_file_range(os.open("x", os.O_RDONLY | os.O_CREAT), os.open(victim, os.O_WRONLY), 1))
attack("fallocate")(lambda: os.posix_fallocate(os.open(victim, os.O_WRONLY), 0, 9))
attack("openat2")(lambda: call(437, 437, -100, victim.encode(), struct.pack("QQQ", os.O_WRONLY, 0, 0), 24))
attack("tmpfile")(lambda: os.open(outside, os.O_TMPFILE | os.O_WRONLY))
attack("mkdir")(lambda: os.mkdir(outside + "/d"))
attack("bind-socket")(lambda: socket.socket(socket.AF_UNIX).bind(outside + "/s"))
attack("mount-over")(lambda: os.rename("..", "x"))
attack("workspace-away")(lambda: os.rename(os.getcwd(), os.getcwd() + "2"))
attack("lease")(lambda: __import__("fcntl").fcntl(os.open(victim, os.O_RDONLY), 1024, 1) and False)
attack("restore-times")(lambda: call(280, 88, -100, victim.encode(), struct.pack("qqqq", 1, 1, 1, 1), 0))
""",
        None,
        victim,
    )
    with open(victim) as file:
        equal(file.read(), "old\n", "the file outside")
    after = os.stat(victim)
    for field in ("st_mode", "st_uid", "st_ino", "st_nlink", "st_mtime_ns", "st_ctime_ns"):
        equal(getattr(after, field), getattr(before, field), field)
    equal(os.listdir(site.outside), ["victim"], "files outside")


@sandbox_test
def links_that_an_earlier_run_planted_do_not_widen_the_next(site):
    """A run may leave anything in its workspace; the next run protects and denies paths there."""
    victim = site.file(site.beyond("place", "victim"), "old\n")
    sandbox = permissions(
        [READS_ALL, WRITES_WORKSPACE, at(site.inside("sub/deny"), "deny")], roots=[site.workspace]
    )
    plants = {
        "workspace": "ln -s %s way" % site.beyond("place"),
        "denied": "mv sub/deny sub/real; ln -s real sub/deny",
        "above": "mv sub real; ln -s real sub",
        "git": "mkdir own; cd own; ln -s %s .git" % site.beyond("place"),
    }
    for name, plant in plants.items():
        site.works("rm -rf * && mkdir -p sub/deny && echo hush > sub/deny/f")
        site.works(plant)
        for link in (".git", ".agents"):  # a sandbox prevents a program from creating these
            os.symlink(site.beyond("place"), site.inside(link))
        params = site.server.start_params(
            "p-" + name,
            [
                "sh",
                "-c",
                "for d in way sub own/.git .git .agents; do echo evil > $d/victim; "
                "echo evil > $d/new; rm -f $d/victim; done; cat sub/deny/f real/f real/deny/f; true",
            ],
            sandbox=sandbox,
            cwd=file_uri(site.workspace),
        )
        if "result" in site.server.reply(site.server.request("process/start", params)):
            check("hush" not in site.ended("p-" + name).text, "it read what is denied: " + name)
        with open(victim) as file:
            equal(file.read(), "old\n", "the file outside, with " + name)
        equal(os.listdir(site.beyond("place")), ["victim"], "files outside, with " + name)
        for link in (".git", ".agents"):
            os.unlink(site.inside(link))


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True)
def a_grant_through_a_link_that_programs_can_make_opens_nothing(site):
    os.mkdir(site.beyond("place"))
    site.works("ln -s %s sub" % site.beyond("place"))
    sub = site.inside("sub")
    for name, sandbox in {
        "path": permissions(
            [READS_ALL, WRITES_WORKSPACE, at(sub, "write")], roots=[site.workspace]
        ),
        "subpath": permissions(
            [READS_ALL, WRITES_WORKSPACE, special("project_roots", "write", "sub")],
            roots=[site.workspace],
        ),
        "below": permissions(
            [READS_ALL, WRITES_WORKSPACE, at(sub + "/more", "write")], roots=[site.workspace]
        ),
        "tmpdir": permissions(
            [READS_ALL, WRITES_WORKSPACE, special("tmpdir", "write")], roots=[site.workspace]
        ),
        "writableRoots": mode(writableRoots=[sub]),
        "sharedTmp": mode(sharedTmp=True),
    }.items():
        params = site.server.start_params(
            name,
            ["sh", "-c", "echo evil > sub/%s; mkdir -p sub/more/%s; true" % (name, name)],
            env={"TMPDIR": sub},
            sandbox=sandbox,
            cwd=file_uri(site.workspace),
        )
        if "result" in site.server.reply(site.server.request("process/start", params)):
            site.ended(name)
        equal(os.listdir(site.beyond("place")), [], "files outside, with " + name)


@sandbox_test
def a_workspace_that_is_a_link_is_where_it_leads(site):
    os.mkdir(site.beyond("real"))
    os.symlink(site.beyond("real"), site.beyond("link"))
    site.repository(site.beyond("real"))
    link = site.beyond("link")
    for sandbox in (
        mode(policyCwd=link),
        permissions([READS_ALL, WRITES_WORKSPACE], roots=[link]),
    ):
        text = site.works(
            "echo x > inside; (echo x > ../outside) 2>/dev/null || echo kept; "
            "(echo evil > .git/hooks/evil) 2>/dev/null || echo kept; "
            "(echo evil > %s/.git/hooks/evil) 2>/dev/null || echo kept; "
            "mv .git .g 2>/dev/null || echo kept; (mkdir .codex/x) 2>/dev/null || echo kept"
            % site.beyond("real"),
            sandbox,
            cwd=file_uri(link),
        )
        equal(text, "kept\n" * 5, "what was kept")
        check(not os.path.exists(site.beyond("outside")), "it wrote beside the root")
        check(os.path.exists(site.beyond("real", "inside")), "it could not write")
        equal(site.litter(site.beyond("real")), [".git"], "litter")


@sandbox_test(needs=["git"])
def git_cannot_be_led_elsewhere(site):
    repository = site.repository("r")
    site.git(repository, "worktree", "add", "-q", site.inside("r", "tree"))
    site.file("r/.git/config-included", "[core]\n")
    site.git(repository, "config", "include.path", "config-included")
    site.git(repository, "config", "extensions.worktreeConfig", "true")
    nothing_works(
        site,
        """
git = ".git"
def write(path, data=b"/tmp\\n"): put(path, data, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
attack("commondir")(lambda: write(git + "/commondir"))
attack("commondir-rename")(lambda: (write("c"), os.rename("c", git + "/commondir")))
attack("commondir-link")(lambda: os.symlink("/tmp/c", git + "/commondir"))
for name in ("commondir", "gitdir", "config.worktree"):
    attack("worktree-" + name)(lambda: write(git + "/worktrees/tree/" + name))
    attack("worktree-remove-" + name)(lambda: os.unlink(git + "/worktrees/tree/" + name))
attack("worktree-moved")(lambda: os.rename(git + "/worktrees/tree", git + "/worktrees/t2"))
attack("worktrees-moved")(lambda: os.rename(git + "/worktrees", git + "/w2"))
attack("git-moved")(lambda: os.rename(git, "g2"))
attack("git-removed")(lambda: works("rm -rf .git/hooks .git/config && ! test -e .git/config"))
attack("git-file")(lambda: write("tree/.git", b"gitdir: /tmp/evil\\n"))
attack("git-file-moved")(lambda: os.rename("tree/.git", "tree/g"))
attack("config")(lambda: write(git + "/config", b"[core]\\n\\tfsmonitor = ./evil\\n"))
attack("config-lock")(lambda: (write(git + "/config.lock", b"[x]"), os.rename(git + "/config.lock", git + "/config")))
attack("git-config")(lambda: works("git config core.hooksPath /tmp"))
attack("git-config-alias")(lambda: works("git config alias.status '!evil'"))
attack("hook")(lambda: write(git + "/hooks/post-checkout"))
attack("hooks-moved")(lambda: os.rename(git + "/hooks", git + "/h2"))
attack("hooks-link")(lambda: os.symlink("/tmp", git + "/hooks/x"))
attack("info")(lambda: write(git + "/info/attributes", b"* filter=evil\\n"))
attack("config-worktree")(lambda: write(git + "/config.worktree"))
""",
        mode(policyCwd=repository),
        place=repository,
        env=site.git_environment(),
    )
    with open(repository + "/.git/config") as file:
        check("evil" not in file.read(), "its configuration was changed")


# execward's own files


# A sandbox that may write everywhere protects the repositories of all tests.
@sandbox_test(alone=True)
def what_execward_keeps_is_neither_seen_nor_changed(site):
    """These are its settings, rules and approvals, though they are in a writable directory."""
    home = site.workspace
    env = {
        "HOME": home,
        "XDG_STATE_HOME": home + "/.local/state",
        "XDG_CONFIG_HOME": home + "/.config",
    }
    site.file(".config/execward/config.toml", "# hush\n")
    site.file(".config/execward/rules.d/mine.toml", "# hush\n")
    site.new_server(env=env)
    site.run("true")
    kept = home + "/.local/state/execward"
    check(os.path.isdir(kept), "no state directory; the test looks in the wrong place")
    for sandbox in (
        mode(),
        permissions([READS_ALL, WRITES_WORKSPACE], roots=[home]),
        permissions([special("root", "write")], roots=[home]),
    ):
        text = nothing_works(
            site,
            """
for place in (".config/execward", ".local/state/execward"):
    attack("list-" + place)(lambda: os.listdir(place) or False)
    attack("make-" + place)(lambda: put(place + "/new", b"x", os.O_WRONLY | os.O_CREAT))
    attack("move-" + place)(lambda: os.rename(place, "moved"))
    attack("remove-" + place)(lambda: os.rmdir(place))
    attack("move-above-" + place)(lambda: os.rename(os.path.dirname(place), "moved"))
    attack("replace-" + place)(lambda: (os.mkdir("other"), call(316, 276, -100, b"other", -100, place.encode(), 2)))
for path in (".config/execward/config.toml", ".config/execward/rules.d/mine.toml", ".config/execward/rules.d/approved.toml", ".local/state/execward/execward.db"):
    attack("read-" + path)(lambda: get(path))
    attack("write-" + path)(lambda: put(path, b"x", os.O_WRONLY | os.O_CREAT))
    attack("root-" + path)(lambda: get("/proc/1/root/%s/%s" % (os.getcwd(), path)))
""",
            sandbox,
            # A directory above a hidden path may be renamed only if the path stays a mount.
        )
        check("hush" not in text, text)
        site.works("rm -rf other")
    equal(open(site.inside(".config/execward/config.toml")).read(), "# hush\n", "config.toml")
    check(os.path.isdir(kept) and not os.path.exists(kept + "/new"), "the state was changed")


@sandbox_test
def the_machines_tmp_is_not_seen(site):
    place = tempfile.mkdtemp(prefix="execward-test-", dir="/tmp")
    try:
        with open(place + "/secret", "w") as file:
            file.write("hush\n")
        with listening(place + "/s") as machine:
            text = nothing_works(
                site,
                """
place = sys.argv[1]
attack("list")(lambda: os.listdir(place))
attack("read")(lambda: get(place + "/secret"))
attack("read-by-root")(lambda: get("/proc/1/root" + place + "/secret"))
attack("read-by-up")(lambda: get(os.getcwd() + "/../.." + place + "/secret"))
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(place + "/s")
attack("connect")(connect)
names = [n for n in os.listdir("/tmp") if not os.getcwd().startswith("/tmp/" + n)]
attack("others")(lambda: names or False)
""",
                None,
                place,
            )
            check("hush" not in text, text)
            equal(machine.visits, 0, "visits")
    finally:
        shutil.rmtree(place, ignore_errors=True)


@sandbox_test(alone=True)  # other tests may use /run/user while it appears and disappears
def directories_of_the_user_at_run_time_are_hidden(site):
    directory = "/run/user/%d" % os.getuid()
    made = []
    try:
        for path in ("/run/user", directory):
            if not os.path.isdir(path):
                os.mkdir(path)
                made.insert(0, path)
    except OSError:
        print("cannot make %s: skipped" % directory)
        return
    path = directory + "/execward-test-%d" % os.getpid()
    try:
        with listening(path) as machine:
            ended = site.run([PYTHON, "-c", connect_to_file(path)])
            check(ended.code != 0, ended.text)
            equal(site.works("ls %s | grep -c execward-test || true" % directory), "0\n", "names")
            equal(machine.visits, 0, "visits")
    finally:
        os.unlink(path)
        for path in made:
            os.rmdir(path)


# The server


@sandbox_test
def the_server_is_out_of_reach(site):
    server = site.server
    pids = [str(pid) for pid in server.own_pids()]
    nothing_works(
        site,
        """
for pid in map(int, sys.argv[1:]):
    attack("kill-%d" % pid)(lambda: os.kill(pid, 9))
    attack("proc-%d" % pid)(lambda: os.listdir("/proc/%d" % pid) and None)
    attack("mem-%d" % pid)(lambda: os.open("/proc/%d/mem" % pid, os.O_RDWR))
attack("parent")(lambda: os.kill(os.getppid(), 9) if os.getppid() != 1 else False)
print("failed all")
""",
        None,
        *pids,
    )
    server.answers()


@sandbox_test
def floods_do_not_stop_the_server(site):
    server = site.server
    name = site.python(
        TOOLS
        + """
def flood():
    while True:
        s = socket.socket()
        try: s.connect(("192.0.2.1", 9))
        except OSError: pass
        s.close()
for _ in range(3):
    if os.fork() == 0: flood()
for _ in range(4): threading.Thread(target=flood, daemon=True).start()
print("up", flush=True)
flood()
"""
    )
    server.wait_output(name, b"up")
    for _ in range(10):
        server.answers()
    site.works("true")
    server.terminate(name)
    ended = site.ended(name)
    equal(len(ended.exited["denials"]), 1, "denials")
    check(ended.exited["denialCount"] > 1, "denialCount")


@sandbox_test
def connects_that_hang_or_die_do_not_stop_the_server(site):
    server = site.server
    name = site.python(
        TOOLS
        + """
# A queue that is full: each connect waits in the kernel.
full = socket.socket(socket.AF_UNIX); full.bind("full"); full.listen(0)
def hang():
    s = socket.socket(socket.AF_UNIX)
    try: s.connect("full")
    except OSError: pass
    time.sleep(600)
for _ in range(40): threading.Thread(target=hang, daemon=True).start()
# Callers that are killed while their call waits for an answer.
def die():
    while True:
        pids = []
        for n in range(8):
            pid = os.fork()
            if pid == 0:
                while True:
                    s = socket.socket(socket.AF_UNIX if n % 2 else socket.AF_INET)
                    try: s.connect("full" if n % 2 else ("192.0.2.1", n))
                    except OSError: pass
            pids.append(pid)
        time.sleep(0.01)
        for pid in pids: os.kill(pid, signal.SIGKILL)
        for pid in pids: os.waitpid(pid, 0)
print("up", flush=True)
die()
"""
    )
    server.wait_output(name, b"up")
    end = time.monotonic() + within(20)
    for number in range(20):
        server.answers()
        site.works("true", mode(READ_ONLY))
        if number >= 5 and time.monotonic() > end:  # a busy machine makes fewer attempts
            break
    server.terminate(name)
    equal(site.ended(name).signal, "SIGKILL", "signal")
    eventually(lambda: not server.programs(), "the end of all programs")
    server.answers()


if __name__ == "__main__":
    main()
