# SPDX-License-Identifier: LGPL-2.1-or-later
"""What 60-terminal.sh does on a real pty.

    terminal.py AGENTBOX PROBE PROFILE WORKSPACE STATE PART      prints TAP lines

What is waited for never stands in what is typed: the terminal echoes."""
import hashlib
import os
import re
import shlex
import shutil
import signal
import sys
import termios
import time

from pty_driver import Tap, Terminal

AGENTBOX, PROBE, PROFILE, WS, STATE, PART = sys.argv[1:]
TAP = Tap()
RUN = [AGENTBOX, "run", "--state", STATE, "-p", PROFILE]
UP = "echo u''p; "  # for sh; what is typed or shown of it does not say "up"


# A signal that comes while it looks is not lost.
SIZES = """import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
signal.signal(signal.SIGINT, signal.SIG_DFL)
while True:
    print(*reversed(os.get_terminal_size()), flush=True)
    signal.sigwait({signal.SIGWINCH})
"""


def inside(*cmd, opt=(), **more):
    return Terminal([*RUN, *opt, "--", *cmd], cwd=WS, **more)


def script(text, *args):
    path = os.path.join(WS, f"s{len(os.listdir(WS))}.sh")
    with open(path, "w") as f:
        f.write(text)
    return ["bash", "--norc", "--noprofile", path, *args]


def shell():
    """An interactive shell, outside, that does job control."""
    t = Terminal(["bash", "--norc", "--noprofile", "-i"], cwd=WS,
                 env=dict(os.environ, PS1="out$((1+1))> ", AB=" ".join(RUN), SIZES=SIZES, HISTFILE="/dev/null",
                          INPUTRC="/dev/null"))
    t.expect("out2> ")
    return t


def out_of(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def children(pid):
    out = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            out.append(int(p))
    return out


def agentbox_below(pid):
    """The supervisor that the shell @pid started."""
    for p in children(pid):
        try:
            if os.path.basename(os.readlink(f"/proc/{p}/exe")).startswith("agentbox"):
                return p
        except OSError:
            pass
    return 0


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


# --- the pty and what it is ---------------------------------------------------------------------

def what_it_is():
    with inside("bash", "-c", "tty; stty size; stty -a; ls /dev/pts | tr '\\n' ' '; ps -o tty= -p $$; "
                "test -t 0 && test -t 1 && test -t 2 && echo all-$((1+1)); "
                "echo x 2>/dev/null >/dev/tty && echo ctty-$((1+1)); exit 7") as t:
        TAP.equal(t.end(), 7, "the status of the command is handed on")
        out = t.seen.decode()
        for text, what in (
                ("/dev/pts/0\r\n40 132\r\n", "it is the sandbox's own, of the size of the caller's"),
                ("erase = ^H;", "with the modes of the caller's"),
                ("0 ptmx ", "no other terminal is there"), ("pts/0", "ps knows it"),
                ("all-2", "it is descriptors 0, 1 and 2"), ("ctty-2", "and /dev/tty")):
            TAP.ok(text in out, what, out)
        TAP.ok(t.is_as_it_was(), "the modes are as they were")
    with inside("sh", "-c", "exec <&- >&- 2>&-; exit 3") as t:
        TAP.equal(t.end(), 3, "a command that closes it")
    with inside("sh", "-c", "echo out; echo err >&2; test -t 2 || echo no-$((1+1))",
                redirect={2: f"{WS}/err"}) as t:
        TAP.equal(t.end(), 0, "with standard error redirected")
        TAP.ok(b"no-2" in t.seen and b"err" not in t.seen, "it is no terminal", t.seen)
        with open(f"{WS}/err") as f:
            TAP.equal(f.read(), "err\n", "and goes where it was sent")


def when():
    probe = "test -t 0 || echo in-$((1+1)); test -t 1 || echo out-$((1+1))"
    with inside("sh", "-c", probe, opt=["--no-tty"]) as t:
        TAP.equal(t.end(), 0, "--no-tty")
        TAP.ok(b"in-2" in t.seen and b"out-2" in t.seen, "gives pipes", t.seen)
    with inside("sh", "-c", "head -n 1; echo e''nd", opt=["--no-tty"]) as t:
        t.send("typed\n")
        t.expect("typed\r\n(?s:.*)typed\r\nend")
        TAP.equal(t.end(), 0, "which input comes through")
    with inside("sh", "-c", probe, opt=["-t"]) as t:
        TAP.equal(t.end(), 0, "-t")
        TAP.ok(b"-2" not in t.seen, "gives the terminal", t.seen)
    with inside("sh", "-c", probe, control=False) as t:
        TAP.equal(t.end(), 0, "on a terminal that controls nothing")
        TAP.ok(b"-2" not in t.seen, "it is given too", t.seen)
        TAP.ok(t.is_as_it_was(), "and its modes are put back")
    with inside("sh", "-c", "test -t 1 || echo out-$((1+1))", opt=["--json"]) as t:
        TAP.equal(t.end(), 0, "--json on a terminal")
        TAP.ok(rb'"output":"out-2\n"' in t.seen.replace(b" ", b""), "keeps the output of a pipe", t.seen)
    for opt, want in ((["-t", "--json"], "-t and --json"), (["-t", "--no-tty"], "not both")):
        with inside("sh", "-c", "echo r''an", opt=opt) as t:
            TAP.equal(t.end(), 125, f"{' '.join(opt)} is refused")
            TAP.ok(want.encode() in t.seen and b"ran" not in t.seen, "with the reason", t.seen)
    for redirect in ({0: "/dev/null"}, {1: f"{WS}/out"}):
        with inside("true", opt=["-t"], redirect=redirect) as t:
            TAP.equal(t.end(), 125, f"-t without a terminal as {redirect} is refused")
    two = Terminal(["true"])
    with two, inside("sh", "-c", probe, redirect={1: os.ttyname(two.near)}) as t:
        TAP.equal(t.end(), 0, "two terminals")
        two.expect("in-2\r\nout-2")
        TAP.ok(True, "are not one")


def size():
    with inside("python3", "-c", SIZES) as t:
        t.expect("40 132")
        t.size(50, 99)
        t.expect("50 99")
        t.size(51, 98)
        t.expect("51 98")
        TAP.ok(True, "a new size arrives, and WINCH with it")
        t.send("\x03")
        TAP.equal(t.end(), -signal.SIGINT, "^C is the command's, and ends it")


def keys():
    with inside("sh", "-c", "trap 'echo got-$((1+1))' QUIT; " + UP + "while :; do sleep 0.05; done") as t:
        t.expect("up")
        t.send("\x1c")
        t.expect("got-2")
        t.send("\x03")
        TAP.equal(t.end(), -signal.SIGINT, "^\\ and ^C")
    with inside("sh", "-c", UP + "cat; echo e''of; exit 4") as t:
        t.expect("up")
        t.send("line\n\x04")
        t.expect("line\r\nline\r\n(?s:.*)eof")
        TAP.equal(t.end(), 4, "^D is an end of file")
    with inside("python3", "-q") as t:
        t.expect(">>> ")
        # A loop in which no moment is bad for a signal.
        t.send("while print('in' + 'side') is None: __import__('time').sleep(0.05)\n\n")
        t.expect("inside")
        t.send("\x03")
        t.expect("KeyboardInterrupt(?s:.*)>>> ")
        t.send("print(41+1)\n")
        t.expect("42\r\n")
        t.send("exit(7)\n")
        TAP.equal(t.end(), 7, "python3 catches ^C and goes on")
        TAP.ok(t.is_as_it_was(), "the modes are as they were")
    for sh in ("bash -i", "zsh -f -i"):
        name = sh.split()[0]
        if not shutil.which(name):
            print(f"# {name} is not here")
            continue
        with inside(*sh.split(), "-c", "echo fl''ags:$-; jobs; echo e''nd") as t:
            TAP.equal(t.end(), 0, f"{sh} starts")
            out = t.seen.decode()
            TAP.ok(re.search("flags:[a-zA-Z0-9]*i", out) and "job control" not in out and
                   "can't access tty" not in out, "without a complaint", out)


def programs():
    with inside("sh", "-c", "script -qec 'tty; test -t 0 && echo s$((1+1))' /dev/null </dev/null") as t:
        TAP.equal(t.end(), 0, "script inside")
        TAP.ok(b"/dev/pts/1" in t.seen and b"s2" in t.seen, "has a pty of its own", t.seen)
    if shutil.which("tmux"):
        with inside("tmux", "-f", "/dev/null", "new", "echo tm''ux:$(tty); exec sleep 1000",
                    opt=["--env", "TERM"], env=dict(os.environ, TERM="screen")) as t:
            t.expect("tmux:/dev/pts/1")
            t.send("\x02d")
            TAP.equal(t.end(), 0, "tmux inside, and detached")
            TAP.ok(t.is_as_it_was(), "the modes are as they were")
    act = ("import ctypes, errno, sys; c = ctypes.CDLL(None, use_errno=True); "
           "b = ctypes.create_string_buffer(b'\\x06', 64); "
           "r = c.ioctl(0, ctypes.c_ulong(int(sys.argv[1], 0)), b); "
           "print('did' if r >= 0 else errno.errorcode[ctypes.get_errno()])")
    for what, request, want in (
            ("TIOCSTI", "0x5412", b"EPERM"), ("TIOCLINUX", "0x541c", b"EPERM"),
            ("TIOCSTI with a high bit", "0x100005412", b"EPERM"),
            ("TIOCLINUX with a high bit", "0x10000541c", b"EPERM"),
            ("TIOCSETD", "0x5423", b"EPERM"), ("TIOCGETD, its allowed twin,", "0x5424", b"did"),
            ("TIOCGWINSZ, the allowed twin,", "0x5413", b"did")):
        with inside("python3", "-c", act, request) as t:
            t.end()
            TAP.ok(t.seen.startswith(want), f"{what} on the terminal inside: {want.decode()}", t.seen)
    with Terminal(script('"$@"; read -r -t 1 x; echo got=[$x]', *RUN, "--", PROBE, "tiocsti", "0"), cwd=WS) as t:
        t.expect(r"got=\[\]")
        TAP.ok(True, "and nothing of it arrives outside")
        t.end()


def answers():
    """What the terminal answers to a question of the last moment is dropped, and nothing else is."""
    inject = os.environ.get("INJECT")
    if not inject:
        print("# no tracer for this machine")
        return
    log = os.path.join(WS, "trace")

    def dropped(text):
        with Terminal([inject, "--trace", "--log", log, "--", *RUN, "--", "printf", text], cwd=WS) as t:
            TAP.equal((t.end(), t.is_as_it_was()), (0, True), f"{text}: a run that ends with it")
        # TCFLSH, TCIFLUSH; and TCSETS, which each run needs.
        calls = out_of(log)
        return calls.count(", 21506,") > 0, calls.count(", 21515, 0")
    # It has a second for its end.
    tries = [dropped("\\033[6n") for _ in range(3)]
    TAP.ok(max(n for _, n in tries) > 0 and all(put for put, _ in tries), "input is dropped then", tries)
    for text in ("plain", "\\033[0m"):
        TAP.equal(dropped(text), (True, 0), "and not here")


# --- every way out ------------------------------------------------------------------------------

def ways_out():
    hang = ["sh", "-c", UP + "sleep 1000"]
    stubborn = ["sh", "-c", "trap '' TERM HUP INT; " + UP + "while :; do sleep 0.05; done"]

    def kill_init(t):
        # The one that has the command below it.
        os.kill(next(p for p in children(t.pid) if children(p)), signal.SIGKILL)

    def sends(*sigs):
        def act(t):
            for s in sigs:
                os.kill(t.pid, s)
        return act

    rows = (
        ("the command ends", ["sh", "-c", UP + "read x"], [], lambda t: t.send("\n"), 0),
        ("the command crashes", ["sh", "-c", UP + "read x; kill -SEGV $$"], [],
         lambda t: t.send("\n"), 139),
        ("the command makes its own terminal raw and crashes",
         ["sh", "-c", "stty raw -echo; " + UP + "head -c 1; kill -ABRT $$"], [],
         lambda t: t.send("x"), 134),
        ("init is killed", hang, [], kill_init, 137),
        ("a timeout", hang, ["--timeout", "1s"], lambda t: None, 124),
        ("a timeout that the command ignores", stubborn, ["--timeout", "1s"], lambda t: None, 124),
        ("TERM", hang, [], sends(signal.SIGTERM), 143),
        ("HUP", hang, [], sends(signal.SIGHUP), 129),
        ("QUIT", hang, [], sends(signal.SIGQUIT), 131),
        ("ALRM", hang, [], sends(signal.SIGALRM), 142),
        ("XCPU", hang, [], sends(signal.SIGXCPU), 152),
        ("INT", hang, [], sends(signal.SIGINT), -signal.SIGINT),
        ("TERM twice, to a command that ignores it", stubborn, [],
         lambda t: (os.kill(t.pid, signal.SIGTERM), time.sleep(0.2), os.kill(t.pid, signal.SIGHUP)),
         137),
    )
    for name, cmd, opt, act, want in rows:
        with inside(*cmd, opt=opt) as t:
            t.expect("up")
            raw = t.is_raw() or name == "a timeout"
            group = t.foreground()
            act(t)
            got = t.end()
            TAP.ok(raw and t.is_as_it_was() and group == t.pid, f"{name}: the terminal is put back",
                   raw, termios.tcgetattr(t.near), t.modes)
            TAP.equal(got, want, "and the status is right", t.seen)
    for name, cmd, want in (("nothing to run", ["/no/such/program"], 127),
                            ("no program", ["/etc/passwd"], 126)):
        with inside(*cmd) as t:
            TAP.ok((t.end(), t.is_as_it_was()) == (want, True), f"{name}: the same", t.seen)


def hang_up():
    t = inside("sh", "-c", "echo $$; " + UP + "sleep 1000", keep_near=False)
    t.expect("up")
    os.close(t.master)
    t.master = -1
    end = time.monotonic() + 60
    while t.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    TAP.ok(t.status is not None, "a terminal that hangs up ends the run")
    # The same where the kernel tells nobody: it is not our session's.
    t = inside("sh", "-c", UP + "sleep 1000", keep_near=False, control=False)
    t.expect("up")
    os.close(t.master)
    t.master = -1
    end = time.monotonic() + 60
    while t.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    TAP.ok(t.status is not None, "and one that is not its session's")


def death_of_the_caller():
    # The leader of the session lives on: what is seen is not the kernel's hang-up.
    for how in (signal.SIGKILL, signal.SIGTERM):
        with Terminal(script('bash -c \'"$@"; true\' x "$@"; echo l''ives; sleep 1000', *RUN,
                             "--die-with-parent", "--", "sh", "-c", UP + "exec sleep 1000"), cwd=WS) as t:
            t.expect("up")
            t.until("not raw", t.is_raw)
            caller = children(t.pid)[0]
            box = agentbox_below(caller)
            os.kill(caller, how)
            t.expect("lives")
            t.until("the terminal is not put back", t.is_as_it_was)
            t.until("agentbox lives", lambda: not os.path.exists(f"/proc/{box}") or state_of(box) == "Z")
            TAP.ok(box > 0, f"--die-with-parent, {how.name}: agentbox ends, the terminal is put back")


# --- many bytes ---------------------------------------------------------------------------------

def bytes_through():
    data = os.urandom(3_000_000)
    with open(f"{WS}/big", "wb") as f:
        f.write(data)
    with inside("sh", "-c", f"stty raw -echo; {UP}cat big; echo; echo e''nd") as t:
        t.expect("up\n")
        start = t.at
        n = 0
        while t.poll() is None:
            t.take(0.05)
            n += 1
            t.size(20 + n % 30, 80)
        t.end()
        got = t.seen[start:start + len(data)]
        TAP.ok(hashlib.sha256(got).digest() == hashlib.sha256(data).digest() and
               t.seen.endswith(b"end\n"), "3 MB come out whole in a storm of WINCH",
               len(got), len(data), t.seen[-50:])
    lines = "".join(f"{i:0100d}\n" for i in range(3000))
    with inside("sh", "-c", f"stty -echo; {UP}cat >in") as t:
        t.expect("up")
        t.send(lines)
        t.send("\x04")
        TAP.equal(t.end(), 0, "300 KB are typed in")
        with open(f"{WS}/in") as f:
            TAP.ok(f.read() == lines, "and arrive whole")
    with open(PROFILE) as f:
        text = f.read()
    limited = f"{os.path.dirname(PROFILE)}/limited.yaml"
    with open(limited, "w") as f:
        f.write(text.replace("sandbox:\n", "sandbox:\n  limits: {output: 1K}\n"))
    for n, cut in ((1024, False), (1025, True)):
        with Terminal([AGENTBOX, "run", "--state", STATE, "-p", limited, "--status-fd", "2", "--", "sh", "-c",
                       f"stty raw; head -c {n} /dev/zero | tr '\\0' x"], cwd=WS,
                      redirect={2: f"{WS}/status"}) as t:
            TAP.equal(t.end(), 0, f"limits.output: {n} of 1024 bytes")
            with open(f"{WS}/status") as f:
                status = f.read()
            TAP.ok(t.seen.count(b"x") == 1024 and (f'"truncated":{str(cut).lower()}' in status.replace(" ", "")),
                   "are counted", t.seen[-100:], status)


# --- job control --------------------------------------------------------------------------------

def caller_goes_on():
    """P01: after an interactive shell inside, the script outside still has its terminal."""
    with Terminal(script('"$@"; read x; echo got=$x', *RUN, "--", "bash", "--norc", "-i", "-c",
                         "echo i''n; exit 0"), cwd=WS) as t:
        t.expect("in\r\n")
        t.until("the terminal is not put back", t.is_as_it_was)
        group = t.foreground()
        t.send("hi\n")
        t.expect("got=hi")
        TAP.equal((t.end(), group, t.is_as_it_was()), (0, t.pid, True),
                  "a script reads on after an interactive shell inside")


def jobs_inside():
    with inside("bash", "--norc", "--noprofile", "-i", opt=["--env", "PS1", "--env", "HISTFILE"],
                env=dict(os.environ, PS1="in$((1+1))> ", HISTFILE="/dev/null")) as t:
        t.expect("in2> ")
        t.send("sleep 1000\n")
        t.expect("sleep 1000\r\n")
        # When it is in the foreground nothing tells: until it is, the shell takes the key.
        t.until("sleep is not in the foreground", lambda: "sleep" in names_below(t.pid))
        stop(t, b"\x1a", "Stopped(?s:.*)in2> ")
        t.send("jobs\n")
        t.expect(r"\[1\]\+ +Stopped +sleep 1000(?s:.*)in2> ")
        t.send("fg\n")
        t.expect("sleep 1000\r\n")
        stop(t, b"\x1a", "Stopped(?s:.*)in2> ")
        t.send("bg; echo b$((1+1))\n")
        t.expect("b2(?s:.*)in2> ")
        t.send("kill %1; wait; echo k$((1+1))\n")
        t.expect("k2(?s:.*)in2> ")
        t.send("sleep 1000\n")
        t.expect("sleep 1000\r\n")
        t.until("sleep is not there", lambda: "sleep" in names_below(t.pid))
        stop(t, b"\x03", "in2> ")
        t.send("sh -c 'kill -QUIT $$'; echo q$?\n")
        t.expect("q131(?s:.*)in2> ")
        t.send("exit 9\n")
        TAP.equal(t.end(), 9, "bash inside: ^Z, jobs, fg, bg, kill, ^C, exit")
        TAP.ok(t.is_as_it_was(), "the modes are as they were")


def names_below(pid):
    out = []
    for p in children(pid):
        try:
            with open(f"/proc/{p}/comm") as f:
                out.append(f.read().strip())
        except OSError:
            continue
        out += names_below(p)
    return out


def stop(t, key, pattern):
    """Type a key until it is acted on: one that comes before the program is in the foreground is
    the shell's, and does nothing there."""
    end = time.monotonic() + 60
    while True:
        t.send(key)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            t.take(0.05)
            m = re.search(pattern.encode(), t.seen[t.at:])
            if m:
                t.at += m.end()
                return
        if time.monotonic() > end:
            t.expect(pattern)


def running(t):
    """cat is there. A ^Z between vfork and exec stops the child alone, and its parent waits for it
    in the kernel: outside as well."""
    t.send("one\n")
    t.expect("one\r\none\r\n")


def suspended():
    """^Z stops a command inside that does not handle it, and agentbox with it, as outside."""
    with shell() as t:
        t.send("$AB -- sh -c \"echo u''p; cat; echo r\\$((1+1))\"; echo st=$?\n")
        t.expect("up\r\n")
        t.until("not raw", t.is_raw)
        box = agentbox_below(t.pid)
        running(t)
        t.send("\x1a")
        t.expect("Stopped(?s:.*)out2> ")
        TAP.ok(state_of(box) == "T" and not t.is_raw() and t.foreground() == t.pid,
               "^Z: agentbox is stopped, and the shell has the terminal", state_of(box), t.foreground())
        t.until("something inside runs on",
                lambda: [state_of(p) for p in descendants(box) if name_of(p) in ("cat", "sh")] == ["T", "T"])
        TAP.ok(True, "everything inside is stopped")
        t.size(33, 77)
        t.send("fg\n")
        t.until("not raw", t.is_raw)
        t.send("two\n")
        t.expect("two\r\ntwo\r\n")
        t.send("\x04")
        t.expect("r2\r\n")
        t.expect("out2> ")
        TAP.ok(True, "fg: it goes on")
        t.send("exit\n")
        t.end()


def typed_script(t, text, *args):
    t.send(" ".join(map(shlex.quote, script(text, *args))) + "\n")


def stopped_from_inside():
    """A command that stops itself stops agentbox too, but not its clock."""
    with shell() as t:
        typed_script(t, '"$@"; echo e""nd=$?', *RUN, "--timeout", "2s", "--", "sh", "-c",
                     UP + "kill -STOP $$; sleep 1000")
        t.expect("\nup\r\n")
        t.expect("end=124")
        t.expect("out2> ")
        TAP.ok(not t.is_raw(), "a command that stops itself ends by its timeout all the same")
        t.send("exit\n")
        t.end()


# Each takes one key by itself and, at the next, ends or stops by the signal that the key stands for.
LATE = """import os, signal, sys, tty
def say(text):
    os.write(1, text + b"\\n")
def wait(text):
    say(text)
    return os.read(0, 1)
if sys.argv[1] == "int":
    signal.signal(signal.SIGINT, lambda *a: say(b"cau" + b"ght"))
    wait(b"u" + b"p")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
tty.setraw(0)
key = wait(b"u" + b"p")
wait(b"cau" + b"ght" if key == bytes([26]) else b"another")
os.kill(os.getpid(), signal.SIGSTOP)
sys.exit(5)
"""


def old_keys():
    """A key is the cause of what comes soon after it, and of nothing else."""
    def late(what):
        return '"$@"; echo a""fter$?', *RUN, "--", "python3", "-c", LATE, what

    def caught(t, key):
        t.expect("\nup\r?\n" if key == b"\x1a" else "up")
        t.until("not raw", t.is_raw)
        t.send(key)
        t.expect("caught")

    def stopped(t):
        t.send("x")
        t.expect("Stopped(?s:.*)out2> ")
    with Terminal(script(*late("int")), cwd=WS) as new, shell() as new_stop:
        typed_script(new_stop, *late("stop"))
        caught(new, b"\x03")
        new.send("x\n")
        TAP.equal((new.end(), b"after" in new.seen), (-signal.SIGINT, False),
                  "^C, and an end by INT: the script ends", new.seen)
        caught(new_stop, b"\x1a")
        stopped(new_stop)
        TAP.ok(True, "^Z, and a stop: the script is stopped")
        new_stop.send("kill -KILL %%\n")
    # It takes eleven seconds and differs by no caller.
    if os.environ.get("LIVE_CALLER") != "user":
        return
    with Terminal(script(*late("int")), cwd=WS) as old, shell() as old_stop:
        typed_script(old_stop, *late("stop"))
        caught(old, b"\x03")
        caught(old_stop, b"\x1a")
        time.sleep(11)
        old.send("x\n")
        old.expect("after130")
        TAP.equal(old.end(), 0, "a ^C of long ago ends no script")
        box = agentbox_below(children(old_stop.pid)[0])
        old_stop.send("x")
        old_stop.until("agentbox is not stopped", lambda: state_of(box) == "T")
        TAP.equal(state_of(children(old_stop.pid)[0]), "S", "a ^Z of long ago stops none")
        old_stop.until("no end", lambda: b"after5" in old_stop.seen or wake(box))
        TAP.ok(True, "and the run goes on when agentbox does")


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def descendants(pid):
    out = []
    for p in children(pid):
        out += [p, *descendants(p)]
    return out


def suspended_by_signal():
    with shell() as t:
        t.send("$AB -- python3 -c \"$SIZES\"\n")
        t.expect("40 132\r\n")
        t.until("not raw", t.is_raw)
        box = agentbox_below(t.pid)
        os.kill(box, signal.SIGTSTP)
        t.expect("Stopped(?s:.*)out2> ")
        TAP.ok(not t.is_raw(), "TSTP to agentbox: the terminal is put back, and it stops")
        t.size(44, 111)
        t.send("fg\n")
        t.expect("44 111")
        t.until("not raw", t.is_raw)
        TAP.ok(True, "fg: raw again, with the size of now")
        os.kill(box, signal.SIGTSTP)
        t.expect("Stopped(?s:.*)out2> ")
        t.send("bg; echo b$((1+1))\n")
        t.expect("b2(?s:.*)out2> ")
        t.until("stopped still", lambda: state_of(box) != "T")
        TAP.ok(not t.is_raw(), "bg: it runs, and leaves the terminal alone")
        t.size(45, 112)
        t.send("fg\n")
        t.until("not raw", t.is_raw)
        t.expect("45 112")
        TAP.ok(True, "and fg of a job that runs makes it raw")
        os.kill(box, signal.SIGSTOP)
        t.expect("Stopped(?s:.*)out2> ")
        t.size(46, 113)
        t.send("fg\n")
        t.until("not raw", t.is_raw)
        t.expect("46 113")
        TAP.ok(True, "so does fg after STOP, which cannot be caught")
        t.send("\x03")
        t.expect("out2> ")
        t.send("$AB -- sh -c \"echo u''p; cat\"\n")
        t.expect("up\r\n")
        t.until("not raw", t.is_raw)
        running(t)
        t.send("\x1a")
        t.expect("Stopped(?s:.*)out2> ")
        box = agentbox_below(t.pid)
        t.send("kill %%\n")
        t.until("it lives", lambda: not os.path.exists(f"/proc/{box}"))
        TAP.ok(not t.is_raw(), "kill of a suspended one ends it")
        t.send("exit\n")
        t.end()


def background():
    with shell() as t:
        t.send("$AB -t -- sh -c \"echo u''p; cat\" &\n")
        t.expect("out2> ")
        t.send("\n")

        def stopped():
            t.send("jobs\n")
            t.take(0.2)
            return re.search(rb"Stopped[^\n]*-t -- sh", t.seen[t.at:])
        t.until("not stopped", stopped)
        TAP.ok(b"\nup" not in t.seen, "-t in the background is stopped before anything runs", t.seen)
        t.send("fg\n")
        t.expect("\nup\r\n")
        t.until("not raw", t.is_raw)
        t.send("three\n")
        t.expect("three\r\nthree\r\n")
        t.send("\x04")
        t.expect("out2> ")
        TAP.ok(True, "and runs when it is taken to the foreground")
        t.send("$AB -- sh -c \"test -t 1 || echo no$((1+1)); cat; echo b''g\" & wait; echo w=$?\n")
        t.expect("no2\r\n(?s:.*)bg\r\n(?s:.*)w=0")
        TAP.ok(True, "in the background no terminal is implied, and nothing is stopped")
        t.send("exit\n")
        t.end()
    # An orphaned group: nobody could continue it.
    with Terminal(script('setsid -w "$@"; echo s=$?', "sh", "-c", "exec </dev/null; exit 3"), cwd=WS) as t:
        t.expect("s=3")
    with Terminal(script("\"$@\" & wait $!; echo s=$?", "bash", "-c",
                         "set -m; ( \"$@\"; echo r=$? ) & wait; echo e''nd", "x", *RUN, "-t", "--", "true"),
                  cwd=WS) as t:
        t.until("no end", lambda: b"end" in t.seen or state_any_stopped(t.pid))
        TAP.ok(True, "-t in a background group of a script stops or fails, and does not spin")


def state_any_stopped(pid):
    return any(state_of(p) == "T" for p in descendants(pid))


def wake(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    return False


def loops():
    """A ^C that ended the command ends the script around agentbox; nothing else inside does."""
    loop = 'for i in 1 2 3; do "$@"; echo a''fter$i; done; echo e''nd'
    for opt in ([], ["--no-tty"]):
        with Terminal(script(loop, *RUN, *opt, "--", "sh", "-c", UP + "exec sleep 1000"), cwd=WS) as t:
            t.expect("up")
            t.until("not raw", lambda: t.is_raw() or opt)
            t.send("\x03")
            TAP.equal((t.end(), b"after" in t.seen), (-signal.SIGINT, False),
                      f"^C {' '.join(opt)} ends a loop of a script", t.seen)
        with Terminal(script(loop, *RUN, *opt, "--", "sh", "-c", "trap 'exit 3' INT; " + UP +
                             "while :; do sleep 0.05; done"), cwd=WS) as t:
            for i in (1, 2, 3):
                t.expect("up")
                t.until("not raw", lambda: t.is_raw() or opt)
                t.send("\x03")
                t.expect(f"after{i}")
            TAP.equal(t.end(), 0, f"but {' '.join(opt)} not where the command has caught it", t.seen)
        with Terminal(script(loop, *RUN, *opt, "--", "sh", "-c", "kill -INT $$"), cwd=WS) as t:
            t.expect("after1(?s:.*)after2(?s:.*)after3(?s:.*)end")
            TAP.equal(t.end(), 0, f"nor {' '.join(opt)} where it was none")
    with Terminal(script('"$@"; echo a''fter$?', *RUN, "--", "sh", "-c", UP + "kill -STOP $$; echo o''n"),
                  cwd=WS) as t:
        t.expect("up")
        box = agentbox_below(t.pid)
        t.until("not stopped", lambda: state_of(box) == "T" or b"on" in t.seen)
        TAP.ok(state_of(t.pid) != "T", "a command that stops itself stops nothing around agentbox")
        t.until("no end", lambda: b"after0" in t.seen or wake(box))
        t.end()
        TAP.ok(b"on" in t.seen, "and goes on when agentbox does", t.seen)


def nobody_to_resume():
    """^Z where no shell does job control does nothing, as outside."""
    with inside("sh", "-c", UP + "cat") as t:
        t.expect("up")
        t.until("not raw", t.is_raw)
        running(t)
        t.send("\x1a")
        t.expect(r"\^Z")
        t.send("four\n")
        t.expect("four\r\n(?s:.*)four\r\n")
        TAP.ok(t.is_raw(), "^Z without a shell to come back to is nothing")
        t.send("\x04")
        TAP.equal(t.end(), 0, "and the run goes on")


PARTS = {
    "relay": (what_it_is, when, size, keys, programs, answers, bytes_through),
    "ends": (ways_out, hang_up, death_of_the_caller),
    "jobs": (caller_goes_on, jobs_inside, suspended, suspended_by_signal, stopped_from_inside, background, loops,
             nobody_to_resume, old_keys),
}

for case in PARTS.get(PART) or [globals()[PART]]:
    TAP.run(case.__name__, case)
sys.exit(1 if TAP.failed else 0)
