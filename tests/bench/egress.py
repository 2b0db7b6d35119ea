#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""egress - what connections cost through the relay, against the same ones over lo.

    egress.py --agentbox BINARY [--rounds N] [--mib N] [--control]

In network namespaces of its own, without any right. A client outside, one in a sandbox, and one each
behind pasta and slirp4netns, where they are installed, take turns at each piece of work, with one
server; medians and their ratios are printed."""
import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ADDRESS = "10.55.0.1"  # a second one of lo: 127.0.0.1 is the sandbox's own inside
PORT = 7105
BLOCK = bytes(1 << 20)


def serve_one(c):
    with c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = b""
        while not head.endswith(b"\n"):
            more = c.recv(1)
            if not more:
                return
            head += more
        what, n = head.split()
        if what == b"down":
            for _ in range(int(n)):
                c.sendall(BLOCK)
        elif what == b"up":
            buf, left = bytearray(1 << 20), int(n) << 20
            while left > 0:
                got = c.recv_into(buf)
                if got == 0:
                    return
                left -= got
            c.sendall(b"k")
        else:
            c.sendall(b"k")


def server():
    s = socket.create_server((ADDRESS, PORT), backlog=1024)
    print("up", flush=True)
    while True:
        threading.Thread(target=serve_one, args=(s.accept()[0],), daemon=True).start()


def dial():
    s = socket.create_connection((ADDRESS, PORT), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def receive(s, n):
    buf, left = bytearray(1 << 20), n
    while left > 0:
        got = s.recv_into(buf)
        if got == 0:
            sys.exit("the server ended early")
        left -= got


def down(mib):
    with dial() as s:
        s.sendall(b"down %d\n" % mib)
        receive(s, mib << 20)


def up(mib):
    with dial() as s:
        s.sendall(b"up %d\n" % mib)
        for _ in range(mib):
            s.sendall(BLOCK)
        receive(s, 1)


def short(count):
    for _ in range(count):
        with dial() as s:
            s.sendall(b"one 1\n")
            receive(s, 1)


def many(count):
    threads = [threading.Thread(target=down, args=(1,)) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def client():
    threading.stack_size(256 * 1024)
    for line in sys.stdin:
        what, n = line.split()
        start = time.monotonic()
        globals()[what](int(n))
        print(time.monotonic() - start, flush=True)


class Client:
    def __init__(self, name, argv):
        self.name = name
        self.helper = None
        self.p = subprocess.Popen(argv + [sys.executable, "-I", os.path.abspath(__file__), "client"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, what, n):
        self.p.stdin.write(f"{what} {n}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        if self.p.wait() != 0:
            sys.exit("a client failed: " + self.name)
        if self.helper is not None:
            self.helper.kill()
            self.helper.wait()


def pasta():
    """It takes address and route of the template interface."""
    for words in ("link add outer0 type veth peer name outer1", "addr add 10.56.0.2/24 dev outer0",
                  "link set outer0 up", "link set outer1 up",
                  "route add default via 10.56.0.1 dev outer0"):
        subprocess.run(["ip"] + words.split(), check=True)
    return Client("pasta", ["pasta", "--config-net", "--runas", "0", "-4", "-q", "-t", "none", "-u", "none",
                            "-T", "none", "-U", "none", "--"])


def slirp4netns():
    c = Client("slirp4netns", ["unshare", "-n", "--"])
    own = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{c.p.pid}/ns/net") == own:
        time.sleep(0.01)
    ready, theirs = os.pipe()
    c.helper = subprocess.Popen(["slirp4netns", "--configure", "--mtu=65520", "-r", str(theirs),
                                 str(c.p.pid), "tap0"], pass_fds=(theirs,), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    os.close(theirs)
    if os.read(ready, 1) != b"1":
        sys.exit("slirp4netns did not start")
    os.close(ready)
    return c


def rivals():
    for program, start in (("pasta", pasta), ("slirp4netns", slirp4netns)):
        if shutil.which(program) is None:
            print(f"# {program} is not installed: not measured")
        else:
            yield start()


def measure(args, dir_):
    profile = dir_ + "/egress.yaml"
    here = os.path.dirname(os.path.abspath(__file__))
    with open(profile, "w", encoding="ascii") as f:
        f.write(f"sandbox:\n  base: {{from: host, add: [{sys.base_prefix}]}}\n"
                if not sys.base_prefix.startswith("/usr") else "sandbox:\n")
        f.write(f"  roots: [{here}]\n  limits: {{open_files: 4096}}\n"
                f"  network: {{allow: [\"{ADDRESS}:{PORT}\"]}}\npermissions: {{agents: {{me: allow}}}}\n")
    inside = [args.agentbox, "run", "-q", "-i", "--state", dir_ + "/state", "-p", profile, "--"]
    os.mkdir(dir_ + "/state", 0o700)
    outside = Client("direct", [])
    others = [Client("relay", [] if args.control else inside)] + list(rivals())
    rows = (("down", args.mib, f"{args.mib} MiB down", 0.40), ("up", args.mib, f"{args.mib} MiB up", 0),
            ("short", 200, "200 x connect, 1 byte, close", 0), ("many", 500, "500 x 1 MB at once", 0))
    print(f"{'':32} {'direct s':>9}" + "".join(f" {c.name + ' s':>13} {'ratio':>6}" for c in others))
    for what, n, name, must in rows:
        times = {c: [] for c in [outside] + others}
        for c in times:
            c.run(what, max(1, n // 8))
        for _ in range(args.rounds):
            for c, taken in times.items():
                taken.append(c.run(what, n))
        medians = {c: statistics.median(taken) for c, taken in times.items()}
        ratios = {c: medians[outside] / medians[c] for c in others}
        ratio = ratios[others[0]]
        print(f"{name:32} {medians[outside]:9.3f}" +
              "".join(f" {medians[c]:13.3f} {ratios[c]:6.2f}" for c in others) +
              (f"  must >= {must:.2f}: {'met' if ratio >= must else 'MISSED'}" if must else ""), flush=True)
    for c in [outside] + others:
        c.end()


def main():
    if sys.argv[1:2] in (["server"], ["client"]):
        return globals()[sys.argv[1]]()
    p = argparse.ArgumentParser()
    p.add_argument("--agentbox", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--control", action="store_true", help="outside against outside")
    args = p.parse_args()
    if os.environ.get("EGRESS_NET") is None:
        os.environ["EGRESS_NET"] = "1"
        os.execvp("unshare", ["unshare", "-rn", sys.executable, os.path.abspath(__file__)] + sys.argv[1:])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "addr", "add", ADDRESS + "/32", "dev", "lo"], check=True)
    s = subprocess.Popen([sys.executable, "-I", os.path.abspath(__file__), "server"], stdout=subprocess.PIPE)
    try:
        s.stdout.readline()
        with tempfile.TemporaryDirectory(dir="/var/tmp") as dir_:
            measure(args, dir_)
    finally:
        s.kill()
        s.wait()
    return None


main()
