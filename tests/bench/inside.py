#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""inside - what work costs inside against the same work outside, without the start-up.

    inside.py --agentbox FILE --profile FILE [--rounds N] [--control]

The program measures itself: with --measure it does the work whose number it reads, and writes the
times. One such process runs outside and one inside, on one and the same processor, and each work is
done by both in turn. What else the machine does lasts longer than two turns, most of it, and falls on
both: so the ratio is that of the two turns of a round, and of all rounds the median is printed. CPU
time (user and system, of the work and its children) says more than wall time on a busy machine.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Name, the command, the ratio to outside that is asked for (none: for information).
WORKS = (
    ("gcc -c", ["gcc", "-pipe", "-O1", "-c", "big.c", "-o", "big.o"], 1.03),
    ("find /usr/share", ["find", "/usr/share", "-newermt", "2100-01-01"], 1.06),
    ("dd bs=1, 300,000", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"], 1.20),
    ("sh, 100 execs", ["sh", "-c", 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done'], None),
)
FUNCTIONS = 150


def big_source():
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    for i in range(FUNCTIONS):
        lines.append(
            f"int f{i}(const char *s, int n) {{ char b[64]; int r = {i}; "
            f"for (int i = 0; i < n; i++) {{ r = r * 31 + s[i % 7]; if (r % {i + 3} == 0) "
            f"r ^= snprintf(b, sizeof(b), \"%d {i}\", r); }} "
            f"return r + (int)strlen(s) + abs(n - {i}); }}"
        )
    return "\n".join(lines) + "\n"


def measure(cpu):
    """On processor cpu: for each number on stdin, a line with the seconds of wall and of CPU."""
    os.sched_setaffinity(0, {cpu})
    null = os.open("/dev/null", os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    for line in sys.stdin:
        name, argv, _ = WORKS[int(line)]
        start = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        # find: 1 where a folder is root's alone, which inside is nobody's to read.
        if os.waitstatus_to_exitcode(status) not in ((0, 1) if argv[0] == "find" else (0,)):
            sys.exit(f"inside.py: {name}: wait status {status:#x}")
        print(wall, usage.ru_utime + usage.ru_stime, flush=True)


class Place:
    """A process that measures, outside or inside."""

    def __init__(self, prefix, python, folder, cpu):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": folder}
        self.process = subprocess.Popen(
            prefix + [python, "-I", os.path.join(folder, "inside.py"), "--measure", str(cpu)],
            cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.times = [[] for _ in WORKS]

    def do(self, work, keep):
        self.process.stdin.write(f"{work}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"inside.py: status {self.process.wait()} of the process that measures")
        if keep:
            self.times[work].append(tuple(map(float, line.split())))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def load():
    return Path("/proc/loadavg").read_text(encoding="ascii").split()[0]


def table(outside, inside):
    """Of each work and kind of time: medians, the median of the rounds' ratios, the ratio of the least."""
    print(f"{'':18} {'wall ms: outside':>17} {'inside':>8} {'ratio':>6} {'least':>6}"
          f"   {'CPU ms: outside':>16} {'inside':>8} {'ratio':>6} {'least':>6}")
    for work, (name, _, must) in enumerate(WORKS):
        line = f"{name:18}"
        ratios = []
        for kind, width in ((0, 17), (1, 18)):
            out = [t[kind] for t in outside.times[work]]
            inn = [t[kind] for t in inside.times[work]]
            ratios.append(statistics.median(i / o for i, o in zip(inn, out)))
            line += (f" {statistics.median(out) * 1e3:{width}.1f} {statistics.median(inn) * 1e3:8.1f}"
                     f" {ratios[-1]:6.3f} {min(inn) / min(out):6.3f}")
        if must is not None:
            met = ["met" if r <= must else "MISSED" for r in ratios]
            line += f"  must <= {must:.2f}: {met[0]}, by CPU time {met[1]}"
        print(line)


def main():
    parser = argparse.ArgumentParser(prog="inside.py")
    parser.add_argument("--agentbox")
    parser.add_argument("--profile")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--control", action="store_true", help="outside against outside")
    parser.add_argument("--measure", type=int, metavar="CPU", help="do the works whose numbers are read, there")
    args = parser.parse_args()
    if args.measure is not None:
        measure(args.measure)
        return
    missing = [w[1][0] for w in WORKS if shutil.which(w[1][0]) is None]
    # The system's: one in a home directory is not there inside.
    python = "/usr/bin/python3"
    if missing or not os.access(python, os.X_OK):
        print(f"inside.py: not installed: {' '.join(missing) or python}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="agentbox-bench.", dir="/var/tmp") as top:
        folder = os.path.join(top, "ws")
        os.mkdir(folder)
        shutil.copy(__file__, os.path.join(folder, "inside.py"))
        Path(folder, "big.c").write_text(big_source(), encoding="ascii")
        inside = [os.path.abspath(args.agentbox), "run", "--state", os.path.join(top, "state"),
                  "-p", os.path.abspath(args.profile), "-w", folder, "--workdir", folder, "-i", "--"]
        cpu = max(os.sched_getaffinity(0))
        places = [Place(prefix, python, folder, cpu) for prefix in ([], [] if args.control else inside)]
        before = load()
        for i in range(args.rounds + 1):
            for work in range(len(WORKS)):
                for place in random.sample(places, 2):
                    place.do(work, i > 0)  # the first round fills the caches
        for place in places:
            place.end()
    print(f"{args.rounds} rounds, load {before} before and {load()} after"
          f"{', control: both outside' if args.control else ''}")
    table(*places)


if __name__ == "__main__":
    main()
