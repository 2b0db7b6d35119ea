#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""threats - hold the threat model of README.md against the tree.

    threats.py SOURCE BUILD

Each asset, entry and data flow names tests that exist; an entry or a flow names sources that exist,
and one of its tests is about each of them. The entries are those of ARCHITECTURE.md, and every fuzz
target is about one. What is not stopped is said in SECURITY.md and in the manual in the same words,
and the manual's list holds nothing else; and a live test that is named beside it shows it, in a part
that begins with "# Not stopped: " and these words. Each of these rules is first held against a broken
text.
"""
import json
import re
import sys
from pathlib import Path

ASSETS = {
    "the caller's files", "secrets", "network position", "terminal", "machine",
    "work of other agents", "record of what happened",
}
TABLES = ("asset", "entry", "data flow")
UNTESTED = {"kernel bugs and side channels"}  # nobody knows what to try


class Tree:
    def __init__(self, source, build):
        self.top = Path(source)
        listed = json.loads((Path(build) / "meson-info/intro-tests.json").read_text())
        self.tests = {t["name"] for t in listed}
        self.tests |= {p.stem for p in (self.top / "tests/live").glob("[0-9]*.sh")}
        self.unstopped = {
            p.stem: {plain(w) for w in re.findall(r"^\s*# Not stopped: (.*)$", p.read_text(encoding="utf-8"), re.M)}
            for p in (self.top / "tests/live").glob("[0-9]*.sh")}
        self.fuzz = {p.stem for p in (self.top / "tests/fuzz").glob("fuzz-*.c")}
        self.text = {n: (self.top / n).read_text(encoding="utf-8")
                     for n in ("README.md", "ARCHITECTURE.md", "SECURITY.md", "man/agentbox.1")}

    def headers(self, path):
        """The project's headers that a file includes, and its own."""
        text = path.read_text(encoding="utf-8")
        own = {f"{path.parent.name}/{path.stem}.h"} if "src" in path.parts else set()
        return own | {h for h in re.findall(r'^#include "([\w/-]+\.h)"', text, re.M)
                      if not h.startswith("base/") or path.parent.name in ("base", "fuzz")}

    def files_of(self, test):
        floor, _, rest = test.partition("-")
        found = [self.top / f"tests/fuzz/{test}.c"]
        for n in range(rest.count("-") + 1):
            found.append(self.top / f"tests/unit/{floor}/test-{rest.rsplit('-', n)[0]}.c")
        return [p for p in found if p.is_file()]

    def is_about(self, test, source):
        if re.match(r"\d\d-", test):
            return True  # what a live test goes through is not seen in it
        path = self.top / f"src/{source}.c"
        folder = source.split("/")[0] + "/"
        mine = {h for h in self.headers(path) if h.startswith(folder)}
        text, todo, seen = "", self.files_of(test), set()
        while todo:
            found = todo.pop()
            if found in seen or not found.is_file():
                continue
            seen.add(found)
            here = found.read_text(encoding="utf-8")
            text += here
            # What lies beside it, and the header that a floor keeps to itself.
            for name in re.findall(r'^#include "([\w./-]+)"', here, re.M):
                todo.append((self.top / "src" if name.endswith("/internal.h") else found.parent) / name)
        return any(f'"{h}"' in text for h in mine)


def section(text, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def tables(text):
    """Name of the first column -> rows."""
    out, name = {}, None
    for line in text.splitlines():
        if not line.startswith("|"):
            name = None
        elif name is None:
            name = line.split("|")[1].split(":")[0].strip()
            out[name] = []
        elif not line.startswith("|---"):
            out[name].append([c.strip() for c in line.strip("|").split("|")])
    return out


def ticked(cell):
    return re.findall(r"`([^`]+)`", cell)


def plain(text):
    """Markup of both kinds gone, in one line: what a reader reads."""
    text = re.sub(r"^\.It *$", "\x01", text, flags=re.M)
    text = re.sub(r"^\.(Sy|Pa|Ql|Dl|Sx|Fl|Ar|Nm) ?", "", text, flags=re.M)
    text = re.sub(r"^\.Pq (.*)$", r"(\1)", text, flags=re.M)
    text = re.sub(r"[*`]", "", text)
    return re.sub(r" ([:,.;])", r"\1", re.sub(r"\s+", " ", text)).lower()


def entries_of(architecture):
    text = section(architecture, "Who parses untrusted bytes")
    return {t for row in tables(text).get("bytes", []) for t in ticked(row[2])
            if re.fullmatch(r"[a-z]+/[a-z-]+", t) and not t.startswith("child/")}


def faults(tree, text):
    model = section(text["README.md"], "Threat model")
    found = tables(model)
    for name in TABLES:
        if not found.get(name):
            yield f"no table of the kind '{name}'"
            return
    assets = {row[0] for row in found["asset"]}
    for asset in sorted(assets ^ ASSETS):
        yield f"asset: {asset}: not in both lists"
    read_by = set()
    for name in TABLES:
        for row in found[name]:
            what, sources, tests = row[0], ticked(row[-2]), ticked(row[-1])
            if not tests:
                yield f"{name}: {what}: no test"
            for test in tests:
                if test not in tree.tests:
                    yield f"{name}: {what}: no such test: {test}"
            if name == "asset":
                continue
            if not sources:
                yield f"{name}: {what}: no source"
            for source in sources:
                if not (tree.top / f"src/{source}.c").is_file():
                    yield f"{name}: {what}: no such source: {source}"
                elif not any(t in tree.tests and tree.is_about(t, source) for t in tests):
                    yield f"{name}: {what}: no test of it is about {source}"
            read_by |= set(sources) if name == "entry" else set()
    for source in sorted(read_by ^ entries_of(text["ARCHITECTURE.md"])):
        yield f"entry: {source}: not in both README.md and ARCHITECTURE.md"
    named = {t for name in TABLES for row in found[name] for t in ticked(row[-1])}
    for target in sorted(tree.fuzz - named):
        yield f"{target} is fuzzed, and stands for no entry or flow"
    yield from faults_of_limits(tree, model, text)


def faults_of_limits(tree, model, text):
    limits = re.findall(r"\*\*(.+?)\*\*([^*]*)", model.split("Not stopped", 1)[-1], re.S)
    said = [plain(words) for words, _ in limits]
    for words, (_, after) in zip(said, limits):
        tests = [t for t in ticked(after) if re.match(r"\d\d-", t)]
        if bool(tests) == (words in UNTESTED):
            yield f"not stopped: {words}: {'a test after all' if tests else 'no test'}"
        for test in tests:
            if words not in tree.unstopped.get(test, ()):
                yield f"not stopped: {words}: not in the test {test}"
    if len(said) < 10:
        yield f"not stopped: only {len(said)} things"
    for test, there in sorted(tree.unstopped.items()):
        for words in sorted(there - set(said)):
            yield f"not stopped: in {test} and not in README.md: {words}"
    manual = re.search(r"^\.Sh WHAT IT DOES NOT PROTECT\n(.*?)^\.Sh", text["man/agentbox.1"], re.M | re.S)
    manual = plain(manual.group(1)) if manual else ""
    security = plain(section(text["SECURITY.md"], "What is not"))
    for words in said:
        for where, there in (("SECURITY.md", security), ("agentbox.1", manual)):
            if words not in there:
                yield f"not stopped: {words}: not said in {where}"
    for item in manual.split("\x01")[1:]:
        if not any(words in item for words in said):
            yield f"not stopped: in agentbox.1 and not in README.md: {item.strip()[:60]}"


BROKEN = (
    ("README.md", "| terminal |", "| terminals |"),
    ("README.md", "| data flow |", "| flow |"),
    ("README.md", "`41-escapes` |", "`41-no-such-test` |"),
    ("README.md", "`relay/dns`, `relay/hello`", "`relay/dns`, `relay/no-such`"),
    ("README.md", "`relay/dns`, `relay/hello`", "`relay/hello`"),
    ("README.md", "`fuzz-interp`", "`fuzz-gitconfig`"),
    ("README.md", "**kernel bugs and side channels**", "**kernel bugs and side effects**"),
    ("README.md", "**a profile that an attacker wrote**", "a profile"),
    ("README.md", "as a whole** (`14-audit`)", "as a whole**"),
    ("README.md", "(`33-commands`)", "(`32-landlock`)"),
    ("README.md", "(`07-proc`)", "(`07-no-such-test`)"),
    ("ARCHITECTURE.md", "`policy/gitconfig`", "`policy/git-no-such`"),
    ("SECURITY.md", "- Kernel bugs and side channels.", "- Bugs."),
    ("man/agentbox.1", "\nFilling a disk through a writable root.", "\nFilling a disk."),
)


def self_test(tree):
    for name, good, bad in BROKEN:
        if good not in tree.text[name]:
            yield f"self-test: {name} has no {good!r} to break"
        elif not list(faults(tree, {**tree.text, name: tree.text[name].replace(good, bad)})):
            yield f"self-test: {name}: {bad!r} is accepted"


def main():
    tree = Tree(*sys.argv[1:3])
    found = list(faults(tree, tree.text)) or list(self_test(tree))
    for fault in found:
        print(f"README.md: threat model: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
