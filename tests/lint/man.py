#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""man - hold the manual pages against the program: each option, profile key, exit status, key of
the result and of the audit log stands in them, nothing else does, and two readers of mdoc accept
them.

    man.py AGENTBOX SOURCE_DIR LIMIT_HOSTS
"""

import collections
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

# Options of agentbox without a command, and one of another program.
OTHER_OPTIONS = {"help", "version", "no-same-owner"}
# Commands without any.
NO_OPTIONS = {"help", "init", "profiles", "schema"}


def has_home():
    """Whether ~ means something: not for a caller without an entry in passwd."""
    try:
        return bool(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return False


# Where the keys of an object are put, the section that has them, and how many there are at least.
JSON_KEYS = (
    ("RESULT", "src/cli/result.c", 20),
    ("The audit log", "src/audit/line.c", 10),
    ("The audit log", "src/audit/append.c", 2),
    ("The audit log", "src/cli/record.c", 6),
    ("check", "src/cli/check.c", 8),
    ("tool", "src/cli/tool-list.c", 5),
    ("tool", "src/cli/cmd-tool.c", 1),
    ("check", "src/cli/check-batch.c", 2),
    ("doctor", "src/cli/cmd-doctor.c", 9),
    ("selftest", "src/cli/cmd-selftest.c", 6),
)


def section(page, head):
    """The text below a heading of the page, up to the next one of either kind."""
    match = re.search(r"^\.S[hs] " + re.escape(head) + r"\n(.*?)(?=^\.S[hs] |\Z)", page, re.M | re.S)
    return match.group(1) if match else ""


def host_cells(table):
    rows = re.findall(r"^\.It Sy (\w+)(\*?)((?: Ta [^\n]*?){3})$", table, re.M)
    return {name + ("/uid0" if root else ""): cells.split(" Ta ")[1:] for name, root, cells in rows}


def host_cell(by_any, by_kernel):
    return (by_any or "none") + (f"/{by_kernel or 'none'}" if by_kernel != by_any else "")


def long_options(text):
    # After a lone "Fl Fl" stands the command, as "Ar".
    return set(re.findall(r"\bFl Fl ([a-z][a-z0-9-]*)", text))


def help_options(text):
    return re.findall(r"^  (?:-(\w), |    )--([a-z][a-z0-9-]*)", text, re.M)


def missing_options(page, verb, text):
    """What the help of a command lists and its section of the page does not."""
    here = section(page, verb)
    for short, name in help_options(text):
        if name not in long_options(here):
            yield f"--{name} of {verb}"
        if short and not re.search(rf"\bFl {short}\b", here):
            yield f"-{short} of {verb}"


def items(text):
    """The words in bold of each tagged item."""
    for line in re.findall(r"^\.It Sy (.*)$", text, re.M):
        yield from re.findall(r"[a-z][a-z0-9_]*", line.split(" Pq ")[0])


def wrong_keys(page, source):
    """Keys are counted: a name may be a key of more than one map, and then has as many items."""
    has = collections.Counter(re.findall(r'\.key = "(\w+)"', source))
    says = collections.Counter(items(page))
    for key in sorted(has | says):
        if has[key] != says[key]:
            yield f"key '{key}': {has[key]} in the schema, {says[key]} in the page"


def missing_words(text, source, pattern):
    bold = set(re.findall(r"[A-Za-z_0-9]+", " ".join(re.findall(r"\bSy .*", text))))
    for name in sorted(set(re.findall(pattern, source))):
        if name not in bold:
            yield f"'{name}'"


def wrong_statuses(page, source):
    has = set(re.findall(r"= (12\d)", source))
    says = set(re.findall(r"^\.It (12\d)$", section(page, "EXIT STATUS"), re.M))
    for status in sorted(has ^ says):
        yield f"exit status {status}"


def examples(page):
    for text in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.M | re.S):
        if "sandbox:" in text and "permissions:" in text:
            yield text.replace(r"\*q", '"').replace(r"\e", "\\")


class Checker:
    def __init__(self, agentbox, source, limit_hosts):
        self.agentbox = agentbox
        self.source = source
        self.limit_hosts = limit_hosts
        self.bad = 0

    def fault(self, text):
        print(text)
        self.bad += 1

    def must_find(self, what, found):
        if not list(found):
            self.fault(f"self-test: not noticed: {what}")

    def read(self, *names):
        return "".join((self.source / name).read_text() for name in names)

    def run(self, *args):
        return subprocess.run([self.agentbox, *args], capture_output=True, text=True)

    def commands(self, page):
        verbs = re.findall(r"^  (\w+) ", self.run("--help").stdout, re.M)
        if "run" not in verbs:
            self.fault("agentbox --help lists no run")
            return
        known = set(OTHER_OPTIONS)
        for verb in verbs:
            text = self.run(verb, "--help").stdout
            names = [name for _, name in help_options(text)]
            if not names and verb not in NO_OPTIONS:
                self.fault(f"agentbox {verb} --help lists no options")
            known.update(names)
            for what in missing_options(page, verb, text):
                self.fault(f"agentbox.1: missing: {what}")
            if not section(page, verb):
                self.fault(f"agentbox.1: no section: {verb}")
            if not re.search(rf"^\.Cm {verb}\b", section(page, "SYNOPSIS"), re.M):
                self.fault(f"agentbox.1: not in the synopsis: {verb}")
            if not names:
                continue
            without = re.sub(rf"\bFl Fl {names[-1]}\b", "Ar gone", page)
            self.must_find(f"--{names[-1]} of {verb}", missing_options(without, verb, text))
        for name in sorted(long_options(page) - known):
            self.fault(f"agentbox.1: no such option: --{name}")
        if not long_options("Fl Fl no-such-option") - known:
            self.fault("self-test: an invented option is not noticed")

    def words(self, page):
        put = r'(?:json_put\w*|put_output)\(\w+,\s*"(\w+)"(?:,\s*"(\w+)")?'
        for head, name, least in JSON_KEYS:
            source = self.read(name)
            text = section(page, head)
            flat = " ".join(f'"{w}"' for pair in re.findall(put, source) for w in pair if w)
            if flat.count('"') < 2 * least:
                self.fault(f"{name}: found only {flat}")
            for what in missing_words(text, flat, r'"(\w+)"'):
                self.fault(f"agentbox.1: {head}: missing: {what} of {name}")
            self.must_find("a key of JSON", missing_words(text, flat + ' "no_such"', r'"(\w+)"'))
        source = self.read("src/base/exitcode.h")
        for what in wrong_statuses(page, source):
            self.fault(f"agentbox.1: {what}")
        self.must_find("an exit status", wrong_statuses(page.replace(".It 124\n", ""), source))

    def limits(self, page):
        """The table of limits and mechanisms is the program's own."""
        has = {name: row["ways"] for name, row in
               json.loads(self.run("doctor", "--json").stdout)["limits"].items()}

        def says(text):
            rows = re.findall(r"^\.It Sy (\w+) Ta ([^\n]*?) Ta [^\n]*$", tables(text)[0], re.M)
            return {name: ways.split(", ") for name, ways in rows}

        def tables(text):
            return section(text, "Limits").split(".Bl -column")[1:]
        if says(page) != has:
            self.fault(f"agentbox.1: Limits: {says(page)}\nthe program: {has}")
        if says(page.replace("cgroup, scope, rlimit+monitor", "cgroup")) == has:
            self.fault("self-test: a missing mechanism is not noticed")
        table = tables(page)[1]
        for what in self.wrong_hosts(table):
            self.fault(f"agentbox.1: Limits: {what}")
        self.must_find("a mechanism of a host", self.wrong_hosts(table.replace("none/scope", "scope")))
        self.this_host(host_cells(table))

    def wrong_hosts(self, table):
        """Each cell is what the program chooses on such a host."""
        page, program = host_cells(table), {}
        for line in subprocess.check_output([self.limit_hosts], text=True).splitlines():
            name, _, *ways = line.split()
            program.setdefault(name, []).append(host_cell(*ways))
        return [f"{name}: {page.get(name)}, the program: {program.get(name)}"
                for name in sorted(page.keys() | program.keys()) if page.get(name) != program.get(name)]

    def this_host(self, page):
        """One of the columns is this host, as doctor sees it."""
        said = {name: host_cell(row["any"], row["kernel"]) for name, row in
                json.loads(self.run("doctor", "--json").stdout)["limits"].items()}
        if said["processes"] != "rlimit":
            said["processes/uid0"] = said.pop("processes")
        if not any(all(page[name][column] == cell for name, cell in said.items()) for column in range(3)):
            self.fault(f"agentbox.1: Limits: no column is this host: {said}")

    def keys(self, page):
        paths = sorted((self.source / "src/profile").glob("*.c"))
        source = "".join(path.read_text() for path in paths)
        for what in wrong_keys(page, source):
            self.fault(f"agentbox.yaml.5: {what}")
        self.must_find("a key", wrong_keys(page.replace(".It Sy roots ", ".It Sy rots "), source))

    def examples(self, page):
        """They load: any decision will do, and check builds no sandbox to come to one."""
        texts = list(examples(page))
        if len(texts) < 3:
            self.fault(f"agentbox.yaml.5: found {len(texts)} examples")
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            (scratch / "work").mkdir()
            path = scratch / "p.yaml"

            def load(text):
                text = text.replace("/data/reports", f"{scratch}/work")
                path.write_text(text if has_home() else text.replace("~/", f"{scratch}/"))
                more = ["-w", f"{scratch}/work"] if "params:" in text else []
                return self.run("check", "-p", str(path), *more, "read_file", "/nowhere")

            for number, text in enumerate(texts, 1):
                done = load(text)
                if done.returncode > 124:
                    self.fault(f"agentbox.yaml.5: example {number}: {done.stderr.strip()}")
            if texts and load(texts[-1].replace("sandbox:", "sandbx:")).returncode != 125:
                self.fault("self-test: a broken profile is accepted")

    def reader(self, path, *command):
        if shutil.which(command[0]) is None:
            print(f"{command[0]} is not installed")
            if os.environ.get("AGENTBOX_MUST_WORK") == "1":
                self.bad += 1
            return

        def complaints(file):
            done = subprocess.run([*command, str(file)], capture_output=True, text=True)
            # mandoc says it on standard output, groff on standard error beside the page.
            said = done.stdout if command[0] == "mandoc" else ""
            return (said + done.stderr).strip()

        said = complaints(path)
        if said:
            self.fault(f"{command[0]}: {said}")
        with tempfile.TemporaryDirectory() as name:
            broken = pathlib.Path(name) / path.name
            broken.write_text(path.read_text() + ".no_such_macro\n.Bl -tag -width Ds\n")
            self.must_find(f"a broken page by {command[0]}", complaints(broken))


def main():
    check = Checker(os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])
    one = check.read("man/agentbox.1")
    five = check.read("man/agentbox.yaml.5")
    check.commands(one)
    check.words(one)
    check.limits(one)
    check.keys(five)
    check.examples(five)
    for name in ("agentbox.1", "agentbox.yaml.5"):
        check.reader(check.source / "man" / name, "mandoc", "-Tlint", "-Wwarning")
        check.reader(check.source / "man" / name, "groff", "-mdoc", "-ww", "-Tutf8")
    return check.bad > 0


if __name__ == "__main__":
    sys.exit(main())
