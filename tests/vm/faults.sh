#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# Each system call that changes something for the cgroup of a run fails in turn: nothing runs, and
# nothing is left.
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
delegate d 1000
profile 'memory: 64M, cpus: 0.5, enforce: kernel'
run() { # ARGS... of inject
	rc=0
	rm -f /ws/ran /tmp/log
	# The same calls each time: what is read of the audit log does not grow.
	[ ! -d /tmp/state ] || { rm -rf /home/u/.local && cp -a /tmp/state /home/u/.local; }
	inject --in supervisor --log /tmp/log "$@" -- sh -c 'echo $$ >/sys/fs/cgroup/d/cgroup.procs || exit 99
		exec /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u \
			/usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 -- touch /ws/ran' 9>/tmp/j </dev/null >/tmp/out 2>/tmp/err || rc=$?
	ran=$(ls /ws)
}
run --list
cp -a /home/u/.local /tmp/state
run --list
is "$rc:$ran" 0:ran "a run without a failure"
# From the first look at the file system to the clone of the child.
awk '/"\/sys\/fs\/cgroup"/ { on = 1 } on { print } /clone3/ { exit }' /tmp/log |
	grep -E ' (mkdirat|write|flock)\(| openat\([0-9]+, "(cgroup|memory|cpu)\.[a-z._]*", 0x80001| openat\([0-9]+, "(agentbox-|in")' |
	grep -vE ' flock\([0-9]+, 8,' >/tmp/cases
is "$([ "$(wc -l </tmp/cases)" -gt 12 ] && echo yes)" yes "there are such calls"
plain() { # the number of the process and the time are in a name
	sed 's/"agentbox-[0-9a-f-]*/"agentbox-/'
}
# What each can say: cgroups(7), cgroup-v2.rst, mkdir(2), flock(2).
errnos() { # CALL
	case $1 in
	mkdirat\(*) echo EPERM EACCES EAGAIN EEXIST ENOMEM ENOSPC ;;
	write\(*) echo EPERM EAGAIN EBUSY EINVAL ENODEV ENOENT ENOSPC EOPNOTSUPP ;;
	flock\(*) echo EPERM ENOLCK ;;
	*) echo EPERM EMFILE ENODEV ENOENT ;;
	esac
}
while read -r k text; do
	for errno in $(errnos "$text"); do
		run --nth "$k" --errno $errno
		[ "$(sed -n 's/^[0-9]* \(.*\) injected$/\1/p' /tmp/log | plain)" = "$(echo "$text" | plain)" ] || fail "$errno at $text: was another call" "$(cat /tmp/log)"
		is "$rc:$ran" 125: "$errno at $text: nothing runs"
		is "$(boxes d):$(cat $cg/d/cgroup.subtree_control)" 0: "and nothing is left"
		find $cg/d -mindepth 1 -depth -type d -exec rmdir {} \;
		[ -z "$(cat $cg/d/cgroup.subtree_control)" ] || echo '-memory -cpu -pids' >$cg/d/cgroup.subtree_control
	done
done </tmp/cases
