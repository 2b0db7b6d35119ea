#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""run-tool-faults.py CALLER: make each system call of a file tool's work fail, one a run.

Whatever fails, a file that is written is the old one or the new one, the exit status says which, and
no other name is there. What is read or listed is whole, or the status says that it is not.

Needs AGENTBOX and INJECT. CALLER: root or user. The calls of the building of a sandbox are the other
suite's."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
OLD, NEW = b"old\n", b"new\n" * 3000  # more than one piece
PROFILE = """\
sandbox: {{roots: [{{path: "{ws}", at: /ws, mode: rw}}]}}
permissions: {{agents: {{me: allow}}}}
"""
# Of the work alone: init, beside it, makes others, and one of those that fails may end both at any
# moment.
WORK = re.compile(r"(openat|statx|fgetxattr|fchmod|linkat|renameat2|unlinkat|lseek|ftruncate|getdents64|setpgid|"
                  r"prlimit64|rt_sigprocmask|write|read\((0|5|6|7|8),)")
EXTRA = {"openat": ["EOPNOTSUPP", "ENOSPC"], "write": ["ENOSPC", "EINTR"], "read": ["EIO", "EINTR"], "linkat": ["EEXIST"]}


class Case:
    """A verb on a file, and what is there before."""

    def __init__(self, name, argv, before, names=1):
        self.name, self.argv, self.before, self.names = name, argv, before, names

    def is_write(self):
        return self.argv[0] == "write"


CASES = (
    Case("over", ["write", "/ws/f"], OLD),
    Case("anew", ["write", "/ws/f"], None),
    Case("in-place", ["write", "/ws/f"], OLD, 2),
    Case("read", ["read", "/ws/f"], NEW),
    Case("ls", ["ls", "-0", "/ws"], OLD),
)


class Suite:
    def __init__(self, caller):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-fault.", dir="/var/tmp"))
        self.top.chmod(0o755)
        self.agentbox, self.inject = self.top / "agentbox", self.top / "inject"
        shutil.copy(os.environ["AGENTBOX"], self.agentbox)
        shutil.copy(os.environ["INJECT"], self.inject)
        self.dir = self.top / "w"
        self.ws, self.state = self.dir / "ws", self.dir / "state"
        for d in (self.dir, self.ws, self.state):
            d.mkdir(mode=0o700 if d == self.state else 0o755)
        self.log = self.dir / "log"
        (self.dir / "p.yaml").write_text(PROFILE.format(ws=self.ws))
        self.prefix = []
        if caller == "user" and os.geteuid() == 0:
            self.prefix = ["setpriv", "--reuid", "5", "--regid", "5", "--clear-groups"]
            subprocess.run(["chown", "-R", "5:5", str(self.dir)], check=True)
        self.count = self.failed = self.refused = 0

    def set_up(self, case):
        for p in self.ws.iterdir():
            p.unlink()
        f = self.ws / "f"
        if case.before is not None:
            f.write_bytes(case.before)
            os.chown(f, self.ws.stat().st_uid, self.ws.stat().st_gid)
        for i in range(1, case.names):
            os.link(f, self.ws / f"name{i}")
        return sorted(p.name for p in self.ws.iterdir())

    def run(self, case, *args):
        names = self.set_up(case)
        self.log.unlink(missing_ok=True)
        r = subprocess.run(
            [*self.prefix, self.inject, "--in", "child", "--log", self.log, *args, "--", self.agentbox, "tool",
             "--state", self.state, "-p", self.dir / "p.yaml", *case.argv],
            cwd=self.ws, input=NEW, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.dir)})
        return names, r

    def wrong(self, case, names, r):
        """What is wrong with an end, or None."""
        injected = [l for l in self.log.read_text().splitlines() if l.endswith(" injected")]
        call = injected[0].split(" ", 1)[1] if injected else ""
        ours = bool(WORK.match(call))
        done = r.returncode == 0
        self.refused += not done
        if r.returncode in (96, 97, 98):
            return f"{call}: the tracer's status is {r.returncode}"
        there = sorted(p.name for p in self.ws.iterdir())
        if not case.is_write():
            whole = case.before if case.argv[0] == "read" else b"".join(n.encode() + b"\0" for n in names)
            if r.stdout != whole and (done or not whole.startswith(r.stdout)):
                return f"{call}: status {r.returncode}, and {len(r.stdout)} bytes of {len(whole)}"
            return None if there == names else f"{call}: names changed to {there}"
        now = (self.ws / "f").read_bytes() if "f" in there else None
        if ours and there != (sorted({*names, "f"}) if done else names):
            return f"{call}: status {r.returncode}, and the names are {there}"
        if done:
            return None if now == NEW else f"{call}: status 0, and not what was written"
        if case.names == 1 and now != case.before and (ours or now != NEW):
            return f"{call}: status {r.returncode}, and the file is another"
        return None

    def judge(self, case, *args):
        names, r = self.run(case, *args)
        wrong = self.wrong(case, names, r)
        self.count += 1
        if wrong:
            self.failed += 1
            print(f"not ok - {case.name} {args[-1]} at {wrong}")
            print("\n".join("#   " + l for l in r.stderr.decode(errors="replace").splitlines()[:4]), flush=True)

    def main(self):
        for case in CASES:
            _, r = self.run(case, "--list")
            if r.returncode != 0:
                sys.exit(f"not ok - {case.name} without a failure: status {r.returncode}\n{r.stderr}")
            calls = [l.split(" ", 1) for l in self.log.read_text().splitlines()]
            began = max(i for i, (_, text) in enumerate(calls) if text.startswith("clone("))
            for k, text in calls[began:]:
                for errno in ["EPERM", *EXTRA.get(text.split("(", 1)[0], [])]:
                    self.judge(case, "--nth", k, "--errno", errno)
        print(f"{'not ok' if self.failed else 'ok'} - {self.count} cases, {self.failed} wrong")
        if self.refused < self.count / 4:
            print("not ok - too few cases failed at all: does the injection work?")
            return 1
        return 1 if self.failed else 0


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "root" and os.geteuid() != 0:
        print("# root's case needs root")
        return SKIP
    suite = Suite(sys.argv[1])
    try:
        return suite.main()
    finally:
        shutil.rmtree(suite.top, ignore_errors=True)


sys.exit(main())
