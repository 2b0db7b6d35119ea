# SPDX-License-Identifier: LGPL-2.1-or-later
"""Paste text into an interactive bash on a terminal, as somebody does who follows a page.

    paste.py DIRECTORY {FILE PATTERN}...

Each FILE is pasted whole, when the prompt is there; it has come to its end when the terminal shows
PATTERN and then the prompt. Prints all that the terminal showed, and after each file "=> STATUS".
"""

import os
import pty
import re
import select
import sys
import time

CEILING = 800  # seconds for a file: one of them builds this project
PROMPT = "ready> "


def read_until(fd, pattern):
    text = ""
    end = time.monotonic() + CEILING
    while not re.search(pattern, text):
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            raise SystemExit(f"{text}\nno {pattern!r}")
        try:
            data = os.read(fd, 65536)
        except OSError:
            raise SystemExit(f"{text}\nthe shell ended") from None
        text += data.decode(errors="replace").replace("\r\n", "\n")
    return text


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(sys.argv[1])
        os.environ.update(PS1=PROMPT, PS2="", TERM="dumb", HISTFILE="")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    shown = read_until(fd, PROMPT)
    for name, pattern in zip(sys.argv[2::2], sys.argv[3::2]):
        with open(name, "rb") as file:
            os.write(fd, file.read())
        shown += read_until(fd, f"(?m)^{pattern}[\\s\\S]*^{PROMPT}$")
        os.write(fd, b"echo '=>' $?\n")
        shown += read_until(fd, f"(?m)^=> [0-9]+\n[\\s\\S]*^{PROMPT}$")
    print(shown)
    os.close(fd)
    os.waitpid(pid, 0)


main()
