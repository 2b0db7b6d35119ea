#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Escapes that sandboxes of this kind had, each beside the same act where it is allowed. What
# `agentbox selftest` shows (40-selftest) is not repeated. E1-E12, E14, E18-E21, E23; P02, P49,
# P61, P95, P99, P114.
. "${0%/*}/lib.sh"
as_callers
X86=$([ "$(uname -m)" = x86_64 ] && echo 1)
HOST=$T/host
mkdir "$HOST" "$HOST/hooks"
echo secret >"$HOST/secret"
echo '[core]' >"$HOST/config"
host_before=$(tree_of "$HOST")
host_unchanged() { # DESCRIPTION
	is "$(tree_of "$HOST")" "$host_before" "$1"
}
# In mount namespaces of its own, where this caller can have them.
MOUNTS=()
case $CALLER in
root | nested) MOUNTS=(unshare -m --propagation private) ;;
user) MOUNTS=() ;;
esac
# A command of this shell's functions in such a namespace.
with_mounts() { # COMMANDS
	export AGENTBOX STATE P T WS PROBE HOST
	"${MOUNTS[@]}" bash -c 'ab() { "$AGENTBOX" run --state "$STATE" -p "$P" "$@"; }
'"$1"
}

# --- E1, E2: input pushed into the caller's terminal
cat >"$T/pty.py" <<'PY'
"""CMD with a terminal of its own; then prints what its input queue holds."""
import fcntl, os, pty, select, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1:
        os.dup2(slave, fd)
    os.close(master)
    os.execvp(sys.argv[1], sys.argv[1:])
os.set_blocking(master, False)
# What is written arrives here when the kernel gets to it: our own mark, behind all of it, is the end.
END = b"<end>"
out = b""
done = False
while not out.endswith(END):
    if not done and os.waitpid(pid, os.WNOHANG)[0]:
        done = True
        os.write(slave, END)
    if select.select([master], [], [], 0.02)[0]:
        out += os.read(master, 4096)
out = out.removesuffix(END)
queue = b""
while select.select([slave], [], [], 0.1)[0]:
    queue += os.read(slave, 100)
print(out.decode().strip().replace("\r", "").split("\n")[-1], "queue=" + queue.decode())
PY
pty_of() { # CMD...
	timeout 120 "$PYTHON" -I "$T/pty.py" "$@" 2>"$T/err"
}
got=$(pty_of "$PROBE" tiocsti 0)
if [ "$got" = "ok queue=x" ]; then
	pass "E1: outside, a byte is pushed (control)"
else
	note "this kernel lets nobody push input: $got"
fi
# With pipes inside, and with a terminal of the sandbox's own.
for mode in --no-tty -t; do
	in_pty() {
		pty_of "$AGENTBOX" run --state "$STATE" -p "$P" -i "$mode" -- "$PROBE" "$@"
	}
	for fd in 0 1 2; do
		like "$(in_pty tiocsti $fd)" '^E[A-Z]+ queue=$' "E1: inside, $mode, not by descriptor $fd"
	done
	is "$(in_pty call getpid)" "ok queue=" "E1: and it runs there (control)"
	for r in 0x5412 0x100005412 0x541c 0x80000000541c 0x5423; do
		unlike "$(pty_of "$PROBE" call ioctl 0 $r 0)" '^(EPERM|ENOSYS)' "E2: outside, the kernel answers ioctl $r (control)"
		is "$(in_pty call ioctl 0 $r 0)" "EPERM queue=" "E2: inside, $mode, ioctl $r"
	done
done
is "$(pty_of "$PROBE" open-write /dev/tty)" "ok queue=" "E1: outside, /dev/tty (control)"
mode=-t
is "$(in_pty open-write /dev/tty)" "ok queue=" "E1: inside, -t, it is the sandbox's own"
mode=--no-tty
like "$(in_pty open-write /dev/tty)" '^(ENOENT|ENXIO|EACCES) ' "E1: inside, --no-tty, no terminal by its name"

# --- E3: namespaces inside
if unshare -rm true 2>/dev/null; then
	pass "E3: outside, unshare -rm (control)"
	for f in -r -rm -rp -rn -m; do
		expect_rc 1 "E3: inside, unshare $f" ab -- unshare $f true
	done
else
	note "no unshare -rm here"
fi
expect_rc 0 "E3: unshare without namespaces (control)" ab -- "$PROBE" call unshare 0x400

# --- E4: a link planted in a root, where a mount point is to be
mkdir "$WS/real"
echo s >"$WS/real/new"
base_profile 'protect: {hide: [x/new, real/new], freeze: [x/config, x/hooks, real/other]}'
for text in "$HOST" / . .. ../../../../../../../../../.. "../../../../../../../..$HOST" /proc/1/root /proc/self/root \
	/proc/self/cwd /proc/own /oldroot "/oldroot$HOST"; do
	rm -f "$WS/x"
	ln -s "$text" "$WS/x"
	expect_rc '0|125' "E4: x -> $text" ab -- true
	unlike "$(cat "$T/err")" 'signal|assert|Segmentation' "E4: no crash"
	host_unchanged "E4: nothing happened at its end"
done
rm "$WS/x"
expect_rc 0 "E4: a directory in its place is guarded (control)" ab -- sh -c '! grep -q s real/new'
inside N "E4: and not written" write "$WS/real/new" x
for f in .git .vscode .env .mcp.json; do
	rm -rf "${WS:?}/$f"
	ln -s "$HOST" "$WS/$f"
	expect_rc '0|125' "E4: $f is a link to a directory of the host" ab -- sh -c "echo evil >$f/secret; echo evil >$f/hooks/pre-commit; true"
	host_unchanged "E4: nothing is written through it"
	rm "$WS/$f"
	ln -s "$HOST/secret" "$WS/$f"
	expect_rc '0|125' "E4: $f is a link to a file of the host" ab -- sh -c "cat $f; echo evil >$f; true"
	unlike "$(cat "$T/out")" secret "E4: it is not read through it"
	host_unchanged "E4: nor written"
	rm "$WS/$f"
done
cat >"$T/deny.yaml" <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [read, write], paths: ["$WS/real/**"], mode: deny}
        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
mv "$WS/real" "$WS/kept"
ln -s "$HOST" "$WS/real"
P=$T/deny.yaml
rc=0
ab -- sh -c 'cat real/secret; echo evil >real/secret' >"$T/out" 2>"$T/err" || rc=$?
unlike "$(cat "$T/out")" secret "E4: a denied directory that became a link ($rc)"
host_unchanged "E4: nothing is written through it"
rm "$WS/real"
mv "$WS/kept" "$WS/real"
base_profile

# --- E5: a directory that was replaced by a link in an earlier run
mkdir "$WS/cache"
profile two <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$WS/cache", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "E5: a root in a root (control)" ab -- sh -c "echo x >$WS/cache/x"
base_profile
expect_rc 0 "E5: run 1 replaces it" ab -- sh -c "rm -r cache && ln -s $HOST cache"
P=$T/two.yaml
expect_rc 125 "E5: run 2 refuses" ab -- sh -c "echo evil >$WS/cache/secret"
like "$(cat "$T/err")" 'cache' "E5: and names it"
host_unchanged "E5: the host's directory is as it was"
profile alone <<YAML
sandbox: {roots: [{path: "$WS/cache", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
for d in /home /root / /etc "$STATE"; do
	ln -sfn "$d" "$WS/cache"
	expect_rc 125 "E5: the root alone, and a link to $d" ab -- true
done
rm "$WS/cache"
mkdir "$WS/cache"
expect_rc 0 "E5: the root alone (control)" ab -- true
rmdir "$WS/cache"
mkdir -p "$WS/a/b"
profile three <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$WS/a/b", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "E5: deeper (control)" ab -- true
mkdir "$HOST/b"
host_before=$(tree_of "$HOST")
rm -r "$WS/a"
ln -s "$HOST" "$WS/a"
expect_rc 125 "E5: a link in the middle" ab -- true
rm "$WS/a"
base_profile

# --- E6: a command that looks like an option
mkdir "$T/tools" "$WS/--profile="
printf '#!/bin/sh -\necho "ran $# $1"\n' | tee "$T/tools/-h" "$T/tools/--help" >"$WS/--profile=/x"
chmod 755 "$T/tools/-h" "$T/tools/--help" "$WS/--profile=/x"
base_profile "base: {from: host, add: [\"$T/tools\"]}"
for c in --profile=/x -h --help; do
	expect_out "ran 1 --dry-run" "E6: $c after -- is the command" env PATH="$T/tools:$PATH" "$AGENTBOX" run --state "$STATE" -p "$P" -- $c --dry-run
done
expect_rc 0 "E6: before it, it is an option (control)" ab -h
like "$(cat "$T/out")" '^usage:' "E6: and gives help"
expect_out "--json" "E6: nothing after -- is parsed" ab -- echo --json
base_profile

# --- E7: the launcher's own file
inside EACCES "E7: /proc/1/exe" read /proc/1/exe
inside EACCES "E7: /proc/1/exe, written" open-write /proc/1/exe
inside Y "E7: /proc/self/exe (control)" read /proc/self/exe
cp "$AGENTBOX" "$WS/agentbox"
sum=$(sha256sum <"$WS/agentbox")
cat >"$T/overwrite.sh" <<'SH'
for i in 1 2 3; do
	echo evil >agentbox; mv agentbox moved; rm -f agentbox; chmod 777 agentbox; ln -sf /bin/true agentbox
done 2>/dev/null
echo evil >other && cat other
SH
cp "$T/overwrite.sh" "$WS/"
expect_out evil "E7: the launcher lies in a writable root" "$WS/agentbox" run --state "$STATE" -p "$P" -- sh overwrite.sh
is "$(sha256sum <"$WS/agentbox")" "$sum" "E7: and is as it was; another file is not (control)"
rm -f "$WS/agentbox" "$WS/other" "$WS/overwrite.sh"

# --- E8, E9: raised privileges
if [ "$CALLER" = root ]; then
	mkdir "$T/suid" "$T/suid/home"
	chown "$LIVE_UID:$LIVE_UID" "$T/suid/home"
	install -m 755 "$AGENTBOX" "$T/suid/plain"
	install -m 4755 "$AGENTBOX" "$T/suid/setuid"
	install -m 2755 "$AGENTBOX" "$T/suid/setgid"
	profile none <<-YAML
		sandbox: {roots: []}
		permissions: {agents: {me: allow}}
	YAML
	cd / || exit 1
	other=(setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups)
	if [ "$("${other[@]}" id -u)" = "$LIVE_UID" ] && ! findmnt -no OPTIONS -T "$T" | grep -qw nosuid; then
		expect_rc 0 "E8: a copy without the bit (control)" "${other[@]}" "$T/suid/plain" run --state "$T/suid/home/s" -p "$P" -- true
		for bit in setuid setgid; do
			expect_rc 125 "E8: a $bit copy refuses" "${other[@]}" "$T/suid/$bit" run --state "$T/suid/home/s" -p "$P" -- true
			like "$(cat "$T/err")" 'privileges' "E8: and says so"
			expect_rc 125 "E8: whatever the verb" "${other[@]}" "$T/suid/$bit" selftest
		done
	else
		note "E8: $T is mounted nosuid"
	fi
	cd "$WS" || exit 1
	base_profile
	# Not stopped: a set-uid file of root that already lies in a root
	for how in 'os.write(fd, b"evil")' 'mmap.mmap(fd, 4)[:] = b"evil"'; do
		printf good >raised
		chmod 4755 raised
		expect_rc 0 "E8: a set-uid file of a root, by $how" ab -- "$PYTHON" -I -c "import mmap, os
fd = os.open('raised', os.O_RDWR); $how"
		case $how in
		*mmap*) want=4755 ;;
		*) want=755 ;;
		esac
		is "$(cat raised):$(stat -c %u:%a raised)" "evil:0:$want" "E8: it is another text, and its mode $want"
	done
	rm raised
fi

# --- E9: a tracer that attaches while the sandbox is being built
# What a command can do from its first moment on.
for ((i = 0; i < 40; i++)); do
	out=$(ab -- "$PROBE" ptrace-sweep 2>"$T/err")
	[ "$out" = "ok through=0 refused=1 twin=through" ] || break
done
is "$i:$out" "40:ok through=0 refused=1 twin=through" "E9: a command traces its own child, and never init"
# One sandbox against the others of its user.
rm -f up stop
ab_start -- sh -c 'touch up; exec "$0" ptrace-sweep stop' "$PROBE" >"$T/sweep" 2>"$T/err"
wait_for test -e up
for ((i = 0; i < 40; i++)); do ab -- true || break; done
touch stop
wait "$sup"
is "$i:$(cat "$T/sweep")" "40:ok through=0 refused=1 twin=through" "E9: nor anything of 40 others that start meanwhile"
# The user that root's sandbox runs as, outside: who runs agentbox as itself has no more to gain.
sweep() { # RUNS COMMAND...: $T/sweep is what the command's sweep has met
	local runs=$1 i
	shift
	rm -f "$T/stop"
	"$@" "$PROBE" ptrace-sweep "$T/stop" >"$T/sweep" 2>&1 &
	wait_for grep -qx probe /proc/$!/comm
	for ((i = 0; i < runs; i++)); do ab -- true || fail "E9: run $i"; done
	touch "$T/stop"
	wait $!
}
if [ "$CALLER" = root ]; then
	sweep 5 env
	like "$(cat "$T/sweep")" '^ok through=[1-9][0-9]* ' "E9: outside, root traces what starts (control)"
	for owner in root "$LIVE_UID"; do
		chown "$owner:$owner" "$WS"
		ab_start -- "$PROBE" sleep 600 "e9-$owner-$$"
		kuid=$(awk '/^Uid:/ { print $2 }' "/proc/$(host_pid "e9-$owner-$$")/status")
		kill "$sup"
		wait "$sup" 2>/dev/null
		sweep 40 setpriv --reuid "$kuid" --regid "$kuid" --clear-groups
		like "$(cat "$T/sweep")" '^ok through=0 refused=[0-9]+ twin=through' "E9: outside, uid $kuid, which it runs as, traces its own alone"
		refused=$(grep -oE 'refused=[0-9]+' "$T/sweep" | cut -d= -f2)
		is "$((${refused:-0} >= 20))" 1 "E9: having tried ($refused processes)"
	done
	chown root:root "$WS"
fi
rm -f up stop

# --- E10: what should be a device or a kernel file system is something else
if [ ${#MOUNTS[@]} -gt 0 ] && "${MOUNTS[@]}" true 2>/dev/null; then
	echo plain >"$T/fake"
	expect_rc 0 "E10: mounts of its own (control)" with_mounts 'ab -- sh -c "echo x >/dev/null"'
	expect_rc 125 "E10: /dev/null is a plain file" with_mounts 'mount --bind "$T/fake" /dev/null && ab -- cat /dev/null'
	like "$(cat "$T/err")" '^agentbox: /dev/null is not the character device' "E10: and is named"
	is "$(cat "$T/fake")" plain "E10: it is not written"
	expect_rc 125 "E10: /dev is a tree of links" with_mounts 'mount -t tmpfs tmpfs /dev && ln -s "$T/fake" /dev/null && ln -s "$HOST" /dev/shm && ln -s "$HOST/secret" /dev/zero &&
		ab -- sh -c "cat /dev/null /dev/zero; echo evil >/dev/null; echo evil >/dev/zero"'
	is "$(cat "$T/fake")" plain "E10: nothing is written at their ends"
	host_unchanged "E10: nor in the host's directory"
	expect_rc 125 "E10: /proc is no proc" with_mounts 'mkdir -p "$T/fakeproc/self" && mount --bind "$T/fakeproc" /proc && ab -- true'
else
	note "E10: this caller cannot mount"
fi

# --- E11: the end of a run acts on nothing that the command chose
mkdir -p "$WS/sub/deep"
expect_rc 0 "E11: directories become links before the end" ab -- sh -c "rm -r sub && ln -s $HOST sub && ln -s $HOST .git && ln -s $HOST/secret .envrc"
host_unchanged "E11: the host's directory is as it was"
expect_rc '0|125' "E11: and at the end of the next run" ab -- true
host_unchanged "E11: too"
rm -f "$WS/sub" "$WS/.git" "$WS/.envrc"

# --- E12: nothing is configured by files that were not named
plan() {
	HOME=$WS XDG_CONFIG_HOME=$WS/.config XDG_STATE_HOME=$T "$AGENTBOX" run --state "$STATE" -p "$P" --dry-run -- true
}
plan >"$T/plan1"
expect_rc 0 "E12: a run plants configuration" ab -- sh -c 'mkdir -p .config/agentbox && cat >.config/agentbox/config.yaml <<E
sandbox: {roots: [{path: /etc, at: /leak, mode: rw}], network: host}
permissions: {agents: {me: allow}}
E
for f in .config/agentbox/default.yaml .config/agentbox.yaml .agentbox.yaml agentbox.yaml .agentboxrc default.yaml; do
	cp .config/agentbox/config.yaml $f
done'
plan >"$T/plan2"
check "E12: the next plan is the same" cmp "$T/plan1" "$T/plan2"
like "$(cat "$T/plan1")" '"network": ?"none"|network' "E12: and is a plan (control)"
expect_rc 125 "E12: no profile is found by itself" "$AGENTBOX" run --state "$STATE" -- true
rm -rf "$WS/.config" "$WS"/*.yaml "$WS"/.agentbox*

# --- E14: an empty list is nothing, as a missing one is
for roots in 'roots: []' ''; do
	profile empty <<-YAML
		sandbox: {$roots}
		permissions: {agents: {me: allow}}
	YAML
	expect_rc 0 "E14: roots: '${roots:-absent}'" ab -- sh -c "! test -e $WS"
done
for rules in 'rules: []' 'allowed_actions: [], allowed_roots: []' 'rules: [{operations: [execute], commands: [], mode: allow}]'; do
	profile empty <<-YAML
		sandbox: {roots: [{path: "$WS", mode: rw}]}
		permissions: {agents: {me: {$rules}}}
	YAML
	expect_rc '120|125' "E14: $rules" ab -- touch "$WS/ran"
	check_not "E14: nothing ran" test -e "$WS/ran"
done
base_profile
expect_rc 0 "E14: 'allow' is a word (control)" ab -- test -e "$WS"
"$PYTHON" -I - >"$T/port" <<'PY' &
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(600)
PY
server=$!
wait_for test -s "$T/port"
outside Y "E14: a listener of the host (control)" connect-tcp 127.0.0.1 "$(cat "$T/port")"
inside ECONNREFUSED "E14: no network key is no network" connect-tcp 127.0.0.1 "$(cat "$T/port")"
kill "$server"
wait "$server" 2>/dev/null
inside Y "E14: its own interface (control)" listen 127.0.0.1

# --- E18: a directory chosen by somebody else is no root
profile param <<'YAML'
params: {workspace: {required: true}}
sandbox: {roots: [{path: "${workspace}", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "E18: -w of a directory (control)" ab -w "$WS" -- true
for d in / /etc /usr /home /root /var /proc /dev "$STATE"; do
	expect_rc 125 "E18: -w $d" ab -w "$d" -- true
done
(cd / && ab -w . -- true) >"$T/out" 2>"$T/err"
is $? 125 "E18: -w . in /"
base_profile
(cd "$HOST" && ab -- "$PROBE" exists "$HOST/secret") >"$T/out" 2>"$T/err"
is "$(cat "$T/out")" ENOENT "E18: the directory it is started in is not granted"
(cd "$HOST" && "$PROBE" exists "$HOST/secret") >"$T/out"
like "$(cat "$T/out")" '^ok' "E18: it is there (control)"
expect_rc 121 "E18: --workdir grants nothing" ab --workdir "$HOST" -- true
expect_rc 0 "E18: --workdir in a root (control)" ab --workdir "$WS" -- true

# --- E19: what is read-only stays so, for root as well
for p in / /usr /etc "$T/bin" /proc/sys; do
	inside EPERM "E19: remount $p" mount-remount "$p"
done
inside EPERM "E19: umount of a root" umount "$WS"
inside EPERM "E19: a mount over a root" mount-tmpfs "$WS"
if [ ${#MOUNTS[@]} -gt 0 ] && "${MOUNTS[@]}" true 2>/dev/null; then
	is "$(with_mounts 'mount --bind "$T/bin" "$T/bin" && "$PROBE" mount-remount "$T/bin"')" ok "E19: outside (control)"
fi
inside Y "E19: no capability" caps
unlike "$PROBE_OUT" '=0*[1-9a-f]' "E19: in any set"
inside EROFS "E19: write in a ro root" write "$T/bin/x" x
outside Y "E19: outside (control)" write "$T/bin/x" x
rm -f "$T/bin/x"

# --- E20: the way back by the working directory, or by a descriptor
(cd "$HOST" && ab --workdir / -- sh -c 'cd ../../.. && pwd && ls -A') >"$T/out" 2>"$T/err"
is "$(head -n 1 "$T/out")" / "E20: .. of the root is the root"
unlike "$(cat "$T/out")" 'secret|lost\+found|boot' "E20: and it is the new one"
inside ENOENT "E20: by many .." exists "../../../../../../../../..$HOST/secret"
outside Y "E20: outside (control)" exists "../../../../../../../../..$HOST/secret"
inside EACCES "E20: /proc/1/cwd" open-path /proc/1/cwd/.
inside Y "E20: /proc/self/cwd (control)" open-path /proc/self/cwd/.
outside Y "E20: a directory by a descriptor (control)" fchdir 9 9<"$HOST"
inside EBADF "E20: an inherited directory" fchdir 9 9<"$HOST"
inside ENOENT "E20: by its name in /proc" exists /proc/self/fd/9/secret 9<"$HOST"
ab -i -- sh -c 'cat /proc/self/fd/0/secret' <"$HOST" >"$T/out" 2>"$T/err"
is $? 125 "E20: a directory as stdin"

# --- E21: a tracer that changes the call after the filter has seen it
if [ -n "$X86" ] && [ -x /usr/bin/python3 ]; then
	cat >"$WS/tracer.py" <<'PY'
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = libc.syscall.restype = ctypes.c_long
TRACEME, SETOPTIONS, GETREGS, SETREGS, SYSCALL = 0, 0x4200, 12, 13, 24
GETPGID, CLONE3, ORIG_RAX, RDI, RSI = 121, 435, 15, 14, 13
pid = os.fork()
if pid == 0:
    libc.ptrace(TRACEME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    r = libc.syscall(GETPGID, 0)
    os._exit(ctypes.get_errno() if r < 0 else 0)
os.waitpid(pid, 0)
libc.ptrace(SETOPTIONS, pid, None, 1)
regs = (ctypes.c_ulonglong * 27)()
swap = sys.argv[1] == "swap"
while True:
    libc.ptrace(SYSCALL, pid, None, None)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status):
        print(os.strerror(os.WEXITSTATUS(status)))
        break
    libc.ptrace(GETREGS, pid, None, ctypes.addressof(regs))
    if swap and regs[ORIG_RAX] == GETPGID:
        regs[ORIG_RAX], regs[RDI], regs[RSI] = CLONE3, 0, 0
        libc.ptrace(SETREGS, pid, None, ctypes.addressof(regs))
PY
	expect_out Success "E21: a tracer that changes nothing (control)" ab -- python3 "$WS/tracer.py" look
	expect_out "Invalid argument" "E21: outside, the kernel answers the changed call (control)" /usr/bin/python3 "$WS/tracer.py" swap
	expect_out "Function not implemented" "E21: inside, the filter sees what it became" ab -- python3 "$WS/tracer.py" swap
	rm "$WS/tracer.py"
elif [ -n "$X86" ]; then
	skip "E21: a tracer that changes a call" "no /usr/bin/python3"
fi

# --- E23: flags of the host's mounts stay
if [ ${#MOUNTS[@]} -gt 0 ] && "${MOUNTS[@]}" true 2>/dev/null; then
	for mode in ro rw; do
		mkdir -p "$T/m"
		cat >"$T/flags.yaml" <<-YAML
			sandbox: {roots: [{path: "$T/m", mode: $mode}]}
			permissions: {agents: {me: allow}}
		YAML
		P=$T/flags.yaml
		fill='cp "$PROBE" "$T/m/probe" && echo t >"$T/m/file" && ln -s file "$T/m/link" && ab -- sh -c "cat $T/m/link; $T/m/probe call getpid"'
		is "$(with_mounts "mount -t tmpfs tmpfs \$T/m && $fill" 2>"$T/err" | tr '\n' ' ')" "t ok " "E23: $mode, without flags (control)"
		with_mounts "mount -t tmpfs -o noexec tmpfs \$T/m && $fill" >"$T/out" 2>"$T/err"
		is "$(cat "$T/out")" t "E23: $mode, noexec stays"
		if with_mounts 'mount -t tmpfs -o nosymfollow tmpfs $T/m' 2>/dev/null; then
			with_mounts "mount -t tmpfs -o nosymfollow tmpfs \$T/m && $fill" >"$T/out" 2>"$T/err"
			is "$(cat "$T/out")" ok "E23: $mode, nosymfollow stays"
		fi
	done
	base_profile
else
	note "E23: this caller cannot mount"
fi

# --- E22: however a command is written (P112): what is denied of a file holds, what is said of the text not
echo "content of plain" >"$WS/plain"
echo "content of secret" >"$WS/secret"
ln -s "$(command -v cat)" "$WS/another"
printf '#!/bin/sh\nexec cat "$@"\n' >"$WS/wrapped"
chmod 755 "$WS/wrapped"
profile text <<-YAML
	version: 1
	sandbox: {roots: [{path: "$WS", mode: rw}]}
	permissions:
	  agents:
	    me:
	      rules:
	        - {operations: [execute], commands: ["cat *"], mode: deny}
	        - {operations: [execute], commands: ["*"], mode: allow}
	        - {operations: [read, write], paths: ["$WS/secret"], mode: deny}
	        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
YAML
expect_rc 120 "the command that the rule names" ab -- cat plain
while IFS= read -r shape; do
	expect_out "content of plain" "it runs all the same: $shape (control)" ab -- bash -c "${shape//FILE/plain}"
	unlike "$(ab -- bash -c "${shape//FILE/secret}" 2>&1)" content "and shows nothing of a denied file: $shape"
done <<-'SHAPES'
	true && cat FILE
	false || cat FILE | cat
	echo "$(cat FILE)"
	eval 'ca''t FILE'
	(X=1 cat FILE)
	env -i /bin/cat FILE
	echo FILE | xargs nice cat
	./another FILE
	./wrapped FILE
	perl -pe '' FILE
	while read -r line; do echo "$line"; done <FILE
	ln FILE other 2>/dev/null; cat FILE
	exec 3<FILE && cat <&3
SHAPES
rm -f "$WS"/{plain,secret,another,wrapped,other}

# --- what needs rights over a file system, the scheduler, a network or init; beside each, what needs none
base_profile
grep -v '^ *#' "$LIVE/shipped/build.yaml" >"$T/build.yaml"
reach() { # PROFILE ACT OBJECT
	local options=(-p "$P")
	[ "$1" = base ] || options=(-p "$T/build.yaml" -w "$WS")
	"$AGENTBOX" run --state "$STATE" "${options[@]}" -- "$PYTHON" -I reach.py "$2" "$3"
}
cp "$(dirname "$0")/reach.py" "$WS/reach.py"
[ "$CALLER" != root ] || chown --reference="$WS" "$WS/reach.py"
for by in base build; do
	while read -r act denied allowed; do
		# Root of a namespace is who init belongs to there, and may say how soon to kill it.
		case $CALLER:$denied in nested:1/clear_refs* | nested:1/oom* | nested:1/core*) continue ;; esac
		probe_yn N "$by: $act $denied" reach "$by" "$act" "$denied"
		probe_yn Y "$by: $act $allowed (control)" reach "$by" "$act" "$allowed"
	done <<-'ROWS'
		node char fifo
		node block fifo
		xattr security.capability user.x
		xattr trusted.x user.x
		owner 12 -1
		sock raw stream
		port 80 8080
		policy 1 3
		ioprio 1 2
		advise 1 0
		proc 1/clear_refs=1 self/clear_refs=1
		proc 1/oom_score_adj=900 self/oom_score_adj=900
		proc 1/coredump_filter=0x7f self/coredump_filter=0x7f
		proc 1/comm=x self/comm=x
		proc self/uid_map=0\x200\x201 self/comm=x
	ROWS
done
rm -f "$WS/reach" "$WS/reach.py"

# --- a second run, after a first one planted what it could
rm -rf "${WS:?}"/* "$WS"/.[a-z]*
mkdir -p "$WS/.git" "$WS/bin"
echo '[core]' >"$WS/.git/config"
cat >"$WS/plant.py" <<'PY'
import os, shutil, socket, sys
host = sys.argv[1]
for name in "a.sock", "bin/b.sock":
    s = socket.socket(socket.AF_UNIX)
    s.bind(name)
    os.chmod(name, 0o777)
os.mkfifo("fifo", 0o666)
os.mkfifo(".envrc", 0o666)
os.symlink(host, "link")
os.symlink(host + "/secret", ".env")
os.symlink("/nowhere", ".npmrc")
os.symlink(".mcp.json", ".mcp.json")
os.symlink(host, ".vscode")
os.symlink("/proc/self/root", "self")
os.makedirs(".idea/" + "d/" * 50)
for name in ".env\n.x", ".env.\x1b[31m", ".env.\u202e":
    open(name, "w").close()
with open(".git/commondir", "w") as f:
    f.write(host + "\n")
os.makedirs(".git/objects"); os.makedirs(".git/refs")
open(".git/HEAD", "w").write("ref: refs/heads/main\n")
print("planted")
PY
if [ -x /usr/bin/python3 ]; then
	expect_out planted "the first run plants" ab -- python3 plant.py "$HOST"
	host_unchanged "the host's directory is as it was"
	for i in 1 2; do
		expect_rc 0 "run $i after it starts" ab -- sh -c 'cat .env link/secret .vscode/secret self/etc/hostname; echo evil >.env; echo evil >link/secret; echo evil >.git/config; true'
		unlike "$(cat "$T/out")" secret "run $i reads nothing of the host"
		host_unchanged "run $i writes nothing there"
	done
	is "$(cat "$WS/.git/config")" '[core]' "the frozen file is as it was"
	inside Y "work goes on (control)" write "$WS/new" x
	inside N "a socket that was left there leads nowhere" connect-unix "$WS/a.sock"
	"$PYTHON" -I - "$WS/live.sock" <<'PY' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
time.sleep(600)
PY
	server=$!
	wait_for test -S "$WS/live.sock"
	outside Y "a socket of the host in the root (control)" connect-unix "$WS/live.sock"
	inside N "is not reached from inside" connect-unix "$WS/live.sock"
	inside Y "one's own is (control)" listen 127.0.0.1
	kill "$server"
	wait "$server" 2>/dev/null
else
	skip "a second run after a first that planted" "no /usr/bin/python3"
fi

# --- what a sandbox of this kind cannot stop, each beside what it does
base_profile
# Not stopped: what programs on the host do later with files
if command -v make >/dev/null; then
	expect_rc 2 "a rule that a run writes for make shows it nothing of the host" ab -- sh -c \
		"printf 'all:\\n\\t@cat $HOST/secret\\n' >Makefile; make -s"
	expect_out secret "make of the host does what it says" make -s
	rm Makefile
else
	skip "what make does later" "make is not installed"
fi
# Not stopped: filling a disk through a writable root
base_profile "scratch: {size: 1M}"
expect_rc 1 "the scratch is full at its size" ab -- "$PYTHON" -I -c "open('/tmp/f', 'wb').write(b'x' * (4 << 20))"
like "$(cat "$T/err")" 'No space left' "which the kernel says"
expect_rc 0 "a root is not" ab -- "$PYTHON" -I -c "open('f', 'wb').write(b'x' * (4 << 20))"
is "$(stat -c %s f)" $((4 << 20)) "and all of it is on the disk"
rm f
# Not stopped: a profile that an attacker wrote
base_profile
inside N "a directory that the profile does not name" read "$HOST/secret"
profile attacker <<-YAML
	sandbox: {roots: [{path: "$HOST", mode: rw}, {path: "$T/bin", mode: ro}]}
	permissions: {agents: {me: allow}}
YAML
inside Y "one that it names" read "$HOST/secret"
base_profile
no_sandbox_left "nothing is left"
done_testing
