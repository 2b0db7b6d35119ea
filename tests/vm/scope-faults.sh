#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # cg is of lib.sh
# System calls with which the user manager is asked for a scope, and some of those with which the
# cgroup in it is made, fail, one a run: nothing runs, or what runs has its limit; and no scope is left.
# The bus library waits a varying number of times, so the number of a call moves, and a failure may
# hit a neighbour of the one that is meant: what was hit is what is judged. One errno each, mostly EPERM.
profile 'memory: 64M, enforce: kernel'
cat >/tmp/session.sh <<'SESSION'
run() { # ARGS... of inject
	rc=0
	rm -f /ws/ran /tmp/log
	[ ! -d /tmp/state ] || { rm -rf /home/u/.local/state && cp -a /tmp/state /home/u/.local/state; }
	inject --in supervisor --log /tmp/log "$@" -- /usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 -- \
		sh -c 'touch /ws/ran; exec probe hog memfd 268435456 1' 9>/tmp/u.j </dev/null >/tmp/out 2>/tmp/u.err || rc=$?
	by=$(grep -o '"limit":"memory","limit_detail":{"mechanism":"[a-z]*"' /tmp/u.j | grep -o '[a-z]*"$')
	echo "$rc:$(ls /ws):$by"
}
# What each can say.
errnos() { # CALL
	case $1 in
	write\(*) echo EPERM EAGAIN ;;
	connect\(*) echo ECONNREFUSED ;;
	*) echo EPERM ;;
	esac
}
run --list >/dev/null
cp -a /home/u/.local/state /tmp/state
echo "$(run --list) a run without a failure"
awk '/"\/sys\/fs\/cgroup"/ { on = 1 } on { print } /openat\(.*"\/proc\/self\/ns\/cgroup"/ { exit }' /tmp/log |
	grep -E ' (socket|connect|sendmsg|recvmsg|mkdirat)\(| write\([0-9]+, "| openat\(.*(libsystemd|"(cgroup|memory)\.[a-z._]*", 0x80001|"agentbox-|"in")' >/tmp/cases
while read -r k text; do
	for errno in $(errnos "$text"); do
		# How often it waits for the answer is not the same each time: what was made to fail is said.
		got=$(run --nth "$k" --errno "$errno")
		echo "$got $errno at $(sed -n 's/^[0-9]* \(.*\) injected$/\1/p' /tmp/log)"
	done
done </tmp/cases
SESSION
touch /tmp/results
systemd-run --wait --pipe -q -p User=u -p PAMName=login -p Environment=HOME=/home/u -p RuntimeMaxSec=infinity \
	/bin/sh /tmp/session.sh </dev/null >/tmp/results 2>/tmp/err
read -r got what </tmp/results
is "$got" 124:ran:scope\" "$what is ended by its scope"
like_memory() {
	case $1 in
	*" mmap("* | *" mremap("*) pass "$1: nothing runs" ;;
	*) fail "$1" "it aborted" ;;
	esac
}
n=0 refused=0
while read -r got what; do
	case $got:$what in
	*" at") continue ;; # it waited less often than before
	esac
	case $got in
	125::)
		refused=$((refused + 1))
		pass "$what: nothing runs"
		;;
	# What is made to fail may be a neighbour: no memory aborts by design, and nothing ran.
	134::) like_memory "$what" ;;
	124:ran:scope\") pass "$what: it runs, and has its limit" ;;
	*) fail "$what" "got $got" ;;
	esac
	n=$((n + 1))
done <<RESULTS
$(sed 1d /tmp/results)
RESULTS
is "$((n > 25 && refused > 10))" 1 "$n failures, $refused of them an end"
wait_for sh -c "! find $cg/user.slice -name 'agentbox-*' | grep -q ."
is "$(find $cg/user.slice -name 'agentbox-*')" "" "nothing is left of them"
