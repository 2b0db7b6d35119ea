#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""limits - how far a runaway command gets past each limit, and how soon all of it is gone then.

    limits.py --agentbox FILE --probe FILE [--rounds N] [--only NAME]

Each row is run N times, in shuffled order with the others. Past the limit: what the result says was
reached, less the limit. Gone: from the moment that the limit was noticed until init was reaped. The
mechanism is the one that the run chose here, so that the table of another host has other rows; one
that only refuses (rlimit) never goes past its limit, and nothing ends by it.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

MIB = 1 << 20
# Name, the limits, the command; what runs until something ends it.
ROWS = (
    ("memory, 40 processes", "memory: 64M", ["{probe}", "hog", "private", str(4 * MIB), "40"]),
    ("memory, memfd", "memory: 64M", ["{probe}", "hog", "memfd", str(512 * MIB), "1"]),
    ("memory, scratch", "memory: 64M", ["sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M 2>&1; sleep 600"]),
    ("processes, a fork bomb", "processes: 50, timeout: 1s, grace: 10ms",
     ["bash", "-c", "f() { f | f & }; f; while :; do f; done 2>&-"]),
    ("cpu_time", "cpu_time: 1s", ["sh", "-c", "while :; do :; done"]),
    ("cpu_time, two processes", "cpu_time: 1s",
     ["sh", "-c", "while :; do :; done & while :; do :; done"]),
    ("timeout", "timeout: 500ms, grace: 10ms", ["sleep", "600"]),
    ("timeout, TERM ignored", "timeout: 500ms, grace: 100ms", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]),
    ("output", "output: 1M, on_output_limit: kill", ["{probe}", "spew", str(1 << 34)]),
    ("disk", "disk: 64M", ["sh", "-c", "exec dd if=/dev/zero of=x bs=1M count=4000 2>&1"]),
)


def run(args, top, row):
    """One run: mechanism, how far past the limit, milliseconds until it was gone."""
    name, limits, command = row
    root = os.path.join(top, "ws")
    profile = os.path.join(top, "p.yaml")
    with open(profile, "w", encoding="ascii") as f:
        f.write(f"sandbox: {{roots: [{{path: {root}, mode: rw}}, "
                f"{{path: {os.path.dirname(args.probe)}, mode: ro}}], limits: {{{limits}}}}}\n"
                "permissions: {agents: {me: allow}}\n")
    report, back = os.pipe()
    subprocess.run(
        [args.agentbox, "run", "--state", os.path.join(top, "state"), "-p", profile, "--workdir", root,
         "--status-fd", str(back), "--", *(args.probe if c == "{probe}" else c for c in command)],
        pass_fds=[back], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        check=False)
    os.close(back)
    with os.fdopen(report, encoding="utf-8") as f:
        result = json.loads(f.readlines()[-1])
    for left in os.listdir(root):
        os.unlink(os.path.join(root, left))
    detail = result["limit_detail"]
    if detail is None:
        sys.exit(f"limits.py: {name}: ended by no limit: {result}")
    if name.startswith("processes"):  # it is the time that ends it, and the peak that tells
        peak = result["usage"]["processes_peak"]
        return result["mechanisms"]["limits"]["processes"], None if peak is None else peak - 50, None
    return detail["mechanism"], detail["reached"] - detail["bound"], result["usage"]["wall_ms"] - detail["at_ms"]


def shown(value, unit):
    if value is None:
        return "-"
    return f"{value / MIB:.2f} MiB" if unit == "bytes" else f"{value:.0f} {unit}"


def table(samples):
    print(f"{'':26} {'by':14} {'past it: median':>16} {'most':>12}   {'gone ms: median':>15} {'most':>6}")
    for name, limits, _ in ROWS:
        if name not in samples:
            continue
        unit = {"memory": "bytes", "disk": "bytes", "output": "bytes", "processes": "tasks"}.get(
            limits.split(":")[0], "ms")
        by = sorted({s[0] for s in samples[name]})
        columns = [[s[i] for s in samples[name] if s[i] is not None] for i in (1, 2)]
        past, gone = [(statistics.median(c), max(c)) if c else (None, None) for c in columns]
        print(f"{name:26} {' '.join(by):14} {shown(past[0], unit):>16} {shown(past[1], unit):>12}   "
              f"{shown(gone[0], ''):>15} {shown(gone[1], ''):>6}")


def main():
    parser = argparse.ArgumentParser(prog="limits.py")
    parser.add_argument("--agentbox", required=True, type=os.path.abspath)
    parser.add_argument("--probe", required=True, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name begins so")
    args = parser.parse_args()
    rows = [r for r in ROWS if r[0].startswith(args.only)]
    samples = {}
    with tempfile.TemporaryDirectory(prefix="agentbox-bench.", dir="/var/tmp") as top:
        os.mkdir(os.path.join(top, "ws"))
        for _ in range(args.rounds):
            for row in random.sample(rows, len(rows)):
                samples.setdefault(row[0], []).append(run(args, top, row))
    print(f"{args.rounds} rounds, uid {os.geteuid()}")
    table(samples)


if __name__ == "__main__":
    main()
