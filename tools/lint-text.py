#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""lint-text - rules for every file of the project, whatever its kind.

    lint-text.py CHECK     one of the names in CHECKS

As in lint-c.py, a check is first held against examples that it must and must not find.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

LICENCE = "SPDX-License-Identifier: LGPL-2.1-or-later"

# What the project does not speak of. The brackets keep a row from finding itself.
WORDS = (
    (r"/wor[k]/(main|shared|\.library)\b", "a path of somebody's machine"),
    (r"/hom[e]/(?!agent\b)[a-z]+/(src|projects?|git)/", "a path of somebody's machine"),
    (r"\b(deb|security|snapshot)\.debian[.]org\b", "a package host: name the package manager"),
    (r"\bregistry\.npmjs[.](org|com)\b", "a package host: name the package manager"),
    (r"\b(pypi|files)\.(pythonhoste[d]\.)?or[g]\b/", "a package host: name the package manager"),
    (r"(?i)\bco-authored-b[y]:", "how a text came to be belongs nowhere in it"),
    (r"(?i)\bgenerated (with|by) [\[(]?(claud[e]|chatgp[t]|copilo[t]|gemin[i]|curso[r]|code[x])\b",
     "how a text came to be belongs nowhere in it"),
    (r"(?i)\bas an ai (language )?mode[l]\b", "how a text came to be belongs nowhere in it"),
)

# Texts that are not ours to edit.
FOREIGN = ("COPYING",)

CODE = (".c", ".h", ".sh", ".py", ".build")


def is_script(text):
    return text.startswith("#!")


def check_licence(path, text):
    if path.startswith("tests/fuzz/corpus/"):
        return  # what tests are given is nobody's text
    lines = text.split("\n", 2)[:2]
    if path.endswith((".c", ".h")):
        if lines[0] != f"/* {LICENCE} */":
            yield 1, f"the first line is /* {LICENCE} */"
    elif path.endswith((".sh", ".py")) or is_script(text):
        if f"# {LICENCE}" not in lines:
            yield 2, f"one of the first two lines is # {LICENCE}"


def check_words(path, text):
    if path in FOREIGN:
        return
    for pattern, why in WORDS:
        for match in re.finditer(pattern, text):
            yield text.count("\n", 0, match.start()) + 1, f"{match.group(0)!r}: {why}"


def check_ends(path, text):
    if path in FOREIGN or (path.startswith("tests/") and not path.endswith(CODE)):
        return  # what tests are given may end as it likes
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "the last line has no newline"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip() and not path.endswith(".md"):
            yield number, "space at the end of the line"


# name -> (function, examples that must be found, examples that must not be)
CHECKS = {
    "licence": (
        check_licence,
        [
            ("a.c", "int a;\n"),
            ("a.sh", "#!/bin/sh\necho\n"),
            ("tool", "#!/bin/sh\necho\n"),
            ("a.h", "/* SPDX-License-Identifier: MIT */\n"),
        ],
        [
            ("tests/fuzz/corpus/a/b", "#!/bin/sh\n"),
            ("a.c", f"/* {LICENCE} */\n"),
            ("a.sh", f"#!/bin/sh\n# {LICENCE}\n"),
            ("a.md", "text\n"),
        ],
    ),
    "words": (
        check_words,
        [
            ("a.c", "see /wor" + "k/main/src\n"),
            ("a.md", "from deb.debian" + ".org\n"),
            ("a.md", "Co-authored-b" + "y: x\n"),
            ("a.md", "Generated with Claud" + "e\n"),
        ],
        [
            ("a.yaml", "roots: [/workspace/main, /work/a]\nfreeze: [.claude, .codex]\n"),
            ("a.md", 'hosts: ["pypi.org:443", "registry.example.org"]\n'),
        ],
    ),
    "ends": (
        check_ends,
        [("a.c", "int a;"), ("a.c", "int a; \n")],
        [("a.c", "int a;\n"), ("a.md", "two spaces  \n"), ("empty", "")],
    ),
}


def self_test(name):
    check, bad, good = CHECKS[name]
    ok = True
    for path, text in bad:
        if not list(check(path, text)):
            print(f"self-test of {name}: not found in {path}: {text[:70]!r}")
            ok = False
    for path, text in good:
        for line, message in check(path, text):
            print(f"self-test of {name}: found in {path}:{line}: {message}")
            ok = False
    return ok


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        print(f"usage: lint-text.py {'|'.join(CHECKS)}")
        return 2
    name = sys.argv[1]
    if not self_test(name):
        return 1
    listing = subprocess.run(
        ["sh", str(TOP / "tools/lint-files.sh")], check=True, capture_output=True, text=True
    )
    files = listing.stdout.split("\n")[:-1]
    found = 0
    for path in files:
        try:
            text = (TOP / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a fuzz corpus and the like
        for line, message in CHECKS[name][0](path, text):
            print(f"{path}:{line}: {message}")
            found += 1
    print(f"{name}: {len(files)} files, {found} found")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
