# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program on a terminal of its own, typed at and read by a test.

Nothing here depends on how fast anything is: what is waited for is text, a state that must come,
or the end, each with a ceiling that only a program that hangs reaches."""
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time

CEILING_S = float(os.environ.get("CEILING", 60))


class Hang(Exception):
    pass


class Terminal:
    """The far side of a pty. The near side stays open here, so that its modes can be looked at."""

    def __init__(self, argv, cwd=None, env=None, rows=40, cols=132, control=True, keep_near=True,
                 redirect=None, setup=None):
        self.master, self.near = os.openpty()
        self.size(rows, cols)
        modes = termios.tcgetattr(self.near)
        modes[6][termios.VERASE] = b"\x08"  # not the default, to see that it is handed on
        termios.tcsetattr(self.near, termios.TCSANOW, modes)
        self.modes = termios.tcgetattr(self.near)
        self.seen, self.at, self.status = b"", 0, None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                if control:
                    fcntl.ioctl(self.near, termios.TIOCSCTTY, 0)
                for fd in range(3):
                    os.dup2(self.near, fd)
                for fd, path in (redirect or {}).items():
                    f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
                    os.dup2(f, fd)
                os.closerange(3, 256)
                for sig in range(1, 32):
                    if sig not in (signal.SIGKILL, signal.SIGSTOP):
                        signal.signal(sig, signal.SIG_DFL)
                if cwd:
                    os.chdir(cwd)
                if setup:
                    setup()
                os.execvpe(argv[0], argv, env or os.environ)
            except BaseException as e:  # nothing of the test may run on in the child
                os.write(2, str(e).encode())
            finally:
                os._exit(99)
        if not keep_near:
            os.close(self.near)
            self.near = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self.master, self.near):
            if fd >= 0:
                os.close(fd)

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def is_raw(self):
        return not termios.tcgetattr(self.near)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def is_as_it_was(self):
        return termios.tcgetattr(self.near) == self.modes

    def foreground(self):
        return os.tcgetpgrp(self.master)

    def send(self, text):
        data = text.encode() if isinstance(text, str) else text
        while data:
            self.take(0)
            _, ready, _ = select.select([], [self.master], [], 0.05)
            if ready:
                data = data[os.write(self.master, data[:1024]):]

    def take(self, wait):
        ready, _, _ = select.select([self.master], [], [], wait)
        if not ready:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:  # nobody has the near side open
            got = b""
        self.seen += got
        return bool(got)

    def until(self, what, true):
        """Wait for a state that must come."""
        end = time.monotonic() + CEILING_S
        while not true():
            if time.monotonic() > end:
                raise Hang(f"{what}; seen: {self.seen[-2000:]!r}")
            self.take(0.02)

    def expect(self, pattern):
        """Wait for text after what was waited for last; return its match."""
        found = []

        def there():
            m = re.search(pattern.encode() if isinstance(pattern, str) else pattern,
                          self.seen[self.at:])
            if m:
                found.append(m)
                self.at += m.end()
            return bool(m)
        self.until(f"no {pattern!r}", there)
        return found[0]

    def poll(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def end(self):
        """Wait for the end; what was written before it is read."""
        self.until("no end", lambda: self.poll() is not None)
        while self.take(0.01):
            pass
        return self.status


class Tap:
    def __init__(self):
        self.failed = 0

    def ok(self, good, what, *details):
        print(f"{'ok' if good else 'not ok'} - {what}", flush=True)
        if not good:
            self.failed += 1
            for d in details:
                print("\n".join(f"#   {line}" for line in str(d).splitlines()[:20]), flush=True)

    def equal(self, got, want, what, *details):
        self.ok(got == want, what, f"got  {got!r}", f"want {want!r}", *details)

    def run(self, name, case):
        try:
            case()
        except (Hang, OSError, termios.error) as e:
            self.ok(False, f"{name}: {type(e).__name__}", e)
        sys.stdout.flush()
