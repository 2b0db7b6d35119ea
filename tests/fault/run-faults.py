#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""run-faults.py WINDOW[,WINDOW...] CALLER [terminal|watched|named]: make each system call of a window fail, one a run.
run-faults.py rows: whether each row of tolerated.tsv is met by a call of some window.

Whatever fails, there are two ends: exit status 125 and the command never ran, or (for what
tolerated.tsv names, and for an interrupted call) a run whose sandbox is the same in every
particular as one without a failure. Nothing else, and nothing left: no process, no file. With `terminal` the run is on one, with -t, and
its modes have to be what they were, whatever failed. With `watched` the run has limits that the supervisor
watches, with `named` a network by name; then only the calls are made to fail that a run without it has not.

Needs AGENTBOX, PROBE, INJECT and NO_ENTRY. WINDOW: as inject.c has them.
CALLER: root or user. FAULT_ONLY=K[:ERRNO] runs one case and shows what it printed."""

import collections
import concurrent.futures
import ctypes
import fcntl
import os
import pathlib
import pty
import pwd
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
# Calls that a signal can interrupt: all of them get EINTR, the others the first and last time.
WAITS = {"read", "write", "recvmsg", "recvfrom", "sendmsg", "sendto", "poll", "ppoll", "epoll_wait",
         "epoll_pwait", "epoll_pwait2", "wait4", "waitid", "flock", "fcntl", "openat", "openat2",
         "open", "clone", "clone3", "fsync", "fdatasync", "accept4", "connect", "close", "pidfd_open"}
PROFILE = """\
version: 1
sandbox:
  roots:
    - {{path: "{ws}", mode: rw}}
    - {{path: "{bin}", mode: ro}}
  protect: {{hide: [hidden.txt]}}
  env: {{set: {{MADE: x}}}}
{more}permissions:
  agents: {{me: allow}}
"""
WATCHED = "  limits: {disk: 100000G}\n"
# Names, an address, a port of the host and one that is published: all that is built. The name with any
# port where the kernel can: its listener is made as those of other ports are, and more besides.
NAMED = "  network: {{allow: [{host}, \"192.0.2.7:8443\"], publish: [\"127.0.0.1:{port}:3000\"], host_ports: [5432]}}\n"
# What is made to fail, as meson.build has it.
MODES = {
    "": ("ahead", "child", "supervisor"),
    "terminal": ("child", "supervisor"),
    "watched": ("child", "supervisor"),
    "named": ("supervisor", "child", "resolver", "relay", "dialer"),
}
# Of the program that is executed for the network, and of what it makes.
NETWORK_WINDOWS = ("resolver", "relay", "dialer")
CLONE_NEWNET = 0x40000000
# What the calls of a window look like, whatever is made to fail: windows, a pattern, how many of them.
# 0x1c020000 is user, mount, ipc and uts, 0x40000000 the network; the pid and the cgroup namespace are the clone's.
SHAPE = (
    (("ahead", "child"), r"mount\(", 0, "mounts are made by the new calls alone"),
    (("ahead", "child"), r".*mountinfo", 0, "the mount table is no matter of the child's"),
    (("supervisor",), r"open\w*\(.*mountinfo", 1, "the supervisor reads it once, when the mounts are copied"),
    (("ahead",), r"unshare\(0x1c020000,", 1, "the namespaces are made by one call"),
    (("ahead",), r"unshare\(0x40000000,", 1, "that of the network by a second one"),
    (("ahead",), r"unshare\(|setns\(", 2, "and by no other"),
    (("ahead",), r"v?fork\(|clone3?\(", 1, "the child is the only process of who makes them"),
    (("child",), r"unshare\((?!0x40000000,)|setns\(\d+, (?!0x40000000,)", 0, "the child stays in all but the network"),
)
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def own_network():
    """Nobody else takes the ports that are published there."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return
    with socket.socket() as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def free_port():
    """Below those that the kernel gives away."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    sys.exit("no free port")


class Tolerated:
    """A row: window, system call, a pattern for its arguments, errno or *, ends, why."""

    def __init__(self, path):
        self.rows = []
        for n, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 6:
                sys.exit(f"{path}:{n}: {len(fields)} fields, want 6")
            if set(fields[4].split(",")) - {"normal", "abort", "notfound", "keyring", "identity", "never", "varies"}:
                sys.exit(f"{path}:{n}: unknown end {fields[4]}")
            self.rows.append(fields)
        self.used = set()

    def ends(self, window, text, errno):
        name, args = text.split("(", 1)
        ends = set()
        for i, (win, call, pattern, err, end, _) in enumerate(self.rows):
            if win in (window, "*") and call in (name, "*") and (err in (errno, "*") or errno == "*") and \
                    re.search("." if pattern == "*" else pattern, args):
                ends |= set(end.split(","))
                self.used.add(i)
        return ends


class Place:
    """Where one case at a time happens; made anew for each worker."""

    def __init__(self, top, number, agentbox, probe):
        self.dir = top / f"w{number}"
        self.ws, self.bin, self.state, self.tmp = (self.dir / d for d in ("ws", "bin", "state", "tmp"))
        for d in (self.dir, self.ws, self.bin, self.state, self.tmp):
            d.mkdir(mode=0o700 if d == self.state else 0o755)
        shutil.copy(probe, self.bin / "probe")
        (self.ws / ".git" / "hooks").mkdir(parents=True)
        (self.ws / ".env").write_text("secret\n")
        (self.ws / "hidden.txt").write_text("secret\n")
        self.marker = self.ws / "marker"
        self.log = self.dir / "log"
        self.profile = self.dir / "p.yaml"
        self.write_profile("")
        self.agentbox = agentbox
        self.tree = self.listing()

    def write_profile(self, more):
        self.profile.write_text(PROFILE.format(ws=self.ws, bin=self.bin, more=more))

    def listing(self):
        return sorted(str(p) for d in (self.ws, self.bin, self.tmp) for p in d.rglob("*")
                      if p != self.marker)

    def command(self, terminal):
        return [self.agentbox, "run", *(["-t"] if terminal else []), "--state", str(self.state), "-p", str(self.profile), "--",
                str(self.bin / "probe"), "fingerprint", str(self.marker)]


class Suite:
    def __init__(self, window, caller, how):
        self.window = window
        self.terminal = how == "terminal"
        self.more = {"watched": WATCHED, "named": NAMED}.get(how)
        self.named = how == "named"
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-fault.", dir="/var/tmp"))
        self.top.chmod(0o755)
        self.agentbox, self.inject = str(self.top / "agentbox"), str(self.top / "inject")
        shutil.copy(os.environ["AGENTBOX"], self.agentbox)
        shutil.copy(os.environ["INJECT"], self.inject)
        self.places = [Place(self.top, i, self.agentbox, os.environ["PROBE"]) for i in range(2)]
        self.prefix = []
        if caller == "user" and os.geteuid() == 0:
            # One with an entry in passwd, if there is any: see no-entry.c.
            uid = next((str(p.pw_uid) for p in pwd.getpwall() if p.pw_name in ("games", "daemon", "bin")), "5")
            self.prefix = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
            subprocess.run(["chown", "-R", f"{uid}:{uid}"] + [str(p.dir) for p in self.places], check=True)
        self.env = {"PATH": "/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}
        if not self.has_entry(int(self.prefix[2]) if self.prefix else os.geteuid()):
            self.env["LD_PRELOAD"] = str(self.top / "no-entry.so")
            shutil.copy(os.environ["NO_ENTRY"], self.env["LD_PRELOAD"])
        self.tolerated = Tolerated(HERE / "tolerated.tsv")
        self.lock = threading.Lock()
        self.failures, self.count, self.ends = [], 0, collections.Counter()
        self.baseline = {}

    def extend(self, place):
        """The profile gets what the run has more than a plain one."""
        place.write_profile(self.more.format(port=free_port(), host=self.host()) if self.named else self.more)

    def host(self):
        said = subprocess.run([self.agentbox, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        return '"www.example.test:*"' if re.search(r"^ok +any_port", said, re.M) else "www.example.test"

    @staticmethod
    def has_entry(uid):
        try:
            return pwd.getpwuid(uid) is not None
        except KeyError:
            return False

    def run(self, place, *args):
        env = self.env | {"HOME": str(place.tmp), "TMPDIR": str(place.tmp)}
        place.log.unlink(missing_ok=True)
        place.marker.unlink(missing_ok=True)
        argv = self.prefix + [self.inject, "--in", self.window, "--log", str(place.log), *args, "--"] + \
            place.command(self.terminal)
        if self.terminal:
            return self.run_on_terminal(argv, cwd=place.ws, env=env)
        return subprocess.run(
            argv, cwd=place.ws, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", check=False)

    @staticmethod
    def run_on_terminal(argv, **where):
        master, slave = pty.openpty()
        before = termios.tcgetattr(slave)

        def drain():
            try:
                while os.read(master, 65536):
                    pass
            except OSError:  # EIO: nobody has the other side open
                pass

        # Of its own session, with the terminal as the controlling one.
        with subprocess.Popen(["setsid", "--ctty", *argv], stdin=slave, stdout=slave,
                              stderr=subprocess.PIPE, text=True, errors="replace", **where) as p:
            reader = threading.Thread(target=drain)
            reader.start()
            said = p.stderr.read()
            code = p.wait()
        after = termios.tcgetattr(slave)
        os.close(slave)
        reader.join()
        os.close(master)
        if after != before:
            said += "\nTHE TERMINAL IS NOT AS IT WAS"
        return subprocess.CompletedProcess(argv, code, said)

    def fingerprint(self, place):
        # What the kernel numbers anew in each sandbox is no difference.
        # Nor is a link's own IPv6 address, which it gives itself in its own time.
        return re.sub(r"(?m)^fe80\w{28} .* eth0\n", "", place.marker.read_text()) if place.marker.exists() else None

    def calls(self):
        """The numbered calls of a run that works, and the fingerprint of its sandbox."""
        out = []
        for place in self.places:
            r = self.run(place, "--list")
            if r.returncode != 0:
                print(r.stdout)
                print(place.log.read_text() if place.log.exists() else "")
                sys.exit(f"not ok - a run without a failure: status {r.returncode}")
            self.baseline[place] = self.fingerprint(place)
            if not self.baseline[place]:
                sys.exit("not ok - a run without a failure leaves its marker")
            # Twice the same, or comparing means nothing. The calls are those of the second: the
            # first makes the audit log.
            self.run(place, "--list")
            out = place.log.read_text().splitlines()
            if self.fingerprint(place) != self.baseline[place]:
                sys.exit("not ok - two equal runs look different:\n" + self.difference(place))
        return out

    def difference(self, place):
        a = self.baseline[place].splitlines()
        b = (self.fingerprint(place) or "").splitlines()
        lines = [f"# - {x}" for x in a if x not in b] + [f"# + {x}" for x in b if x not in a]
        most = 100 if os.environ.get("FAULT_ONLY") else 4
        return "\n".join(lines[:most] + ["# ..."] * (len(lines) > most))

    def same_but(self, place, start):
        a, b = ([l for l in t.splitlines() if not l.startswith(start)]
                for t in (self.baseline[place], self.fingerprint(place)))
        return a == b

    def same_but_identity(self, place):
        """Root's second best (DESIGN 6.3): it is told, and more of /etc is masked, not less. The
        kernel holds uid 0 to no number of processes."""
        def plain(text):
            text = re.sub(r",idmapped|,uid=\d+,gid=\d+|size=\d+k,nr_inodes=\d+", "", text)
            text = re.sub(r"(1000) +\d+( +1)", r"\1 N\2", text)
            return {l for l in text.splitlines()
                    if not re.match(r"mount /proc/own/mask(dir)? /etc/|allow$|deny$|Max processes ", l)}
        return plain(self.baseline[place]) == plain(self.fingerprint(place))

    def judge(self, place, errno, r):
        """Return the end as a word, and what is wrong with it or None."""
        log = place.log.read_text().splitlines() if place.log.exists() else []
        injected = [l for l in log if l.endswith(" injected")]
        ran = place.marker.exists()
        if "THE TERMINAL IS NOT AS IT WAS" in r.stdout:
            return "terminal", "its modes were left behind"
        if place.listing() != place.tree:
            return "files", "files changed: " + str(set(place.listing()) ^ set(place.tree))
        if any(p.name.startswith(".") or not re.match(r"audit\b|lost\b", p.name) for p in place.state.rglob("*")):
            return "files", "in the state directory: " + str(list(place.state.rglob("*")))
        if r.returncode in (96, 97, 98):
            return "left", {96: "the tracer failed", 97: "it hung", 98: "processes were left"}[r.returncode]
        if not injected:
            ok = r.returncode == 0 and self.fingerprint(place) == self.baseline[place]
            return "not reached", None if ok else f"nothing was injected, yet status {r.returncode}"
        text = injected[0].split(" ", 1)[1]
        ends = self.tolerated.ends(self.window, text, errno)
        if "[loader]" in text:
            ends.add("loader")
        if "never" in ends:
            # The planned call was another one: the number has moved.
            return "never", None
        if ran:
            if "identity" in ends and "as kernel uid 0 without capabilities" in r.stdout and \
                    self.same_but_identity(place):
                return "identity", None
            if "keyring" in ends and self.same_but(place, "keyring "):
                return "keyring", None
            if self.fingerprint(place) != self.baseline[place]:
                return "ran", "THE COMMAND RAN IN A DIFFERENT SANDBOX\n" + self.difference(place)
            if r.returncode not in (0,) and not (ends & {"normal"}):
                return "ran", f"the command ran, and the status is {r.returncode}"
            if errno == "EINTR" or "normal" in ends or "loader" in ends:
                return "normal", None
            return "ran", "the command ran, and no row of tolerated.tsv says that it may"
        if r.returncode == 125:
            return "125", None
        if r.returncode == 134 and "abort" in ends:
            return "abort", None
        if r.returncode in (126, 127) and "notfound" in ends:
            return "notfound", None
        if r.returncode != 0 and "loader" in ends:
            return "loader", None
        return "other", f"nothing ran, but the status is {r.returncode}, not 125"

    def case(self, k, errno, text):
        with self.lock:
            place = self.places.pop()
        try:
            r = self.run(place, "--nth", str(k), "--errno", errno)
            end, wrong = self.judge(place, errno, r)
            log = place.log.read_text().strip() if place.log.exists() else ""
            if wrong == "processes were left":
                wrong += ": " + log
            with self.lock:
                self.count += 1
                self.ends[end] += 1
                if wrong or os.environ.get("FAULT_ONLY"):
                    actual = next((l for l in log.splitlines() if l.endswith(" injected")), text)
                    self.failures += [k] if wrong else []
                    print(f"{'not ok' if wrong else 'ok'} - {self.window} {errno} at {actual}: {wrong or end}")
                    print("\n".join("#   " + l for l in r.stdout.splitlines()[:4]), flush=True)
        finally:
            with self.lock:
                self.places.append(place)

    @staticmethod
    def not_in(calls, others):
        """The calls that the other list has not as often; addresses and descriptors are no difference."""
        def plain(line):
            return re.sub(r"\(-?\d+\b", "(FD", re.sub(r"0x[0-9a-f]+", "ADDRESS", line.split(" ", 1)[1]))
        left = collections.Counter(plain(line) for line in others)
        out = []
        for line in calls:
            left[plain(line)] -= 1
            if left[plain(line)] < 0:
                out.append(line)
        return out

    def plan(self, calls):
        first, last, cases = {}, {}, []
        for line in calls:
            k, rest = line.split(" ", 1)
            name = rest.split("(", 1)[0]
            first.setdefault(name, int(k))
            last[name] = int(k)
        for line in calls:
            k, text = int(line.split(" ", 1)[0]), line.split(" ", 1)[1]
            name = text.split("(", 1)[0]
            if "never" in self.tolerated.ends(self.window, text, "*"):
                continue
            edge = k in (first[name], last[name])
            errnos = ["EPERM"]
            if self.named:
                errnos += ["EINTR"] if name in WAITS else []
            elif "[loader]" not in text:
                errnos += ["ENOSYS", "ENOMEM"] if edge else []
                errnos += ["EINTR"] if edge or name in WAITS else []
            cases += [(k, e, text) for e in errnos]
        return cases

    def shape(self, calls):
        """Print and return what is wrong with the calls of a run that works."""
        wrong = []
        for windows, pattern, want, what in SHAPE:
            got = [line for line in calls if re.match(r"\d+ (" + pattern + ")", line)]
            if self.window in windows and len(got) != want:
                wrong.append(what)
                print("\n#   ".join([f"not ok - {what}: {len(got)} calls, not {want}", *got[:4]]), flush=True)
        return wrong

    def main(self):
        calls = [] if self.window in NETWORK_WINDOWS else self.calls()
        self.failures += self.shape(calls) if calls else []
        if self.more:
            for place in self.places:
                self.extend(place)
            more = self.calls()
            self.failures += self.shape(more)
            calls = self.not_in(more, calls)
        cases = self.plan(calls)
        if os.environ.get("FAULT_ONLY"):
            k, _, errno = os.environ["FAULT_ONLY"].partition(":")
            cases = [(int(k), errno or "EPERM", "")]
        print(f"# {len(calls)} calls of the {self.window}, {len(cases)} cases", flush=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for f in [pool.submit(self.case, *c) for c in cases]:
                f.result()
        print(f"# ends: {dict(self.ends)}")
        print(f"{'not ok' if self.failures else 'ok'} - {self.count} cases, {len(self.failures)} wrong")
        if not self.failures and self.ends["125"] < len(calls) / 4 and not os.environ.get("FAULT_ONLY"):
            print("not ok - too few cases failed at all: does the injection work?")
            return 1
        return 1 if self.failures else 0


def unused_rows():
    """Nothing is made to fail: a row that no call is like tolerates nothing."""
    if os.geteuid() != 0:
        print("# root's case needs root")
        return SKIP
    own_network()
    used = set()
    for caller in ("root", "user"):
        for how, windows in MODES.items():
            suite = Suite("", caller, how)
            try:
                place = suite.places[0]
                if suite.more:
                    suite.extend(place)
                for suite.window in windows:
                    r = suite.run(place, "--list")
                    if r.returncode != 0:
                        sys.exit(f"not ok - {suite.window} {caller} {how}: status {r.returncode}\n{r.stdout}")
                    for line in place.log.read_text().splitlines():
                        suite.tolerated.ends(suite.window, line.split(" ", 1)[1], "*")
                used |= suite.tolerated.used
                rows = suite.tolerated.rows
            finally:
                shutil.rmtree(suite.top, ignore_errors=True)
    dead = [row for i, row in enumerate(rows) if i not in used and "varies" not in row[4].split(",")]
    for row in dead:
        print("not ok - no call is like this row of tolerated.tsv, take it out: " + " ".join(row))
    print(f"{'not ok' if dead else 'ok'} - {len(rows)} rows, {len(used)} of them met")
    return 1 if dead else 0


def main():
    if sys.argv[1:] == ["rows"]:
        return unused_rows()
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["terminal"], ["watched"], ["named"]):
        sys.exit(__doc__)
    windows, caller = sys.argv[1].split(","), sys.argv[2]
    if caller == "root" and os.geteuid() != 0:
        print("# root's case needs root")
        return SKIP
    how = sys.argv[3] if len(sys.argv) == 4 else ""
    if how == "named":
        own_network()
    failed = False
    for window in windows:
        suite = Suite(window, caller, how)
        try:
            failed = suite.main() != 0 or failed
        finally:
            shutil.rmtree(suite.top, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
