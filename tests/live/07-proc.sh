#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# /proc shows the sandbox and nothing of its init; the session keyring is new. R053, P68, E7.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
export SECRET=zz-secret-zz

# Of init nothing, by acts that the command can do to itself.
for f in environ mem maps exe root cwd fd auxv syscall map_files; do
	for p in 1 self; do
		case $f in
		exe | root | cwd) act=(sh -c "readlink /proc/$p/$f >/dev/null 2>&1 && echo ok || echo EACCES") ;;
		fd) act=(sh -c "for i in 0 1 2 3 4 5 6 7 8 9; do readlink /proc/$p/fd/\$i >/dev/null 2>&1 && exec echo ok; done; echo EACCES") ;;
		map_files) act=(sh -c "ls /proc/$p/map_files 2>/dev/null | grep -q . && echo ok || echo EACCES") ;;
		# Nothing is mapped at its beginning, so that reading it fails whoever may open it.
		mem) act=(sh -c "(: </proc/$p/mem) 2>/dev/null && echo ok || echo EACCES") ;;
		*) act=("$PROBE" read "/proc/$p/$f") ;;
		esac
		case $p in
		1) probe_yn N "inside: /proc/1/$f" ab -- "${act[@]}" ;;
		self) probe_yn Y "inside: /proc/self/$f (control)" ab -- "${act[@]}" ;;
		esac
	done
done
probe_yn N "inside: /proc/1/root as a way out" ab -- sh -c "ls /proc/1/root/root >/dev/null 2>&1 && echo ok || echo EACCES"
inside N "ptrace of init" ptrace 1
inside Y "init can be seen" exists /proc/1/stat
[ "${AGENTBOX_SANITIZED:-}" = 1 ] && note "init's command line is not looked at under a sanitizer"
[ "${AGENTBOX_SANITIZED:-}" = 1 ] || out=$(ab -- sh -c 'tr "\0" " " </proc/1/cmdline; echo; cat /proc/1/comm' 2>/dev/null)
[ "${AGENTBOX_SANITIZED:-}" = 1 ] ||
	unlike "$out" "$T|--state|$P" "the command line of init names no host path"

# Not stopped: /proc/self/mountinfo shows the host paths of the roots
mkdir "$T/host-place"
profile places <<-YAML
	sandbox: {roots: [{path: "$T/host-place", at: /elsewhere, mode: rw}]}
	permissions: {agents: {me: allow}}
YAML
expect_rc 0 "mountinfo can be read" ab -- cat /proc/self/mountinfo
like "$(cat "$T/out")" '/host-place /elsewhere ' "it shows the host path of a root"
unlike "$(cat "$T/out")" "/state|/ws " "of what is no root it shows none (control)"
base_profile

expect_rc 0 "SECRET is in no environ that can be read" ab -- sh -c '! cat /proc/[0-9]*/environ 2>/dev/null | grep -qa zz-secret'
check "outside it is (control)" sh -c 'grep -qa zz-secret /proc/self/environ'

sleep 7171 &
mine=$!
expect_rc 0 "the host's processes are not there" ab -- sh -c "for p in /proc/[0-9]*; do tr '\\0' ' ' <\$p/cmdline 2>/dev/null | grep -q '^sleep 7171' && exit 1; done; exit 0"
check "outside it is (control)" sh -c "tr '\\0' ' ' </proc/$mine/cmdline | grep -q '^sleep 7171'"
out=$(ab -- sh -c 'ls -d /proc/[0-9]* | wc -l' 2>/dev/null)
is "$((${out:-99} <= 5))" 1 "a handful of processes in all ($out)"
[ "$mine" -lt 10 ] || inside ESRCH "a signal to a host process" kill "$mine" 0
outside Y "the same signal (control)" kill "$mine" 0
expect_out alive "KILL to pid 1 from inside does not end the sandbox" ab -- sh -c 'kill -9 1 2>/dev/null; sleep 0.1; echo alive'
# What the kernel lets one user do to another process of his does init no harm (KERNEL C3).
expect_rc 7 "STOP and TERM to pid 1 neither" ab -- sh -c 'kill -STOP 1; kill -TERM 1; sleep 0.1; exit 7'
expect_rc 0 "STOP to another is acted on (control)" ab --timeout 60s -- \
	sh -c 'sleep 600 & kill -STOP $!; until grep -q "^State:.T" /proc/$!/status; do sleep 0.05; done'
expect_rc 7 "no limit, priority or processor set of init keeps it from its work" ab -- sh -c '
	prlimit --pid 1 --nofile=0:0 --fsize=0:0 --stack=0:0 2>/dev/null; renice -n 19 -p 1 >/dev/null 2>&1
	taskset -p 1 1 >/dev/null 2>&1; setsid sleep 300 & exit 7'
expect_rc 7 "nor when it has more than one end to look at" ab -- sh -c '
	prlimit --pid 1 --nofile=0:0 2>/dev/null; (setsid sleep 0.1 &); sleep 1; exit 7'
expect_rc 1 "such a limit holds for a process of its own (control)" ab --timeout 60s -- bash -c 'prlimit --pid $$ --nofile=3:3 && : 5</dev/null'
kill "$mine"

# The namespaces are made on another processor than the one that agentbox runs on; the command is
# where its caller may be.
cpus='grep ^Cpus_allowed_list /proc/self/status'
expect_out "$($cpus)" "the command has the caller's processors" ab -- $cpus
one=$(tr -dc '0-9,-' <<<"$($cpus)")
one=${one%%[,-]*}
expect_out "$(taskset -c "$one" $cpus)" "also one alone" taskset -c "$one" "$AGENTBOX" run --state "$STATE" -p "$P" -- $cpus

# --- kernel files
for f in /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sys/kernel/core_pattern /proc/sys/fs/binfmt_misc/register \
	/proc/sys/net/ipv4/ip_forward /proc/sysrq-trigger /proc/sys/kernel/ns_last_pid /proc/sys/kernel/modprobe; do
	[ -e "$f" ] || { note "$f is not on this host"; continue; }
	[ "$CALLER" != root ] || outside Y "open $f for writing (control)" sysctl "$f"
	inside N "open $f for writing" sysctl "$f"
done
inside N "/proc/kcore" read /proc/kcore
if head -c 4 /proc/kcore >/dev/null 2>&1; then
	outside Y "/proc/kcore (control)" read /proc/kcore
else
	note "/proc/kcore: this caller may not read it outside either"
fi
inside Y "another file of the kernel's (control)" read /proc/version
inside N "/proc/sys is read-only" write /proc/sys/kernel/domainname x
inside Y "own oom_score_adj can be raised" write /proc/self/oom_score_adj 500
inside N "/sys for writing" open-write /sys/kernel/profiling
inside N "/sys" exists /sys/kernel
outside Y "/sys (control)" exists /sys/kernel
if [ "$CALLER" = root ] && [ -w /sys/kernel/profiling ]; then
	outside Y "/sys for writing (control)" open-write /sys/kernel/profiling
else
	note "/sys: this caller may not write it outside either"
fi

# --- keyring: the filter answers first, and where a profile opens it, the keyring is another one
K=("$PROBE" key-exec "live-key-$CALLER")
key_find=("${K[@]}" "$AGENTBOX" run --state "$STATE" -p "$T/base.yaml" -- "$PROBE" key-find "live-key-$CALLER")
probe_yn Y "outside: a key of the session is found (control)" "${K[@]}" "$PROBE" key-find "live-key-$CALLER"
probe_yn ENOSYS "inside: it is not" "${key_find[@]}"
own=$("$PROBE" keyring)
base_profile "syscalls: {allow: [keyrings]}"
probe_yn ENOKEY "keyrings allowed: it is not there" "${key_find[@]}"
# Both listings below one session keyring: the caller's, then the command's.
# shellcheck disable=SC2016 # for the shell
both=$("${K[@]}" sh -c '"$0" keyring; "$1" run --state "$2" -p "$3" -- "$0" keyring' "$PROBE" "$AGENTBOX" "$STATE" "$P" 2>"$T/err" </dev/null)
is "$(grep -c '^ok [0-9]' <<<"$both")" 2 "keyrings allowed: both session keyrings can be read"
is "$(awk '{ print $2 }' <<<"$both" | sort -u | wc -l)" 2 "and the command's is another one"
inside Y "keyrings allowed: a key can be made and found" key-exec leak "$PROBE" key-find leak
inside Y "keyrings allowed: one in the keyring that is there" key-add leak x
probe_yn N "outside: it does not come out" "$PROBE" key-find leak
is "$("$PROBE" keyring)" "$own" "the caller's session keyring is what it was"
done_testing
