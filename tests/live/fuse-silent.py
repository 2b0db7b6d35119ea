#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A FUSE server of one empty directory: fuse-silent.py DIR silent|deaf|answers

silent   mounts, and never reads a question
deaf     answers the first question of the kernel, reads the others and never answers them
answers  serves the directory

By the protocol itself (linux/fuse.h), so that no library is needed. Prints "ready" when it is
mounted; the mount ends with the mount namespace."""

import ctypes
import os
import struct
import sys
import time

INIT, GETATTR, STATFS, OPENDIR, READDIR, RELEASEDIR, LOOKUP = 26, 3, 17, 27, 28, 29, 1
ENOENT, ENOSYS = 2, 38
DIR_MODE = 0o40755


def attr(ino):
    return struct.pack("<QQQQQQIIIIIIIIII", ino, 0, 0, 0, 0, 0, 0, 0, 0, DIR_MODE, 2, 0, 0, 0,
                       4096, 0)


def answer(op):
    """Error and body."""
    if op == INIT:
        return 0, struct.pack("<IIIIHHI", 7, 31, 4096, 0, 12, 9, 4096).ljust(64, b"\0")
    if op == GETATTR:
        return 0, struct.pack("<QII", 0, 0, 0) + attr(1)
    if op == OPENDIR:
        return 0, struct.pack("<QII", 1, 0, 0)
    if op == STATFS:
        return 0, b"\0" * 80
    if op in (READDIR, RELEASEDIR):
        return 0, b""
    return (ENOENT if op == LOOKUP else ENOSYS), b""


def serve(dev, deaf):
    while True:
        question = os.read(dev, 1 << 17)
        _, op, unique = struct.unpack_from("<IIQ", question)
        if deaf and op != INIT:
            continue
        error, body = answer(op)
        if error:
            body = b""
        try:
            os.write(dev, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
        except OSError:
            pass  # nobody waits for it any more


def main():
    where, how = sys.argv[1:]
    dev = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={dev},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", os.fsencode(where), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("ready", flush=True)
    if how == "silent":
        time.sleep(3600)
    serve(dev, how == "deaf")


main()
