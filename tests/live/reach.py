#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""reach - one act by a raw system call, in the current directory: reach.py ACT OBJECT

Prints ok, or the name of the errno. The object says whether it is one that a program may have."""

import ctypes
import errno
import os
import socket
import stat
import struct
import sys
from fcntl import ioctl

FS_IOC_SETFLAGS = 0x40086602
CALLS = {
    # x86_64, aarch64
    "ioprio_set": (251, 30),
    "process_madvise": (440, 440),
}
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    number = CALLS[name][os.uname().machine == "aarch64"]
    words = [a if not isinstance(a, int) else ctypes.c_long(a) for a in args]
    if libc.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), name)


def file():
    return os.open("reach", os.O_RDWR | os.O_CREAT, 0o644)


def node(kind):
    modes = {"char": stat.S_IFCHR, "block": stat.S_IFBLK, "fifo": stat.S_IFIFO}
    os.mknod("reach.node", modes[kind] | 0o600, 0 if kind == "fifo" else os.makedev(1, 3))
    os.unlink("reach.node")


def flags(value):
    ioctl(file(), FS_IOC_SETFLAGS, struct.pack("l", int(value, 0)))


def xattr(name):
    value = b"x"
    if name == "security.capability":
        value = struct.pack("<5I", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0)
    os.setxattr(file(), name, value)


def owner(uid):
    os.fchown(file(), int(uid), -1)


def sock(kind):
    types = {"raw": (socket.SOCK_RAW, 1), "stream": (socket.SOCK_STREAM, 0)}
    socket.socket(socket.AF_INET, *types[kind])


def port(number):
    socket.socket().bind(("127.0.0.1", int(number)))


def policy(number):
    os.sched_setscheduler(0, int(number), os.sched_param(1 if number in "12" else 0))


def ioprio(kind):
    call("ioprio_set", 1, 0, int(kind) << 13 | 4)


def advise(pid):
    vector = struct.pack("QQ", 0, 0)
    call("process_madvise", os.pidfd_open(int(pid) or os.getpid()), vector, 1, 21, 0)


def proc(path):
    name, text = path.split("=")
    os.write(os.open(f"/proc/{name}", os.O_WRONLY), text.encode())


ACTS = {f.__name__: f for f in (node, flags, xattr, owner, sock, port, policy, ioprio, advise,
                                proc)}
try:
    ACTS[sys.argv[1]](sys.argv[2])
    print("ok")
except OSError as e:
    print(errno.errorcode[e.errno])
