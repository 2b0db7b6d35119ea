#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""lint-c - the project's own rules for C sources.

    lint-c.py CHECK     one of the names in CHECKS

Every run first holds the check against its own examples: a text that must be found and one
that must not. A check that cannot fail is an error. The parser knows the format that
clang-format gives the tree (a function's braces stand alone in column one), not C.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# Budgets. A header is what others must read.
FILE_LINES = 600
HEADER_LINES = 260
FUNCTION_LINES = 80
FUNCTION_PARAMETERS = 7

# The floors, lowest first. A file includes its own folder and lower floors.
FLOORS = {
    "base": 0,
    "sys": 1,
    "codec": 1,
    "filter": 1,
    "profile": 2,
    "audit": 2,
    "policy": 3,
    "plan": 4,
    "child": 5,
    "run": 6,
    "relay": 7,
    "session": 7,
    "approve": 7,
    "files": 7,
    "changes": 7,
    "cli": 8,
    "mcp": 8,
}

# Folders that may use less than everything below them: what they may include beside their own.
NARROW = {
    "base": (),
    "sys": (),
    "child": ("sys/", "plan/plan.h"),
}

# Libraries, and the only folder whose files may include their headers.
LIBRARIES = {
    "yaml.h": "codec",
    "jansson.h": "codec",
    "md5.h": "codec",
    "sha2.h": "codec",
    "seccomp.h": "none",
    "sys/capability.h": "cli",
}

# Calls that may not be made: names, the folders of src/ and the files that may make them all the
# same, why. `tests` stands for everything outside src/.
ANYWHERE = ()
BANNED = (
    (
        "strcpy strcat stpcpy sprintf vsprintf gets strtok mktemp tmpnam tempnam alloca strncat",
        ANYWHERE,
        "writes or hands out memory without a bound",
    ),
    ("atoi atol atoll atof sscanf", ("tests",), "cannot tell an error from a number"),
    ("system popen", ("tests",), "runs a shell"),
    (
        "exit err errx warn warnx verr verrx vwarn vwarnx printf vprintf puts putchar perror "
        "fprintf vfprintf fputs fputc dprintf psignal syslog",
        ("cli", "tests"),
        "only the command line floor prints and exits",
    ),
    ("_exit _Exit", ("sys", "child", "run", "cli", "tests"), "only a child process ends like this"),
    (
        "malloc calloc realloc reallocarray strdup strndup asprintf vasprintf",
        ("base", "tests"),
        "memory comes from base/: an arena or a strbuf",
    ),
    (
        "getenv secure_getenv setenv putenv unsetenv",
        ("cli", "tests"),
        "the environment is an argument, not a global",
    ),
    ("fork vfork", ("sys", "tests"), "processes are made by sys/"),
    ("pipe dup creat accept epoll_create inotify_init", ("tests",), "cannot set close-on-exec"),
    # The names of most that there is to remove are the command's choice.
    (
        "unlink unlinkat rmdir rename renameat renameat2 remove nftw sys_unlinkat sys_renameat2",
        (
            "tests",
            "src/cli/selftest-host.c",  # the private directory that it has made
            "src/cli/selftest-fs.c",  # the attacker, inside
            "src/cli/selftest-proc.c",  # the same
            "src/audit/rotate.c",  # a file of its own log, in its state directory
            "src/run/cgroup.c",  # cgroups of runs, by names that it has given, and empty ones alone
            "src/sys/fs.c",  # the calls themselves
            "src/child/work.c",  # inside: what the agent asked to be written over, and its own new name
        ),
        "agentbox removes and renames nothing of the host",
    ),
)

# Calls that make a descriptor, also where src/sys/ makes them by number. Their flags must say close-on-exec in the call itself, or be a
# variable that the same function sets so or takes as a parameter.
CLOEXEC_CALLS = (
    "open openat openat2 pipe2 socket socketpair accept4 epoll_create1 memfd_create signalfd "
    "timerfd_create inotify_init1 eventfd fsopen fsmount open_tree dup3"
)

# Places that want the opposite: (file, call) and why.
CLOEXEC_EXCEPTIONS = {
    ("src/cli/main.c", "open"): "fills a closed 0, 1 or 2, as the program would have found them",
}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def strip(text, keep_strings=False):
    """The text with comments, strings and character constants blanked, line by line."""
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"

    def replace(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] + blank_inner(token) + token[0]
        return blank(match)

    return re.sub(pattern, replace, text, flags=re.S)


def blank_inner(token):
    return " " * (len(token) - 2)


def no_directives(code):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, code, flags=re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def call_arguments(code, start):
    """The text between the parenthesis at `start` and its partner."""
    depth = 0
    for i in range(start, len(code)):
        if code[i] == "(":
            depth += 1
        elif code[i] == ")":
            depth -= 1
            if depth == 0:
                return code[start + 1 : i]
    return code[start + 1 :]


def split_commas(text):
    depth = 0
    parts = [""]
    for c in text:
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def functions(code):
    """(name, parameters, first offset, offset of the body, offset of its end) of each function."""
    found = []
    for match in re.finditer(r"^\{\n(.*?)^\}$", code, flags=re.M | re.S):
        head_start = max(code.rfind(mark, 0, match.start()) for mark in ("\n\n", "}\n", ";\n"))
        head = code[head_start + 1 : match.start()]
        name = re.search(r"([A-Za-z_]\w*)\s*\(", head)
        if not name:
            continue
        arguments = call_arguments(head, name.end() - 1)
        begin = head_start + 1 + len(head) - len(head.lstrip())
        found.append((name.group(1), arguments, begin, match.start(), match.end() - 1))
    return found


def folder_of(path):
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "src" else "tests"


def calls(code, names):
    pattern = r"(?<![\w.])(?<!->)(" + "|".join(names.split()) + r")\s*\("
    for match in re.finditer(pattern, code):
        # A declaration or definition of that name is not a call of it.
        before = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
        if re.match(r"^[A-Za-z_][\w\s*]*$", before) and not re.search(r"\b(return|else)\s*$", before):
            continue
        yield match


def check_budgets(path, text):
    lines = text.count("\n")
    limit = HEADER_LINES if path.endswith(".h") else FILE_LINES
    if lines > limit:
        yield 1, f"{lines} lines, at most {limit}: what is hiding in it?"
    code = no_directives(strip(text))
    for name, arguments, begin, body, end in functions(code):
        size = line_of(code, end) - line_of(code, body)
        if size > FUNCTION_LINES:
            yield line_of(code, begin), f"{name}() has {size} lines, at most {FUNCTION_LINES}"
        count = len(split_commas(arguments))
        if count > FUNCTION_PARAMETERS:
            yield line_of(code, begin), f"{name}() takes {count}, at most {FUNCTION_PARAMETERS}"


def check_floors(path, text):
    folder = folder_of(path)
    if folder not in FLOORS:
        if path.startswith("src/"):
            yield 1, "a file of src/ stands in one of the floors' folders"
        return
    code = strip(text, keep_strings=True)
    for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", code, flags=re.M):
        line = line_of(code, match.start())
        kind, name = match.groups()
        if kind == "<":
            only = LIBRARIES.get(name, folder)
            if only != folder:
                yield line, f"<{name}> is for src/{only}/ alone"
            continue
        other = name.split("/")[0]
        if re.fullmatch(r"[a-z0-9-]+\.inc", name):
            continue  # data that the build makes for this one file
        if "/" not in name or ".." in name or other not in FLOORS:
            yield line, f'"{name}": includes are written from src/, as "floor/name.h"'
        elif other == folder:
            continue
        elif folder in NARROW:
            if not any(name == allowed or (allowed.endswith("/") and name.startswith(allowed))
                       for allowed in NARROW[folder]):
                yield line, f'src/{folder}/ may not include "{name}"'
        elif FLOORS[other] >= FLOORS[folder]:
            yield line, f'"{name}" is not below src/{folder}/'


def top_level(code):
    """Declarations at file scope, each with its offset, initialisers and bodies removed."""
    depth = 0
    item = ""
    start = None
    for i, c in enumerate(code):
        if c == "{":
            depth += 1
            if depth == 1:
                item += "{}"
        elif c == "}":
            depth -= 1
            # A body ends an item, an initialiser or a type goes on to its semicolon.
            if depth == 0 and re.search(r"\)\s*\{\}$", item) and "=" not in item:
                item = ""
                start = None
        elif depth == 0:
            if c == ";":
                if item.strip():
                    yield start, item
                item = ""
                start = None
            else:
                if start is None and not c.isspace():
                    start = i
                item += c


def mutable(declaration):
    """Whether a declaration makes a variable that can be written to."""
    declarator = declaration.split("=")[0]
    if re.match(r"\s*(typedef|_Static_assert|static_assert)\b", declarator):
        return False
    if re.search(r"\b(struct|union|enum)\b[\s\w]*\{\}\s*$", declarator):
        return False
    if re.match(r"\s*(struct|union|enum)\s+\w+\s*$", declarator):
        return False
    # A function by the name of its type: types ending in _fn are functions, not pointers.
    if re.match(r"\s*(extern\s+)?\w+_fn\s+\w+\s*$", declaration):
        return False
    if re.search(r"\(\s*\*[\s\w]*\bconst\b[^)]*\)\s*\(", declarator):
        return False
    if "(" in declarator and not re.search(r"^[^(]*\(\s*\*", declarator):
        return False  # a prototype; "(*" makes it a pointer to a function
    return "const" not in declarator.rsplit("*", 1)[-1]


def check_globals(path, text):
    if folder_of(path) == "tests":
        return
    code = no_directives(strip(text))
    for start, declaration in top_level(code):
        if re.match(r"\s*extern\s+char\s*\*\*\s*environ$", declaration) and folder_of(path) == "cli":
            continue
        if mutable(declaration):
            words = " ".join(declaration.split())
            yield line_of(code, start), f"mutable at file scope: {words[:60]}"
    for _, _, _, body, end in functions(code):
        for match in re.finditer(r"^\t+static\s", code[body:end], flags=re.M):
            _, declaration = next(top_level(code[body + match.start() : end] + ";"))
            if mutable(declaration):
                words = " ".join(declaration.split())
                yield line_of(code, body + match.start()), f"mutable and static: {words[:60]}"


def check_calls(path, text):
    folder = folder_of(path)
    code = no_directives(strip(text))
    for names, allowed, why in BANNED:
        if folder in allowed or path in allowed:
            continue
        by_number = re.finditer(rf"call\d?\((?:__NR|NR|SYS)_({'|'.join(names.split())})\b", code)
        for match in (*calls(code, names), *by_number):
            yield line_of(code, match.start()), f"{match.group(1)}(): {why}"


def descriptor_calls(code):
    """(name, offset, arguments) of each call that makes a descriptor, by name or by number."""
    for match in calls(code, CLOEXEC_CALLS):
        yield match.group(1), match.start(), call_arguments(code, match.end() - 1)
    numbers = CLOEXEC_CALLS.replace("signalfd", "signalfd4").replace(" ", "|")
    for match in re.finditer(rf"\w*call\d?(?=\((?:__NR|NR|SYS)_({numbers})\b)", code, re.I):
        yield match.group(1).lower(), match.start(), call_arguments(code, match.end())


def check_cloexec(path, text):
    if folder_of(path) == "tests":
        return
    code = strip(text)
    macros = re.findall(r"^#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*CLOEXEC", code, flags=re.M)
    code = no_directives(code)
    bodies = functions(code)
    for name, offset, arguments in descriptor_calls(code):
        if (path, name) in CLOEXEC_EXCEPTIONS or "CLOEXEC" in arguments:
            continue
        if set(macros) & set(re.findall(r"\w+", arguments)):
            continue
        scope = parameters = ""
        for _, takes, _, body, end in bodies:
            if body <= offset <= end:
                scope = code[body:end]
                parameters = takes
        variable = re.search(r"\b(\w*flags|\w*how)\b", arguments)
        if variable and ("CLOEXEC" in scope or re.search(rf"\b{variable.group(1)}\b", parameters)):
            continue
        yield line_of(code, offset), f"{name}() without close-on-exec"


def check_comments(path, text):
    code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)
    for match in re.finditer(r"//", code):
        yield line_of(code, match.start()), "comments are /* */"
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, flags=re.M):
        yield 1, "a header says #pragma once"


BODY = "void f(void)\n{\n%s}\n"

# name -> (function, examples that must be found, examples that must not be)
CHECKS = {
    "budgets": (
        check_budgets,
        [
            ("src/base/a.c", "\n" * (FILE_LINES + 1)),
            ("src/base/a.h", "\n" * (HEADER_LINES + 1)),
            ("src/base/a.c", BODY % ("\tg();\n" * FUNCTION_LINES)),
            ("src/base/a.c", "int f(int a, int b, int c, int d, int e, int g,\n      int h, int i)\n{\n}\n"),
        ],
        [
            ("src/base/a.c", "\n" * FILE_LINES),
            ("src/base/a.h", "\n" * HEADER_LINES),
            ("src/base/a.c", BODY % ("\tg();\n" * (FUNCTION_LINES - 1))),
            ("src/base/a.c", "int f(int a, int b, int c, int d, int e, int g,\n      int h)\n{\n}\n"),
        ],
    ),
    "floors": (
        check_floors,
        [
            ("src/base/a.c", '#include "sys/fileid.h"\n'),
            ("src/sys/a.c", '#include "base/fd.h"\n'),
            ("src/profile/a.c", '#include "audit/audit.h"\n'),
            ("src/plan/a.h", '#include "run/run.h"\n'),
            ("src/child/a.c", '#include "plan/compile.h"\n'),
            ("src/child/a.c", '#include "base/err.h"\n'),
            ("src/plan/a.c", '#include "plan.h"\n'),
            ("src/plan/a.c", '#include "../run/run.h"\n'),
            ("src/policy/a.c", "#include <jansson.h>\n"),
            ("src/util/a.c", "\n"),
        ],
        [
            ("src/profile/a.c", '#include "codec/yaml.h"\n#include "profile/profile.h"\n'),
            ("src/profile/a.c", '#include "rows.inc"\n'),
            ("src/child/a.c", '#include "sys/fileid.h"\n#include "plan/plan.h"\n'),
            ("src/policy/a.c", '/* #include "run/run.h" */\n#include <errno.h>\n'),
            ("src/codec/json.h", "#include <jansson.h>\n"),
            ("src/cli/a.c", '#include "run/run.h"\n'),
            ("tests/a.c", '#include "run/run.h"\n'),
        ],
    ),
    "globals": (
        check_globals,
        [
            ("src/run/a.c", "static int count;\n"),
            ("src/run/a.c", "int count = 1;\n"),
            ("src/run/a.c", 'static const char *names[] = { "a" };\n'),
            ("src/run/a.c", "static struct x {\n\tint a;\n} v;\n"),
            ("src/run/a.c", "static int (*hook)(int a);\n"),
            ("src/run/a.c", BODY % "\tstatic char buf[9];\n"),
            ("src/run/a.c", "extern char **environ;\n"),
            ("src/run/a.c", "static hook_fn *hook;\n"),
        ],
        [
            ("src/run/a.h", "hook_fn hook_one;\n"),
            ("src/run/a.c", "static const int count = 1;\nint f(int a);\nstruct x;\n"),
            ("src/run/a.c", 'static const char *const names[] = { "a;b" };\n'),
            ("src/run/a.c", "static const struct row {\n\tint a;\n} rows[] = { { 1 } };\n"),
            ("src/run/a.c", "static int (*const hook)(int a) = f;\ntypedef int (*h)(void);\n"),
            ("src/run/a.c", "enum e { A, B };\nunion u {\n\tint a;\n};\nint *f(char *const *v);\n"),
            ("src/run/a.c", BODY % "\tstatic const char buf[9];\n\tint n = 1;\n"),
            ("src/run/a.c", BODY % "\tstatic const struct {\n\t\tint a;\n\t} t[] = { { 1 } };\n"),
            ("src/cli/a.c", "extern char **environ;\n"),
        ],
    ),
    "calls": (
        check_calls,
        [
            ("src/base/a.c", BODY % "\tstrcpy(a, b);\n"),
            ("src/run/a.c", BODY % '\tfprintf(stderr, "x");\n'),
            ("src/run/a.c", BODY % "\tif (x)\n\t\texit(1);\n"),
            ("src/plan/a.c", BODY % "\tp = malloc(1);\n"),
            ("src/policy/a.c", BODY % '\treturn getenv("HOME");\n'),
            ("src/cli/a.c", BODY % "\tn = atoi(s);\n"),
            ("src/run/a.c", BODY % "\t(void)unlinkat(fd, name, 0);\n"),
            ("src/cli/a.c", BODY % "\tif (rename(a, b) != 0)\n\t\treturn;\n"),
            ("src/sys/a.c", BODY % "\tr = sys_call3(SYS_unlinkat, 1, 2, 3);\n"),
            ("tests/a.c", BODY % "\tstrcpy(a, b);\n"),
        ],
        [
            ("tests/a.c", BODY % "\tn = atoi(s);\n"),
            ("src/base/a.c", BODY % "\tp = malloc(1);\n\t_exit_now(1);\n"),
            ("src/cli/a.c", BODY % '\tprintf("x");\n\texit(1);\n'),
            ("src/run/a.c", BODY % '\ts = "exit(1)"; /* exit(1) */\n\to->exit(1);\n\tmy_printf("x");\n'),
            ("src/run/a.h", "int warn(const char *s);\n"),
            ("src/cli/selftest-host.c", BODY % "\tr = unlinkat(fd, name, 0);\n"),
            ("src/filter/a.c", "static const int rows[] = { SYS_unlinkat };\n"),
        ],
    ),
    "cloexec": (
        check_cloexec,
        [
            ("src/run/a.c", BODY % "\tfd = open(p, O_RDONLY);\n"),
            ("src/run/a.c", BODY % "\tif (pipe2(fds, O_NONBLOCK) < 0)\n\t\treturn;\n"),
            ("src/run/a.c", BODY % "\tint flags = O_RDONLY;\n\tfd = open(p, flags);\n"),
            ("src/sys/a.c", BODY % "\tr = sys_call3(SYS_socket, 1, 2, 3);\n"),
            ("src/run/a.c", "#define F (O_PATH)\n" + BODY % "\tfd = open(p, F);\n"),
        ],
        [
            ("src/run/a.c", BODY % "\tfd = openat(d, p,\n\t\tO_RDONLY | O_CLOEXEC);\n"),
            ("src/run/a.c", BODY % "\tint flags = O_CLOEXEC;\n\tfd = open(p, flags);\n"),
            ("src/sys/a.c", BODY % "\tr = sys_call3(SYS_socket, 1, SOCK_CLOEXEC, f(3));\n"),
            ("src/run/a.c", "#define F (O_PATH | O_CLOEXEC)\n" + BODY % "\tfd = open(p, F);\n"),
            ("src/sys/a.c", "int sys_openat(int d, const char *p, int flags)\n{\n\treturn openat(d, p, flags);\n}\n"),
            ("tests/a.c", BODY % "\tfd = open(p, O_RDONLY);\n"),
        ],
    ),
    "comments": (
        check_comments,
        [
            ("src/base/a.c", "int a; // x\n"),
            ("src/base/a.h", "int a;\n"),
        ],
        [
            ("src/base/a.c", '/* // */\nconst char *a = "//";\n'),
            ("src/base/a.h", "#pragma once\n"),
        ],
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
            print(f"self-test of {name}: found in {path}:{line}: {message}: {text[:70]!r}")
            ok = False
    return ok


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        print(f"usage: lint-c.py {'|'.join(CHECKS)}")
        return 2
    name = sys.argv[1]
    if not self_test(name):
        return 1
    listing = subprocess.run(
        ["sh", str(TOP / "tools/lint-files.sh"), "src/*.[ch]", "tests/*.[ch]"],
        check=True, capture_output=True, text=True,
    )
    files = listing.stdout.split("\n")[:-1]
    found = 0
    for path in files:
        text = (TOP / path).read_text(encoding="utf-8")
        for line, message in CHECKS[name][0](path, text):
            print(f"{path}:{line}: {message}")
            found += 1
    print(f"{name}: {len(files)} files, {found} found")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
