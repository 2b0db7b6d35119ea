#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Landlock, the second layer: named in the result, closed where the mounts say nothing (abstract
# sockets), in nobody's way, and never missing without a word. DESIGN 6.7; KERNEL A5; P88, P89.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

abi() {
	json_get "$T/json" "o['mechanisms']['landlock']"
}

ab --json -- true >"$T/json"
ABI=$(abi)
like "$ABI" '^([0-9]+|none)$' "the result names it ($ABI)"
ab --dry-run -- true >"$T/plan"
if [ "$ABI" = none ]; then
	skip "the layer" "this kernel has no Landlock"
	expect_rc 0 "a run without it" ab -- true
	done_testing
fi
json_is "$T/plan" "o['landlock']['abi'] == $ABI and o['landlock']['rules']['$WS'].startswith('write_file')" \
	"the plan has the rules"
json_is "$T/plan" "not [p for p in o['landlock']['rules'] if p.startswith(('/usr', '/etc', '$T/bin'))]" \
	"none of them for what is read-only"
# Truncating is left to the mounts: asked of Landlock, every open(2) would walk the whole path.
json_is "$T/plan" "'truncate' not in o['landlock']['handled'].split()" "nothing is asked at an open for reading"
for how in 'os.truncate(p, 0)' 'os.open(p, os.O_RDONLY | os.O_TRUNC)' 'os.open(p, os.O_WRONLY)'; do
	echo kept >"$WS/cut"
	expect_rc 0 "of a file of a root: $how" ab -- "$PYTHON" -I -c "import os; p = 'cut'; $how"
	echo kept >"$WS/cut"
	sed -i 's/mode: rw/mode: ro/' "$P"
	expect_rc 1 "of the same, read-only: $how" ab -- "$PYTHON" -I -c "import os; p = 'cut'; $how"
	like "$(cat "$T/err")" 'OSError: \[Errno 30\]' "by the mounts, and so EROFS"
	is "$(cat "$WS/cut")" kept "it has what it had"
	base_profile
done

# --- what real programs do goes on
expect_rc 0 "files are moved between directories" ab -- sh -c \
	'mkdir a b && echo x >a/f && mv a/f b/ && ln b/f a/g && mv b c && test -e c/f && rm -r a c'
expect_rc 0 "in the scratch too" ab -- sh -c \
	'cd /tmp && mkdir a b && echo x >a/f && mv a/f b/ && echo y >b/f && : >b/f && cp b/f /var/tmp/ && cp b/f /dev/shm/'
expect_rc 0 "processes write their own files in /proc" ab -- sh -c \
	'echo 500 >/proc/self/oom_score_adj && printf x >/proc/$$/comm && echo ok >/proc/self/fd/1'
expect_rc 0 "devices are read, written and asked" ab -- sh -c \
	'echo x >/dev/null && head -c 4 /dev/urandom >/dev/null && ! echo x >/dev/full && test ! -t 0' \
	2>/dev/null
expect_out "/dev/pts/0" "a terminal of its own" ab -- "$PYTHON" -I -c \
	'import os, fcntl, termios
m, s = os.openpty()
fcntl.ioctl(s, termios.TIOCSWINSZ, b"\1\0\1\0\0\0\0\0")
termios.tcgetattr(m)
print(os.ttyname(s))'
inside ENOTTY "/dev/null is no terminal, and says so" isatty 0
if command -v git >/dev/null; then
	expect_rc 0 "git" ab -- sh -ec 'git init -q r; cd r; echo a >a; mkdir d; git add .
		git -c user.name=x -c user.email=x@y commit -qm m; git mv a d/; git stash -q; git gc -q; cd ..; rm -rf r'
fi
if command -v cc >/dev/null; then
	expect_rc 0 "a compiler" ab -- sh -ec \
		'cd /tmp; echo "int main(void) { return 0; }" >x.c; cc x.c -o x; ./x'
fi
inside Y "a signal to another process inside" kill 1 0

# --- abstract sockets and a shared network
if [ "$ABI" -ge 6 ]; then
	name=agentbox-live-$RANDOM$RANDOM
	"$PYTHON" -I -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + sys.argv[1])
s.listen(16)
time.sleep(600)' "$name" &
	server=$!
	wait_for grep -q "@$name" /proc/net/unix
	base_profile "network: host"
	outside Y "an abstract socket of the host" connect-unix "@$name"
	inside EPERM "the same, with the host's network" connect-unix "@$name"
	expect_rc 0 "one made inside" ab -- "$PYTHON" -I -c 'import socket
s, c = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
s.bind("\0own-agentbox-live")
s.listen(1)
c.connect("\0own-agentbox-live")'
	base_profile
	kill "$server"
fi

# --- a kernel without it; one that answers anything else
if [ -n "${INJECT:-}" ] && "$INJECT" --trace -- true >/dev/null 2>&1; then
	# The number of the call depends on the profile.
	inject() { # ERRNO ARGS...
		local e=$1 nth
		shift
		nth=$("$INJECT" --in supervisor --list -- "$AGENTBOX" run --state "$STATE" -p "$P" -- touch /dev/null 2>&1 |
			grep -m 1 landlock_create_ruleset | grep -oE '[0-9]+' | head -n 1)
		"$INJECT" --in supervisor --nth "$nth" --errno "$e" --log /dev/null -- \
			"$AGENTBOX" run --state "$STATE" -p "$P" "$@"
	}
	inject ENOSYS --json -- true >"$T/json" 2>"$T/err"
	is "$(abi)" none "ENOSYS: the run goes on, and the result says none"
	expect_rc 125 "EPERM: no run" inject EPERM -- touch ran
	like "$(cat "$T/err")" 'Landlock' "and what it was about"
	check_not "nothing ran" test -e "$WS/ran"
	base_profile "commands: [touch]"
	expect_rc 125 "commands without Landlock: no run" inject ENOSYS -- touch ran
	like "$(cat "$T/err")" "base.yaml:[0-9]+:[0-9]+: 'commands' needs Landlock" "and why"
	check_not "nothing ran" test -e "$WS/ran"
	expect_rc 0 "with it (control)" ab -- touch ran
	check "it ran" test -e "$WS/ran"
else
	note "no tracer here: a kernel without Landlock is not emulated"
fi
done_testing
