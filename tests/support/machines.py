"""Machines without some part that a sandbox needs: each is this machine, restricted for the
processes that are started with it.

A restriction is a function without arguments for `preexec_fn`: it runs in the child, before exec. Its
mounts are in a mount namespace of the child; its filters hold for all descendants.
"""

import ctypes
import errno
import os
import platform
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
BPF_LOAD, BPF_EQUAL, BPF_ANY_BIT, BPF_RETURN = 0x20, 0x15, 0x45, 0x06
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data; of the argument, the low half

IS_X86 = platform.machine() == "x86_64"
CLONE, UNSHARE = (56, 272) if IS_X86 else (220, 97)
CLONE3, LANDLOCK, MOUNT_SETATTR = 435, (444, 445, 446), 442
ADD_WATCH = 254 if IS_X86 else 27
BUBBLEWRAP_PLACES = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap")


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def install_filter(rules):
    """`rules`: (number of a system call, bits of its first argument or None for any, errno)."""
    program = []
    for number, bits, error in rules:
        refuse = (BPF_RETURN, 0, 0, RET_ERRNO | error)
        if bits is None:
            program += [(BPF_LOAD, 0, 0, NUMBER), (BPF_EQUAL, 0, 1, number), refuse]
        else:
            program += [
                (BPF_LOAD, 0, 0, NUMBER),
                (BPF_EQUAL, 0, 3, number),
                (BPF_LOAD, 0, 0, FIRST_ARGUMENT),
                (BPF_ANY_BIT, 0, 1, bits),
                refuse,
            ]
    program.append((BPF_RETURN, 0, 0, RET_ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    header = struct.pack("HP", len(program), ctypes.addressof(code))
    must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    must(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def own_mounts():
    must(LIBC.unshare(CLONE_NEWNS), "unshare")
    must(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")


def cover(place, by):
    must(LIBC.mount(by.encode(), place.encode(), None, MS_BIND, None), "cover " + place)


def without_namespaces(kind):
    install_filter(
        [
            (UNSHARE, kind, errno.EPERM),
            (CLONE, kind, errno.EPERM),
            (CLONE3, None, errno.ENOSYS),
        ]
    )


def without_user_namespaces():
    without_namespaces(CLONE_NEWUSER)


def without_network_namespaces():
    without_namespaces(CLONE_NEWNET)


def without_landlock():
    install_filter([(number, None, errno.ENOSYS) for number in LANDLOCK])


def without_new_mounts():
    """As before Linux 5.12: bubblewrap makes the mounts of each start."""
    install_filter([(MOUNT_SETATTR, None, errno.ENOSYS)])


def without_watches():
    """As when other programs of the user have all of them (inotify(7), max_user_watches)."""
    install_filter([(ADD_WATCH, None, errno.ENOSPC)])


def without_both():
    without_landlock()
    without_user_namespaces()


def with_masked_proc():
    """Covers a part of /proc, as in a container, so that no new /proc may be mounted."""
    own_mounts()
    cover("/proc/version", "/dev/null")


def without_bubblewrap(empty):
    """`empty`: an empty file, which cannot be executed."""

    def lack():
        own_mounts()
        for place in BUBBLEWRAP_PLACES:
            if os.path.exists(place):
                cover(os.path.realpath(place), empty)

    return lack


def with_other_file(place, other):
    """Puts another file in the place of execward-init."""

    def lack():
        own_mounts()
        cover(place, other)

    return lack
