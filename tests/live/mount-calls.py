# SPDX-License-Identifier: LGPL-2.1-or-later
"""mount-calls - the calls about mounts and namespaces, new and old: one line "NAME ok" or "NAME ERRNO".

Each is made in a process of its own, with arguments that the kernel refuses to nobody who has the
rights in its namespaces: what is answered EPERM or ENOSYS is refused for what it is.
"""
import ctypes
import errno
import os

AT_FDCWD = -100
NEWNS = 0x20000
NEWUSER = 0x10000000
NR = {
    "x86_64": {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308},
    "aarch64": {"mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268},
}[os.uname().machine]
OWN = os.open("/proc/self/ns/mnt", os.O_RDONLY)
CALLS = {
    "open_tree": (428, AT_FDCWD, b"/tmp", 1),
    "move_mount": (429, AT_FDCWD, b"/tmp", AT_FDCWD, b"/tmp", 0),
    "fsopen": (430, b"tmpfs", 0),
    "fsconfig": (431, -1, 0, 0, 0, 0),
    "fsmount": (432, -1, 0, 0),
    "fspick": (433, AT_FDCWD, b"/tmp", 0),
    "clone3": (435, 0, 0),
    "mount_setattr": (442, AT_FDCWD, b"/tmp", 0, b"\1" + b"\0" * 31, 32),
    "mount": (NR["mount"], b"none", b"/tmp", b"tmpfs", 0, 0),
    "umount2": (NR["umount2"], b"/tmp", 2),
    "pivot_root": (NR["pivot_root"], b"/tmp", b"/tmp"),
    "chroot": (NR["chroot"], b"/tmp"),
    "unshare": (NR["unshare"], NEWNS),
    "unshare-user": (NR["unshare"], NEWUSER),
    "setns": (NR["setns"], OWN, NEWNS),
}
libc = ctypes.CDLL(None, use_errno=True)
for name, call in CALLS.items():
    pid = os.fork()
    if pid == 0:
        r = libc.syscall(*call)
        answer = "ok" if r >= 0 else errno.errorcode[ctypes.get_errno()]
        os.write(1, f"{name} {answer}\n".encode())
        os._exit(0)
    os.waitpid(pid, 0)
