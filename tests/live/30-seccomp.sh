#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The system call filter on the live kernel: each refusal beside the same call where it passes,
# outside or with the group open. P83-P87, E2, E3, E21.
. "${0%/*}/lib.sh"
as_callers

X86=$([ "$(uname -m)" = x86_64 ] && echo 1)

with() { # SYSCALLS-BLOCK: a profile with it, in P
	base_profile "syscalls: $1"
}

# --- what holds, and that it says so
inside Y "the filter is there" status Seccomp
is "$PROBE_OUT" "ok Seccomp=2" "mode 2, a filter"
expect_out 'Seccomp:	2' "init is bound too" ab -- sh -c 'grep ^Seccomp: /proc/1/status'
ab --json -- true >"$T/r" 2>/dev/null
json_is "$T/r" 'o["mechanisms"]["seccomp"] == "default" and o["mechanisms"]["seccomp_allow"] == [] and o["mechanisms"]["seccomp_deny"] == 0' "mechanisms: the preset"

# --- numbers: ENOSYS, so that programs fall back (P83)
outside EINVAL "clone3 (control)" call clone3 0 0
inside ENOSYS "clone3" call clone3 0 0
for nr in 337 423 470 511 512 600 9999 0x7fffffff; do
	inside ENOSYS "number $nr" call "$nr"
done
inside Y "getpid (control)" call getpid
outside N "io_uring_setup fails by itself (control)" call io_uring_setup 0 0
[ "$PROBE_OUT" = ENOSYS ] || inside ENOSYS "io_uring_setup" call io_uring_setup 0 0
for c in "bpf -1 0 0" "perf_event_open 0 0 0 0 0" "userfaultfd -1"; do
	# shellcheck disable=SC2086
	outside N "$c fails by itself (control)" call $c
	[ "$PROBE_OUT" != ENOSYS ] || { note "$c: not in this kernel"; continue; }
	# shellcheck disable=SC2086
	inside ENOSYS "$c" call $c
done
for nr in fsopen fsmount open_tree move_mount mount_setattr; do
	outside N "$nr without arguments (control)" call "$nr" -1 0 0 0 0
	unlike "$PROBE_OUT" ENOSYS "$nr is in this kernel (control)"
	inside ENOSYS "$nr" call "$nr" -1 0 0 0 0
done
# Outside, with the rights of a namespace of its own or of root, each is looked at and fails otherwise.
for nr in mount umount2 pivot_root chroot setns kexec_load swapon settimeofday syslog open_by_handle_at; do
	inside EPERM "$nr" call "$nr" -1 0 0 0 0
	case $nr in
	mount | umount2 | pivot_root | chroot | setns)
		probe_yn N "outside: $nr with rights (control)" unshare -rm "$PROBE" call "$nr" -1 0 0 0 0
		unlike "$PROBE_OUT" EPERM "$nr is not refused there (control)"
		;;
	*)
		"$PROBE" call "$nr" -1 0 0 0 0 >"$T/out"
		grep -q EPERM "$T/out" && note "$nr: this caller may not outside either"
		;;
	esac
done
inside N "name_to_handle_at is let through" call name_to_handle_at -1 0 0 0 0
unlike "$PROBE_OUT" 'ENOSYS|EPERM' "and the kernel answers it"
inside Y "pidfd_open" call pidfd_open 1 0

# --- other ABIs: ENOSYS, never SIGSYS (P87)
if [ -n "$X86" ]; then
	outside Y "getpid by the 32-bit gate (control)" i386 20
	[ "${PROBE_OUT%% *}" != ok ] || inside ENOSYS "getpid by the 32-bit gate" i386 20
	inside ENOSYS "fork by the 32-bit gate" i386 2
	inside ENOSYS "getpid of x32" call 0x40000027
	inside ENOSYS "ptrace of x32" call 0x40000209
	# A program of i386: exit(42) by the only gate that it knows, and a privileged instruction after it.
	py - "$WS/elf32" <<'PY'
import os, struct, sys
code = b"\xb8\x01\0\0\0\xbb\x2a\0\0\0\xcd\x80\xf4"
size = 52 + 32 + len(code)
head = b"\x7fELF\1\1\1" + b"\0" * 9
head += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
head += struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, size, size, 5, 4096)
with open(sys.argv[1], "wb") as f:
    f.write(head + code)
os.chmod(sys.argv[1], 0o755)
PY
	rc=0
	"$PYTHON" -I -c 'import errno, os, sys
try: os.execv(sys.argv[1], sys.argv[1:])
except OSError as e: os._exit(3 if e.errno == errno.ENOEXEC else 4)' "$WS/elf32" 2>/dev/null || rc=$?
	if [ "$rc" = 3 ]; then
		note "this kernel runs no 32-bit programs"
	else
		is "$rc" 42 "outside: a 32-bit program (control)"
		# SIGSEGV of its own, and not the SIGSYS of a filter.
		expect_rc 139 "inside: a 32-bit program gets no call through" ab -- "$WS/elf32"
		expect_out 139 "inside: nor started by another" ab -- sh -c '"$1" 2>/dev/null; echo $?' sh "$WS/elf32"
		ab --json -- "$WS/elf32" >"$T/out" 2>"$T/err"
		json_is "$T/out" '(o["status"], o["signal"], o["rc"]) == ("signaled", 11, 139)' "and the result says by which signal it ended"
	fi
	rm -f "$WS/elf32"
fi

# --- the limit of core dumps stays 1: with 0 a handler of crashes would be started on the host
cat >"$WS/cores.py" <<'PY'
import resource, subprocess
c = resource.RLIMIT_CORE
for limit in (0, 1), (0, 0):
    resource.setrlimit(c, limit)
    resource.prlimit(0, c, limit)
print(*resource.getrlimit(c), *resource.prlimit(0, c))
resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))
print(*resource.getrlimit(resource.RLIMIT_NOFILE), subprocess.getoutput("ulimit -c 0 && ulimit -c"))
PY
expect_out $'0 0 0 0\n99 99 0' "outside: no core dumps (control)" "$PYTHON" -I "$WS/cores.py"
got=$(ab -- "$PYTHON" -I "$WS/cores.py" 2>&1)
# The shell counts in blocks.
is "$got" $'1 1 1 1\n99 99 0' "inside: the limit is as it was, and no program is told that it may not"
# What nobody may raise is kept, and the man page says what that means.
is "$(ulimit -c 0; ab -- "$PYTHON" -I -c 'import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))' 2>&1)" "0 0" \
	"inside: a hard limit of the caller's that is 0 stays"
rm "$WS/cores.py"

# --- terminals (E2)
for r in 0x5412 0x100005412 0xffffffff00005412 0x541c 0x10000541c 0x5423 0x100005423; do
	outside EBADF "ioctl $r on no descriptor (control)" call ioctl -1 $r 0
	inside EPERM "ioctl $r" call ioctl -1 $r 0
done
inside EBADF "ioctl TIOCGWINSZ passes" call ioctl -1 0x5413 0
inside EBADF "ioctl TIOCSCTTY passes" call ioctl -1 0x540e 0
inside EBADF "ioctl TIOCGETD passes" call ioctl -1 0x5424 0

# --- socket families and netlink protocols
for ((f = 0; f < 46; f++)); do
	case $f in
	1 | 2 | 10) want=ok p=0 ;;
	16) want=ok p=0 ;;
	*) want=EAFNOSUPPORT p=0 ;;
	esac
	echo "$f $want $p"
done >"$T/families"
# One sandbox for all of them.
got=$(ab -i -- sh -c 'while read -r f want p; do r=$("$0" family $f 2 $p </dev/null); [ "$r" = "$want" ] || echo "$f:$r"; n=$((n + 1)); done; echo $n' \
	"$PROBE" <"$T/families" 2>/dev/null)
is "$got" 46 "families 0 to 45: unix, inet, inet6 and netlink alone"
got=$(ab -- sh -c 'for p in $(seq 1 25); do [ "$("$0" family 16 3 $p)" = EAFNOSUPPORT ] || echo $p; done; "$0" family 16 3 0' "$PROBE" 2>/dev/null)
is "$got" ok "netlink: route, and no other protocol"
outside Y "netlink usersock (control)" family 16 3 2
outside Y "netlink uevent (control)" family 16 3 15
inside EAFNOSUPPORT "netlink usersock" family 16 3 2
inside EAFNOSUPPORT "netlink route with a high bit elsewhere" family 40 1 0
inside EFAULT "socketpair of unix passes" call socketpair 1 1 0 0
inside EAFNOSUPPORT "socketpair of tipc" call socketpair 30 1 0 0

# --- set-id bits, by every call that can carry them
hows="chmod fchmod fchmodat openat tmpfile mkdirat mknodat"
[ -z "$X86" ] || hows="$hows open creat mkdir mknod"
if [ "$("$PROBE" mode fchmodat2 0755)" = ok ]; then
	hows="$hows fchmodat2"
else
	note "fchmodat2 is not in this kernel"
fi
for how in $hows; do
	for m in 4755 2755 6755; do

		outside Y "$how $m (control)" mode "$how" $m
		inside EPERM "$how $m" mode "$how" $m
	done
	inside Y "$how 0755 (control)" mode "$how" 0755
	inside Y "$how 1755 (control)" mode "$how" 1755
done
outside Y "openat2 (control)" mode openat2 0644
inside ENOSYS "openat2, whose mode no filter sees" mode openat2 0644
with '{allow: [setid_bits]}'
inside Y "setid_bits: chmod 4755" mode chmod 4755
inside Y "setid_bits: openat 2755" mode openat 2755
inside Y "setid_bits: openat2" mode openat2 0644
base_profile

# --- namespaces (E3)
for flag in 0x10000000 0x20000 0x02000000 0x04000000 0x08000000 0x20000000 0x40000000; do
	inside EPERM "clone $flag" clone $flag
	inside EPERM "clone $flag with a high bit" clone $((flag | 1 << 32))
	inside EPERM "unshare $flag" call unshare $flag
done
inside EPERM "unshare NEWTIME" call unshare 0x80
inside Y "clone without flags (control)" clone 0
inside Y "unshare FS and FILES (control)" call unshare 0x600
outside Y "unshare NEWUSER (control)" unshare-user
inside EPERM "unshare NEWUSER" unshare-user
expect_out 0 "the second lock is there" ab -- cat /proc/sys/user/max_user_namespaces
with '{allow: [userns]}'
inside Y "userns: unshare NEWUSER" unshare-user
inside Y "userns: clone NEWUSER" clone 0x10000000
inside EINVAL "userns: clone3" call clone3 0 0
inside N "userns: still no bpf" call bpf -1 0 0
ab --json -- true >"$T/r" 2>/dev/null
json_is "$T/r" 'o["mechanisms"]["seccomp_allow"] == ["userns"]' "mechanisms: the group"
base_profile

# --- keyrings
outside Y "keyctl (control)" key-add live-30 x
inside ENOSYS "add_key" key-add live-30 x
inside ENOSYS "keyctl" call keyctl 0 -3 0
inside ENOSYS "request_key" call request_key 0 0 0 0
with '{allow: [keyrings]}'
inside Y "keyrings: add_key" key-add live-30 x
with '{allow: [io_uring, setid_bits]}'
inside N "io_uring: the kernel answers" call io_uring_setup 0 0
unlike "$PROBE_OUT" ENOSYS "io_uring: it is not the filter that does"
base_profile

# --- debuggers (P86)
for v in 0xffffffff 0 0x40000 0x20000 8; do
	inside Y "personality $v" personality $v
done
for v in 0x400000 0x200000 0x4100001; do
	outside Y "personality $v (control)" personality $v
	inside EPERM "personality $v" personality $v
done
outside Y "ptrace of a child (control)" ptrace-child
inside Y "ptrace of a child" ptrace-child
inside Y "process_vm_readv" vm-read
expect_rc 7 "a program in memory, started by its descriptor" ab -- "$PROBE" exec-memfd 7
with '{preset: strict}'
inside EPERM "strict: ptrace of a child" ptrace-child
inside EPERM "strict: process_vm_readv" vm-read
inside EPERM "strict: personality NO_RANDOMIZE" personality 0x40000
inside Y "strict: personality 0" personality 0
inside Y "strict: asking for the personality" personality 0xffffffff
ab --json -- true >"$T/r" 2>/dev/null
json_is "$T/r" 'o["mechanisms"]["seccomp"] == "strict"' "mechanisms: strict"

# --- single calls
with '{deny: [ptrace, mkdir, mkdirat]}'
inside EPERM "deny: mkdirat" mode mkdirat 0755
inside EPERM "deny: ptrace" ptrace-child
inside Y "deny: the rest is as it was" mode openat 0644
inside EPERM "deny: the first filter holds as well" mode openat 4644
with '{deny: [wait4, kill, ppoll, pselect6, prlimit64, setpgid, recvfrom, sendto]}'
expect_rc 7 "deny: what init itself calls" ab -- sh -c 'exit 7'
expect_rc 0 "deny: in the plan" ab --dry-run -- true
json_is "$T/out" 'o["syscalls"]["preset"] == "default" and "kill" in o["syscalls"]["deny"] and len(o["syscalls"]["sha256"]) == 64 and len(o["syscalls"]["deny_sha256"]) == 64' "preset, names and hashes"
with '{deny: [clone, fork, vfork]}'
[ -n "$X86" ] || with '{deny: [clone]}'
expect_rc 0 "deny: no new processes, and the command starts" ab -- sh -c 'echo alone'
expect_rc '1|2|254|126|127' "deny: and starts none" ab -- sh -c '/bin/true; exit $?'

# --- ordinary programs (P83, P84, P85)
base_profile
[ ! -x /usr/bin/python3 ] || {
	expect_out '[0, 1, 4]' "python: threads, processes, asyncio" ab -- /usr/bin/python3 -c '
import asyncio, multiprocessing, threading
def f(x): return x * x
if __name__ == "__main__":
    t = threading.Thread(target=f, args=(1,)); t.start(); t.join()
    asyncio.run(asyncio.sleep(0))
    with multiprocessing.get_context("fork").Pool(2) as p: print(p.map(f, range(3)))'
}
for tool in "strace -f true" "gdb -batch -ex run -ex quit --args true"; do
	command -v "${tool%% *}" >/dev/null || { note "no ${tool%% *} here"; continue; }
	# shellcheck disable=SC2086
	expect_rc 0 "$tool" ab -- $tool
done
done_testing
