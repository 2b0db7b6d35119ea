#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cross - the whole source compiles for aarch64, and what needs no library works there.

    cross.py SOURCE BUILD         TAP

Every command of the build's compile_commands.json for src/ is given to the cross compiler, with the
system call table of that architecture. The headers of the three libraries are the build machine's:
they are the same everywhere. What tests no more than the lowest floors and the filters is linked
statically and run by qemu-user, where that is installed. First, what -Dfilter_arch names is what a
build compiles in.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CC = "aarch64-linux-gnu-gcc"
RUN = ("qemu-aarch64", "qemu-aarch64-static")
HEADERS = ("jansson.h", "jansson_config.h", "yaml.h", "sha2.h", "md5.h")
# Tests of the floors that need no library, and their arguments below the build.
TESTS = {
    "filter/test-table.c": (["filter/arch-x86_64.c", "filter/arch-aarch64.c"], []),
    "filter/test-dump.c": (
        ["filter/arch-x86_64.c", "filter/arch-aarch64.c"],
        ["src/filter/syscalls-x86_64.txt", "src/filter/syscalls-aarch64.txt"],
    ),
}
FLOORS = ("base", "sys", "filter")


class Tap:
    def __init__(self):
        self.n = 0
        self.bad = 0

    def ok(self, good, what, detail=""):
        self.n += 1
        self.bad += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {what}", flush=True)
        for line in detail.splitlines()[:20] if not good else ():
            print(f"#   {line}")

    def skip(self, what, why):
        if os.environ.get("AGENTBOX_MUST_WORK") == "1":
            self.ok(False, what, f"must work, but: {why}")
        else:
            self.n += 1
            print(f"ok {self.n} - {what} # SKIP {why}")

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.bad > 0)


def headers(folder):
    """The libraries' own, without the rest of the build machine's."""
    folder.mkdir()
    for name in HEADERS:
        for place in ("/usr/include", f"/usr/include/{os.uname().machine}-linux-gnu"):
            if Path(place, name).exists():
                (folder / name).symlink_to(Path(place, name))
                break
    return folder


def command(entry, out, extra):
    """The same for the other machine, to an object in @out."""
    words = shlex.split(entry["command"])
    words = words[next(i for i, w in enumerate(words) if w.endswith(("gcc", "cc", "clang"))) + 1:]
    ret = [CC, "-isystem", str(extra)]
    skip = False
    for w in words:
        if skip:
            skip = False
        elif w in ("-o", "-MF", "-MQ"):
            skip = True
        elif w not in ("-MD", "-Xclang") and not w.startswith(("-m", "-fcf-protection", "-fsanitize")):
            ret.append(w.replace("filter-x86_64.inc", "filter-aarch64.inc"))
    name = Path(entry["file"])
    obj = out / ("-".join(name.parts[-3:]) + ".o")
    return [*ret, "-o", str(obj)], obj


def filter_files(commands):
    """Which architecture's table each command that compiles one is given."""
    return {name for e in json.loads(commands.read_text())
            for name in re.findall(r"FILTER_DATA=[^ ]*?(filter-[a-z0-9_]+\.inc)", e["command"])}


def check_option(tap, source, tmp):
    """What names the machine where the build cannot know it."""
    for arch, want in ("aarch64", {"filter-aarch64.inc"}), ("x86_64", {"filter-x86_64.inc"}), ("sparc", None):
        folder = Path(tmp, f"option-{arch}")
        r = subprocess.run(["meson", "setup", f"-Dfilter_arch={arch}", folder, source],
                           capture_output=True, text=True)
        if want is None:
            tap.ok(r.returncode != 0 and f"\"{arch}\"" in r.stdout + r.stderr, f"-Dfilter_arch={arch} is refused",
                   r.stdout + r.stderr)
            continue
        got = filter_files(folder / "compile_commands.json") if r.returncode == 0 else r.stdout + r.stderr
        tap.ok(got == want, f"-Dfilter_arch={arch} compiles the table of {arch} in", str(got))


def main():
    source, build = (Path(p).resolve() for p in sys.argv[1:])
    tap = Tap()
    if shutil.which(CC) is None:
        tap.skip("the source compiles for aarch64", f"there is no {CC}")
        tap.end()
    entries = {}
    for e in json.loads((build / "compile_commands.json").read_text()):
        path = Path(e["directory"], e["file"]).resolve()
        if path.is_relative_to(source) and "gen-" not in e["command"].split(" -o ")[-1]:
            entries.setdefault(path.relative_to(source), e)
    with tempfile.TemporaryDirectory(prefix="agentbox-cross.") as tmp:
        out = Path(tmp, "obj")
        out.mkdir()
        check_option(tap, source, tmp)
        extra = headers(Path(tmp, "include"))
        objects, errors = {}, []

        def compile_one(path):
            argv, obj = command(entries[path], out, extra)
            r = subprocess.run(argv, cwd=entries[path]["directory"], capture_output=True, text=True)
            if r.returncode != 0:
                errors.append(f"{path}: {r.stderr}")
            else:
                objects[path] = obj

        for path in sorted(entries):
            if path.parts[0] == "src":
                compile_one(path)
        tap.ok(len(objects) > 100 and not errors,
               f"{len(objects)} files of the source compile for aarch64", "\n".join(errors))
        qemu = next((r for r in RUN if shutil.which(r)), None)
        for name, (more, args) in TESTS.items():
            what = f"{name} works there"
            if qemu is None:
                tap.skip(what, "there is no qemu-user")
                continue
            files = [Path("tests/unit", f) for f in (name, *more)]
            for f in files:
                compile_one(f)
            objs = [str(objects[f]) for f in files if f in objects]
            objs += [str(o) for p, o in objects.items() if p.parts[0] == "src" and p.parts[1] in FLOORS
                     and p.name != "table.c"]
            prog = Path(tmp, "test")
            r = subprocess.run([CC, "-static", "-o", prog, *objs], capture_output=True, text=True)
            if r.returncode == 0:
                r = subprocess.run([qemu, prog, *[str(build / a) for a in args]],
                                   capture_output=True, text=True)
                r.stderr += "\n".join(line for line in r.stdout.splitlines() if not line.startswith("ok"))
            tap.ok(r.returncode == 0 and "\n1.." in r.stdout, what, r.stderr)
    tap.end()


main()
