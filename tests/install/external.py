#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""external - which software of others the tests run, in which version, and what is not run.

    external.py SOURCE BUILD      TAP; what was not run is on standard error too

A claim about other software holds for the version in external.tsv and for the tests named there. A
row is held against something real: the tests exist and call the program, the version is the one that
is installed, the text that is kept names the version it came from, and where nothing is run the words
that say so stand in the manual. A version other than the row's is not run, whatever the tests said.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

KINDS = {"run": 5, "kept": 6, "never": 5}
# What the tests have as PATH (lib.sh), then what the lint tools have.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ.get("PATH", "")


def rows(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            yield number, line.split("\t")


class Tree:
    """What a row is held against."""

    def __init__(self, source, build):
        self.source = Path(source)
        listed = json.loads((Path(build) / "meson-info/intro-tests.json").read_text())
        # A build with sanitizers leaves some live tests out; they are files of their names.
        self.tests = {t["name"]: [w for w in t["cmd"]] for t in listed}
        for script in (self.source / "tests/live").glob("[0-9]*.sh"):
            self.tests.setdefault(script.stem, [str(script)])
        self.on_demand = [t["name"] for t in listed if any(s.endswith(":vm") for s in t["suite"])]
        self.found = {}
        self.made_of = {}

    def read(self, name):
        path = self.source / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def words_of(self, test):
        """The files that a test is made of: those of its command line, and those that they name."""
        if test in self.made_of:
            return self.made_of[test]
        seen, todo = set(), [Path(w) for w in self.tests[test]]
        text = " ".join(self.tests[test])
        while todo:
            path = todo.pop()
            if path in seen or path.suffix not in (".sh", ".py", ".c") or not path.is_file():
                continue
            seen.add(path)
            here = path.read_text(encoding="utf-8")
            text += here
            todo += [path.parent / n for n in re.findall(r"[\w-]+\.(?:sh|py|c)\b", here)]
        self.made_of[test] = text
        return text

    def version(self, command):
        """What a program says: None where it is not there."""
        if command not in self.found:
            try:
                p = subprocess.run(
                    command.split(), env={"PATH": PATH, "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"},
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                )
                seen = re.search(rb"\d+(\.\d+)+|\b\d+\b", p.stdout)
                self.found[command] = seen.group().decode() if seen else "?"
            except OSError:
                self.found[command] = None
        return self.found[command]


def fits(version, wanted):
    return wanted == "-" or version == wanted or version.startswith(wanted + ".")


def wrong(row, tree):
    """What of a row is not true of the tree."""
    if len(row) != KINDS.get(row[0], 0):
        return "no row of this kind has so many columns"
    kind, what, version, where, why = row[:5]
    if kind == "never":
        name, _, words = where.partition(": ")
        text = re.sub(r"[*`\\&]|\s+", lambda m: " " if m.group().isspace() else "", tree.read(name))
        return None if words and words in text else f"{name} does not say: {words}"
    for test in why.split():
        if test not in tree.tests:
            return f"no such test: {test}"
        if kind == "run" and not re.search(rf"(?<![\w.-]){re.escape(what)}(?![\w-])", tree.words_of(test)):
            return f"{test} does not call it"
    if not why.split():
        return "no test"
    if kind == "kept" and f"{what}@{version}" not in tree.read(where):
        return f"{where} does not pin {what}@{version}"
    return None


def not_run(row, tree):
    """Why a thing is not run: None where it is."""
    kind, what, version, where = row[:4]
    if kind != "run":
        return row[-1]
    if where == "-":
        return None
    here = tree.version(where)
    if here is None:
        return f"{what} is not installed"
    return None if fits(here, version) else f"the claims are about {version}, and {here} is installed"


def unlisted(text, tree):
    """What ./bootstrap brings for the tests, or has names for, without a row here."""
    script = tree.read("bootstrap")
    listed = {row[1] for _, row in rows(text) if len(row) > 1}
    names = re.findall(r"^test\s+cmd:(\S+)", script, re.M)
    managers = re.search(r"^#for +probe +(.*)$", script, re.M).group(1).split()
    return [n for n in names + managers if n not in listed and n != "apt"]


def self_test(text, tree):
    """A table with a fault in it is found out; each fault is one edit of the real one."""
    for old, new in (
        ("\t60-git ", "\t60-no-such-test "),
        ("git --version\t60-git", "git --version\t03-timeout"),
        ("micromatch\t4.0.8", "micromatch\t4.0.7"),
        ("README.md: aarch64 builds, untested", "README.md: aarch64 is tested"),
        ("git\t2.39\tgit --version", "git\t1.0\tgit --version"),
        ("git --version", "no-such-git --version"),
        ("run\ttmux", "run\tno-tmux"),
        ("\t50-tools\n", "\n"),
    ):
        assert old in text, old
        bad = text.replace(old, new)
        faults = [r for _, r in rows(bad) if wrong(r, tree)] + unlisted(bad, tree)
        before = {r[1] for _, r in rows(text) if not_run(r, tree)}
        gone = [r for _, r in rows(bad) if not wrong(r, tree) and not_run(r, tree) and r[1] not in before]
        if not faults and not gone:
            yield f"self-test: not found out: {new!r}"


def main():
    source, build = sys.argv[1:3]
    tree = Tree(source, build)
    text = tree.read("tests/install/external.tsv")
    count = bad = 0

    def say(good, what, why=None):
        nonlocal count, bad
        count += 1
        bad += not good
        print(f"{'ok' if good else 'not ok'} {count} - {what}" + (f" # SKIP not run: {why}" if why else ""))
        if why:
            print(f"SKIP {what}: not run: {why}", file=sys.stderr)

    must = os.environ.get("AGENTBOX_MUST_WORK") == "1"
    for number, row in rows(text):
        what = " ".join(row[1:3]).removesuffix(" -")
        fault = wrong(row, tree)
        if fault:
            say(False, f"external.tsv:{number}: {what}: {fault}")
            continue
        why = not_run(row, tree)
        if why and must and why.endswith("not installed"):
            say(False, f"{what}: {why}, and must be")
        elif why:
            say(True, what, why)
        else:
            here = tree.version(row[3]) if row[3] != "-" else "its version is not told"
            say(True, f"{row[1]} ({here}), run by {row[4]}")
    for name in tree.on_demand:
        say(True, name, "only by `meson test --suite vm`")
    for name in unlisted(text, tree):
        say(False, f"bootstrap names {name}, and external.tsv does not")
    if not bad:
        for fault in self_test(text, tree):
            say(False, fault)
    print(f"1..{count}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
