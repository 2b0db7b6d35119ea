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
	inject --in supervisor --log /tmp/log "$@" -- sh -c 'echo $$ >/sys/fs/cgroup/d/cgroup.procs || exit 99
		exec /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u \
			/usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 -- touch /ws/ran' 9>/tmp/j </dev/null >/tmp/out 2>/tmp/err || rc=$?
	ran=$(ls /ws)
}
run --list
run --list
is "$rc:$ran" 0:ran "a run without a failure"
# From the first look at the file system to the clone of the child.
awk '/"\/sys\/fs\/cgroup"/ { on = 1 } on { print } /clone3/ { exit }' /tmp/log |
	grep -E ' (mkdirat|write|flock)\(| openat\([0-9]+, "(cgroup|memory|cpu)\.[a-z._]*", 0x80001| openat\([0-9]+, "agentbox-' |
	grep -vE ' flock\([0-9]+, 8,' >/tmp/cases
is "$([ "$(wc -l </tmp/cases)" -gt 12 ] && echo yes)" yes "there are such calls"
while read -r k text; do
	run --nth "$k" --errno EPERM
	is "$rc:$ran" 125: "EPERM at $text: nothing runs"
	is "$(boxes d):$(cat $cg/d/cgroup.subtree_control)" 0: "and nothing is left"
	find $cg/d -mindepth 1 -depth -type d -exec rmdir {} \;
	echo '-memory -cpu' >$cg/d/cgroup.subtree_control
done </tmp/cases
