# SPDX-License-Identifier: LGPL-2.1-or-later
"""A harness in Python: calls `run --json` again and again, several at once, and holds each answer
against the contract.

    harness.py CASES CALLS      prints one TAP line for each case, for 25-harness.sh

CASES is a JSON object: `argv` (agentbox and what stands before each case's own words), `cases`
(each with name, args, rc, status and, where it is known, output) and `wrapped` (scripts that one
quoted string has to carry). harness.js reads the same file and does the same.
"""

import base64
import collections
import concurrent.futures
import json
import shlex
import subprocess
import sys

AT_ONCE = 4


def call(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def wrong(case, done, keys):
    """What is wrong with one answer, or None."""
    text = done.stdout.decode()
    if done.returncode != case["rc"]:
        return f"status {done.returncode}: {text} {done.stderr}"
    if not text.endswith("\n") or text.count("\n") != 1:
        return f"no single line: {text!r}"
    o = json.loads(text)  # nothing may follow the object
    if set(o) != keys:
        return f"other keys: {sorted(set(o) ^ keys)}"
    if (o["rc"], o["status"]) != (case["rc"], case["status"]):
        return f"rc {o['rc']}, {o['status']}"
    if o["started"] is not case["started"] or (o["exit_code"] is not None) is not (o["status"] == "exited"):
        return f"started {o['started']}, exit_code {o['exit_code']}"
    if (o["error"] is not None) is not case["error"]:
        return f"error {o['error']}"
    output = base64.b64decode(o["output"]) if o["encoding"] == "base64" else o["output"].encode()
    if "output" in case and output != case["output"].encode("latin-1"):
        return f"output {output!r}"
    if any(not line.startswith(b"agentbox: ") for line in done.stderr.splitlines()):
        return f"standard error {done.stderr!r}"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    calls = int(sys.argv[2])
    keys = set(json.loads(call(table["argv"] + table["cases"][0]["args"]).stdout))
    faults = collections.defaultdict(list)
    ids = collections.Counter()
    todo = [table["cases"][i % len(table["cases"])] for i in range(calls)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for case, done in zip(todo, pool.map(lambda c: call(table["argv"] + c["args"]), todo)):
            fault = wrong(case, done, keys)
            faults[case["name"]] += [fault] if fault else []
            ids[json.loads(done.stdout)["request_id"] if not fault else None] += 1
    for case in table["cases"]:
        name = case["name"]
        print(f"{'not ok' if faults[name] else 'ok'} - python: {name}")
        for fault in faults[name][:2]:
            print(f"#   {fault}")
    twice = [i for i, n in ids.items() if i is not None and n > 1]
    print(f"{'not ok' if twice else 'ok'} - python: each request has an id of its own")
    for script in table["wrapped"]:
        outside = call(["sh", "-c", script])
        inside = call(["sh", "-c", shlex.join(table["prefix"]) + " " + shlex.quote(script)])
        same = (outside.returncode, outside.stdout) == (inside.returncode, inside.stdout)
        print(f"{'ok' if same else 'not ok'} - python: one string: {script!r}")
        if not same:
            print(f"#   {outside} {inside}")


main()
