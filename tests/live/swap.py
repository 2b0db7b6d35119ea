#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""swap.py LEAST COUNTED FIRST SECOND... - exchange the names of each pair, over and over.

Ends after SIGTERM, but with at least LEAST exchanges, and writes their number to COUNTED. Every
pair is then as it was.
"""
import ctypes
import errno
import os
import signal
import sys
import time

AT_FDCWD = -100
RENAME_EXCHANGE = 2
stopped = False


def stop(*_):
    global stopped
    stopped = True


def exchange(a, b):
    if libc.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0:
        return
    # Not every file system can; then there is a moment without the name.
    if ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(ctypes.get_errno(), "exchange")
    os.rename(a, a + b".off")
    os.rename(b, a)
    os.rename(a + b".off", b)


libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGTERM, stop)
least, counted = int(sys.argv[1]), sys.argv[2]
names = [os.fsencode(n) for n in sys.argv[3:]]
pairs = list(zip(names[::2], names[1::2]))
done = 0
while not stopped or done < least:
    for _ in range(2):
        for a, b in pairs:
            exchange(a, b)
            done += 1
        time.sleep(0.0003)
with open(counted, "w") as f:
    f.write(f"{done}\n")
