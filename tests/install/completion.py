#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""completion - what the shells themselves complete, with the scripts that are installed.

    completion.py SHELL SCRIPT AGENTBOX

A shell runs on a terminal of its own. What it made of a line is told by a function that stands in
the place of agentbox and prints its arguments.
"""

import os
import pty
import re
import select
import shutil
import sys
import tempfile
import time

CEILING = 60  # seconds; nothing here waits for time to pass

# Typed after "agentbox ", with KEY for the shell's own key, and the arguments that come of it.
BASH = [
    ("ru", ["run"]),
    ("che", ["check"]),
    ("-", ["--help", "--version"]),
    ("run --pro", ["run", "--profile", "--profile-fd"]),
    ("run --work", ["run", "--workdir", "--workspace"]),
    ("run -p pro", ["run", "-p", "profile.yaml"]),
    ("run --profile pro", ["run", "--profile", "profile.yaml"]),
    ("run --profile=pro", ["run", "--profile=profile.yaml"]),
    ("run -p 'with b", ["run", "-p", "with blank.yaml"]),
    ("run -p defau", ["run", "-p", "default"]),
    ("run -w p", ["run", "-w", "place"]),
    ("run --json=", ["run", "--json=split"]),
    ("run --env AGENTBOX_TEST_N", ["run", "--env", "AGENTBOX_TEST_NAME"]),
    ("run -p profile.yaml -- agentbox_a_com", ["run", "-p", "profile.yaml", "--", "agentbox_a_command"]),
    ("run -p profile.yaml -- cat pro", ["run", "-p", "profile.yaml", "--", "cat", "profile.yaml"]),
    ("audit ver", ["audit", "verify"]),
    ("audit verify pro", ["audit", "verify", "profile.yaml"]),
    ("check run_c", ["check", "run_command"]),
    ("help self", ["help", "selftest"]),
    # What a command does not have.
    ("check --time", ["check", "--time"]),
    ("run --timeout 1", ["run", "--timeout", "1"]),
]
ZSH = [
    ("ru", ["run"]),
    ("run --timeo", ["run", "--timeout"]),
    ("run -p pro", ["run", "-p", "profile.yaml"]),
    ("run --profile=pro", ["run", "--profile=profile.yaml"]),
    ("run -p defau", ["run", "-p", "default"]),
    ("run -w p", ["run", "-w", "place"]),
    ("run --env AGENTBOX_TEST_N", ["run", "--env", "AGENTBOX_TEST_NAME"]),
    ("run -p profile.yaml -- cat pro", ["run", "-p", "profile.yaml", "--", "cat", "profile.yaml"]),
    ("audit ver", ["audit", "verify"]),
    ("check run_c", ["check", "run_command"]),
    ("help self", ["help", "selftest"]),
    ("check --time", ["check", "--time"]),
]
FISH = [
    ("ru", ["run"]),
    ("run --timeo", ["--timeout"]),
    ("run -p pro", ["profile.yaml"]),
    ("run -p defau", ["default"]),
    ("run -w p", ["place/"]),
    ("run --json=", ["--json=split"]),
    ("run --env AGENTBOX_TEST_N", ["AGENTBOX_TEST_NAME"]),
    ("run -p profile.yaml -- cat pro", ["profile.yaml"]),
    ("audit ver", ["verify"]),
    ("check run_c", ["run_command"]),
    ("help self", ["selftest"]),
    ("check --time", []),
]

SHOW = "agentbox() { printf '\\nGOT'; printf ' <%s>' \"$@\"; printf ' END\\n'; }"


class Shell:
    """A shell on a terminal."""

    def __init__(self, argv, folder):
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", PS1="", LC_ALL="C.UTF-8", HOME=folder, ZDOTDIR=folder,
                              AGENTBOX_TEST_NAME="1", HISTFILE="")
            os.environ["PATH"] = folder + "/bin:" + os.environ["PATH"]
            os.execvp(argv[0], argv)
        self.pid = pid

    def send(self, text):
        data = text.encode()
        while data:
            data = data[os.write(self.fd, data):]

    def wait(self, pattern):
        """The match of what it prints from here on."""
        end = time.monotonic() + CEILING
        while True:
            match = re.search(pattern, self.text, re.S)
            if match:
                self.text = self.text[match.end():]
                return match
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise SystemExit(f"not ok - no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise SystemExit(f"not ok - the shell ended: {self.text!r}") from None

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def interactive(shell, setup, key, rows):
    shell.send(setup + "; echo SET''UP\r")
    shell.wait("SETUP")
    for typed, want in rows:
        quote = "'" if typed.count("'") % 2 and key == "\t" else ""
        shell.send(f"agentbox {typed}{key}{quote}\r")
        got = shell.wait(r"\nGOT((?: <[^>]*>)*) END").group(1)
        yield typed, re.findall(r"<([^>]*)>", got), want


def bash(script, folder):
    shell = Shell(["bash", "--norc", "--noprofile", "-i"], folder)
    # All matches into the line; one alone must be unique to be told from the text that was typed.
    setup = f"{SHOW}; bind '\"\\C-xa\": insert-completions'; source {script}"
    yield from interactive(shell, setup, "\x18a", BASH)
    shell.close()


def zsh(script, folder):
    shell = Shell(["zsh", "-f", "-i"], folder)
    setup = (f"{SHOW}; fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; "
             "compinit -u -D; unsetopt beep")
    yield from interactive(shell, setup, "\t", ZSH)
    shell.close()


def fish(script, folder):
    for typed, want in FISH:
        shell = Shell(["fish", "--no-config", "-c",
                       f"source {script}; complete -C 'agentbox {typed}' | string replace -r '\\t.*' ''; echo END"],
                      folder)
        got = shell.wait(r"^(.*)END").group(1).split()
        shell.close()
        yield typed, got, want


def main():
    name, script = sys.argv[1], os.path.abspath(sys.argv[2])
    if shutil.which(name) is None:
        must = os.environ.get("AGENTBOX_MUST_WORK") == "1"
        print(f"1..1\nnot ok 1 - {name} is not installed" if must else f"1..0 # SKIP no {name}")
        return must
    bad = n = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/place")
        os.mkdir(folder + "/bin")
        for file in ("profile.yaml", "with blank.yaml", "bin/agentbox_a_command"):
            with open(f"{folder}/{file}", "w", encoding="utf-8"):
                pass
        os.chmod(folder + "/bin/agentbox_a_command", 0o755)
        os.symlink(os.path.abspath(sys.argv[3]), folder + "/bin/agentbox")
        for typed, got, want in {"bash": bash, "zsh": zsh, "fish": fish}[name](script, folder):
            n += 1
            bad += got != want
            print(f"{'ok' if got == want else 'not ok'} {n} - agentbox {typed}")
            if got != want:
                print(f"# got  {got}\n# want {want}")
    print(f"1..{n}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
