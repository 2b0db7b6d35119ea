#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No descriptor of the caller reaches the command, by number, by path, by message or by terminal.
# R052, P99, E1.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
echo secret >"$T/secret"
A="$AGENTBOX run --state $STATE -p $P"

# --- above 2
exec 3<"$T/secret" 9</ 20<>"$T/secret"
outside Y "descriptor 3 (control)" fdread 3
outside Y "descriptor 9 as a directory (control)" fchdir 9
inside EBADF "descriptor 3" fdread 3
inside EBADF "descriptor 9 as a directory" fchdir 9
inside EBADF "descriptor 20" fdread 20
expect_out "ok 0:chr:1:3 1:pipe 2:pipe" "there are three descriptors" ab -- "$PROBE" fdlist
expect_out "0 1 2 3" "the listing says so too (3 is its own)" ab -- sh -c 'echo $(ls /proc/self/fd)'
expect_rc 0 "a start with a descriptor at 1000" sh -c "exec 3<&- && ulimit -n 4096 && python3 -c '
import os, sys
os.dup2(0, 1000)
os.set_inheritable(1000, True)
os.execv(\"$AGENTBOX\", \"$A -- $PROBE fdread 1000\".split())' || test \$? = 1"
like "$(cat "$T/out")" EBADF "which does not arrive"
exec 3<&- 9<&- 20<&-

# --- nothing goes through the numbers one by one: neither those that are open nor those that could be
cat >"$T/many.py" <<'PY'
import os, resource, sys
count, args = int(sys.argv[1]), sys.argv[2:]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if os.getuid() == 0:
    try:
        with open("/proc/sys/fs/nr_open") as f:
            hard = int(f.read())
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
for fd in range(100, min(100 + count, hard - 400)):  # with room for those of a run
    os.dup2(0, fd, inheritable=True)
os.dup2(0, hard - 1, inheritable=True)
os.execv(args[0], args)
PY
probe_yn Y "outside: the highest possible descriptor arrives (control)" \
	py "$T/many.py" 0 "$(command -v bash)" -c '"$0" fdread $(($(ulimit -n) - 1))' "$PROBE" <"$T/secret"
expect_out "ok 0:chr:1:3 1:pipe 2:pipe" "with it open, and the highest limit there is, nothing arrives" \
	py "$T/many.py" 0 $A -q -- "$PROBE" fdlist <"$T/secret"
expect_out "ok 0:chr:1:3 1:pipe 2:pipe" "nor with 100,000 more (or as many as may be)" \
	py "$T/many.py" 100000 $A -q -- "$PROBE" fdlist <"$T/secret"
if command -v strace >/dev/null; then
	calls() { # DESCRIPTORS
		py "$T/many.py" "$1" "$(command -v strace)" -f -qq -o "$T/calls" $A -- true </dev/null 2>"$T/err"
		wc -l <"$T/calls"
	}
	few=$(calls 0)
	many=$(calls 100000)
	is "$((few > 100 && many > 100 && many < few + 2000))" 1 "and none is closed or looked at by itself"
else
	note "no strace: the calls are not counted"
fi

# --- files as stdin, stdout, stderr are pumped: no way back to the file
cp "$T/secret" "$T/in"
probe_yn Y "outside: write to the file of stdin through /proc (control)" sh -c "cp $T/in $T/in2; $PROBE reopen 0 w evil <>$T/in2"
is "$(head -c 4 "$T/in2")" evil "it lands there"
ab -i -- "$PROBE" reopen 0 w evil <"$T/in" >"$T/out" 2>/dev/null
is "$(cat "$T/in")" secret "inside it does not reach the caller's file"
echo before >"$T/log"
ab -- sh -c 'echo more; : >/proc/self/fd/1' >>"$T/log" 2>/dev/null
is "$(cat "$T/log")" "before
more" "a log that is appended to cannot be truncated from inside"
echo before >"$T/log"
ab -- "$PROBE" fdlist >>"$T/log" 2>>"$T/log"
is "$(tail -n 1 "$T/log")" "ok 0:chr:1:3 1:pipe 2:pipe" "a file as stdout is a pipe inside"

# --- the caller's pipes are pumped too: a pipe can be opened again in the other direction
# The reader begins when the command has ended, so that what was stolen is missing.
through_out() { # CMD...: reader's bytes in $T/got
	rm -f "$WS/stolen" "$T/go" "$T/flags"
	{
		echo host-secret-line
		"$@" 2>"$T/err"
		grep ^flags: /proc/self/fdinfo/3 3>&1 >"$T/flags"
		: >"$T/go"
	} | {
		wait_for test -e "$T/go"
		cat >"$T/got"
	}
}
# The writer ends when the command has, so that the host's second read sees what is there then.
through_in() { # CMD...: the line that the host reads afterwards in $T/got
	rm -f "$WS/line" "$T/go" "$T/flags"
	{
		echo line1
		wait_for test -e "$T/go"
	} | {
		"$@" 2>"$T/err"
		grep ^flags: /proc/self/fdinfo/3 3<&0 >"$T/flags"
		: >"$T/go"
		x=
		read -r x
		printf '%s\n' "$x" >"$T/got"
	}
}
is_nonblock() { # Y|N DESCRIPTION: what through_* has found
	local flags
	flags=$(awk '{ print $2 }' "$T/flags")
	is "$([ $((flags & 04000)) = 0 ] && echo N || echo Y)" "$1" "$2"
}
steal='echo mine; timeout 5 head -n 1 </proc/self/fd/1 >stolen'
through_out sh -c "$steal"
is "$(cat "$WS/stolen")" host-secret-line "outside: others' bytes are read out of the pipe of stdout (control)"
through_out ab -- sh -c "$steal"
unlike "$(cat "$WS/stolen")" host "inside: only its own, from a pipe of its own"
like "$(cat "$T/got")" '^host-secret-line' "the caller's pipe keeps what was in it"
through_out ab -- sh -c 'echo mine; echo too >/proc/self/fd/1; echo also >&2'
is "$(cat "$T/got")" "host-secret-line
mine
too" "and carries what the command writes, /proc/self/fd/1 too"
inject='read -r a; echo "$a" >line; echo INJECTED >/proc/self/fd/0'
through_in sh -c "$inject"
is "$(cat "$T/got")" INJECTED "outside: a line is put into the pipe of stdin (control)"
through_in ab -i -- sh -c "$inject"
is "$(cat "$T/got")" "" "inside: not into the caller's"
is "$(cat "$WS/line")" line1 "and what the caller writes arrives"
through_out dd oflag=nonblock count=0
is_nonblock Y "outside: O_NONBLOCK stays on the pipe of stdout (control)"
through_out ab -- dd oflag=nonblock count=0
like "$(cat "$T/err")" '0 bytes' "inside: it can be set"
is_nonblock N "and does not reach the caller's pipe"
through_in dd iflag=nonblock count=0
is_nonblock Y "outside: and on that of stdin (control)"
through_in ab -i -- dd iflag=nonblock count=0
is_nonblock N "inside: it stays inside"

# --- and a pumped pipe behaves like one
is "$(for i in 1 2 3 4 5; do ab -- sh -c 'echo 1; echo 2 >&2; echo 3; echo 4 >&2' 2>&1 | tr '\n' ' '; done)" \
	"$(for i in 1 2 3 4 5; do printf '1 2 3 4 '; done)" "one pipe as stdout and stderr keeps the order"
start=$(now_ms)
timeout 120 $A -- yes 2>/dev/null | head -n 1 >"$T/out"
is "${PIPESTATUS[0]}" 141 "a reader that leaves ends the writer by SIGPIPE"
ab -- sh -c 'sleep 300 & echo x' 2>/dev/null | cat >"$T/out"
is "$(cat "$T/out")" x "a background process keeps its end open"
is "$(($(now_ms) - start < EVER_MS))" 1 "neither takes long"

# --- directories and block devices
expect_rc 125 "a directory as stdin" ab -i -- touch "$WS/ran" </
check_not "nothing ran" test -e "$WS/ran"
expect_out "ok 0:chr:1:3 1:pipe 2:pipe" "without -i it is not looked at" ab -- "$PROBE" fdlist </
expect_rc 0 "/dev/null as stdin (control)" ab -i -- true </dev/null
if disk=$(lsblk -dnpo NAME 2>/dev/null | head -n 1) && [ -b "$disk" ] && (: <"$disk") 2>/dev/null; then
	expect_rc 125 "a block device as stdin" ab -i -- touch "$WS/ran" <"$disk"
	check_not "nothing ran" test -e "$WS/ran"
else
	note "no block device can be opened here"
fi
expect_rc 125 "/dev/zero as stdin" timeout 120 $A -i --timeout 2s -- touch "$WS/ran" </dev/zero

# --- a socket as stdin: bytes may arrive, a descriptor may not
cat >"$T/sock.py" <<'PY'
import array, os, socket, subprocess, sys
want, args = sys.argv[1], sys.argv[2:]
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
f = os.open("/etc/passwd", os.O_RDONLY)
a.sendmsg([b"hello"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))])
a.shutdown(socket.SHUT_WR)
r = subprocess.run(args, stdin=b, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
out = r.stdout.decode().split()
print(r.stdout, r.stderr)
sys.exit(0 if out and out[0] == want else 1)
PY
check "outside: a descriptor comes with the socket (control)" py "$T/sock.py" ok "$PROBE" recvfd 0
check "inside: stdin is no socket any more" py "$T/sock.py" ENOTSOCK $A -i -- "$PROBE" recvfd 0
check "inside: its bytes arrive" py "$T/sock.py" hello $A -i -- cat
cat >"$T/sockout.py" <<'PY'
import socket, subprocess, sys
a, b = socket.socketpair()
r = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=b, stderr=subprocess.PIPE)
b.close()
data = a.makefile("rb").read()
print(data, r)
sys.exit(0 if data.split() == b"ok 0:chr:1:3 1:pipe 2:pipe".split() else 1)
PY
check "a socket as stdout is pumped too" py "$T/sockout.py" $A -- "$PROBE" fdlist

# --- a terminal is never passed: its keystrokes and its queue are the caller's
cat >"$T/tty.py" <<'PY'
# tty.py N CMD...: run CMD with a new terminal as descriptor N (and as its controlling one).
import os, pty, select, sys, time
n, cmd = int(sys.argv[1]), sys.argv[2:]
out_r, out_w = os.pipe()
master, slave = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    import fcntl, termios
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    null = os.open("/dev/null", os.O_RDWR)
    for i in (0, 1, 2):
        os.dup2(slave if i == n else (out_w if i == 1 else null), i)
    os.closerange(3, 256)
    os.execvp(cmd[0], cmd)
os.close(slave)
os.close(out_w)
os.write(master, b"typed\n")
end = time.time() + 90
fds, data = [out_r, master], b""
while fds and time.time() < end:
    for fd in select.select(fds, [], [], 0.2)[0]:
        try:
            b = os.read(fd, 4096)
        except OSError:
            b = b""
        if not b:
            fds.remove(fd)
        elif fd == out_r or n == 1:
            data += b
    if os.waitpid(pid, os.WNOHANG)[0]:
        pid = 0
        while fds and select.select(fds, [], [], 0.2)[0]:
            for fd in list(fds):
                if select.select([fd], [], [], 0)[0]:
                    try:
                        b = os.read(fd, 4096)
                    except OSError:
                        b = b""
                    if not b:
                        fds.remove(fd)
                    elif fd == out_r or n == 1:
                        data += b
        break
if pid:
    os.kill(pid, 9)
sys.stdout.write(data.decode(errors="replace").replace("typed\r\n", "").replace("\r", ""))
PY
probe_yn Y "outside: a terminal on stderr is one (control)" py "$T/tty.py" 2 "$PROBE" isatty 2
probe_yn N "inside: a terminal on stderr is none" py "$T/tty.py" 2 $A -- "$PROBE" isatty 2
probe_yn N "inside: a terminal on stdin is none" py "$T/tty.py" 0 $A -i -- "$PROBE" isatty 0
probe_yn N "inside: a terminal on stdout is none" py "$T/tty.py" 1 $A -- "$PROBE" isatty 1
out=$(py "$T/tty.py" 2 timeout --foreground 60 "$PROBE" fdread 2)
like "$out" '^ok typed' "outside: keystrokes are read from stderr (control)"
out=$(py "$T/tty.py" 2 timeout --foreground 60 sh -c 'head -c 5 /proc/self/fd/2 </dev/null')
like "$out" '^typed' "outside: and by opening it anew (control)"
out=$(py "$T/tty.py" 2 timeout --foreground 60 $A -- timeout --foreground 2 "$PROBE" fdread 2)
unlike "$out" typed "inside: no keystroke can be read from stderr"
out=$(py "$T/tty.py" 2 timeout --foreground 60 $A -- timeout --foreground 2 "$PROBE" reopen 2 rw)
like "$out" '^(ok|E[A-Z]+)' "stderr can be opened anew or not,"
out=$(py "$T/tty.py" 2 timeout --foreground 60 $A -- timeout --foreground 2 sh -c 'head -c 5 /proc/self/fd/2 </dev/null')
unlike "$out" typed "and gives no keystroke then either"
probe_yn N "inside: no input can be pushed into a terminal" py "$T/tty.py" 2 $A -- "$PROBE" tiocsti 2
probe_yn N "inside: nor through stdin" py "$T/tty.py" 0 $A -i -- "$PROBE" tiocsti 0
out=$(py "$T/tty.py" 2 $A -- "$PROBE" session)
like "$out" 'tty=no' "inside: the caller's terminal is not the controlling one"
like "$(py "$T/tty.py" 2 "$PROBE" session)" 'tty=yes' "outside: it is (control)"
out=$(py "$T/tty.py" 0 timeout 60 $A -i -- head -n 1)
is "$out" typed "with -i a line that was typed is pumped"

# --- the caller's directory is no way out either
mkdir -p "$T/home/deep"
expect_rc 0 "started in a directory that is not granted" sh -c "cd $T/home/deep && $A -- sh -c 'ls ../../../../../../.. >/dev/null; ! test -e $T/home'"
done_testing
