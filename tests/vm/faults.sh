#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# Each system call that changes something for the cgroup of a run fails in turn: nothing runs, and
# nothing is left.
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
delegate d 1000
profile 'memory: 64M, cpus: 0.5, enforce: kernel'
# Who runs it, below which directory its state is, and in which root.
uid=1000 state=/home/u/.local ws=/ws
run() { # ARGS... of inject
	rc=0
	rm -f $ws/ran /tmp/log
	# The same calls each time: what is read of the audit log does not grow.
	[ ! -d /tmp/state ] || { rm -rf $state && cp -a /tmp/state $state; }
	inject --in supervisor --log /tmp/log "$@" -- sh -c 'echo $$ >/sys/fs/cgroup/d/cgroup.procs || exit 99
		exec /usr/bin/setpriv --reuid "$1" --regid "$1" --clear-groups env HOME=/home/u \
			/usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 -- touch "$2/ran"' - $uid $ws 9>/tmp/j </dev/null >/tmp/out 2>/tmp/err || rc=$?
	ran=$(ls $ws)
}
# The calls of such a run, in /tmp/list.
list_calls() {
	run --list
	rm -rf /tmp/state
	cp -a $state /tmp/state
	run --list
	is "$rc:$ran" 0:ran "uid $uid: a run without a failure"
	cp /tmp/log /tmp/list
}
nothing_left() {
	is "$(boxes d):$(cat $cg/d/cgroup.subtree_control)" 0: "and nothing is left"
	find $cg/d -mindepth 1 -depth -type d -exec rmdir {} \;
	[ -z "$(cat $cg/d/cgroup.subtree_control)" ] || echo '-memory -cpu -pids' >$cg/d/cgroup.subtree_control
}
# What is set is read back: where the write of a limit says that it was done, and was not, nothing runs.
lies() { # FILE...
	for file in "$@"; do
		# Whose file it is: the write that comes next after its opening.
		read -r k text <<CALL
$(awk -v file="\"$file\", 0x80001" '/ openat\(/ { on = index($0, file) } on && / write\(/ { print; exit }' /tmp/list)
CALL
		run --nth "${k:-0}" --lie
		is "$(sed -n 's/^[0-9]* \(.*\) injected$/\1/p' /tmp/log)" "${text:-a write}" "uid $uid: the write of $file is skipped"
		is "$rc:$ran" 125: "uid $uid: it is read back: nothing runs"
		has /tmp/err "cannot set up the cgroup of the run ($file)" "with the file in the reason"
		nothing_left
	done
}
list_calls
lies memory.max memory.swap.max memory.oom.group cpu.max cgroup.max.descendants
# From the first look at the file system to the clone of the child.
awk '/"\/sys\/fs\/cgroup"/ { on = 1 } on { print } /clone3/ { exit }' /tmp/list |
	grep -E ' (mkdirat|write|flock)\(| openat\([0-9]+, "(cgroup|memory|cpu)\.[a-z._]*", 0x80001| openat\([0-9]+, "(agentbox-|in")' |
	grep -vE ' flock\([0-9]+, 8,' >/tmp/cases
is "$([ "$(wc -l </tmp/cases)" -gt 12 ] && echo yes)" yes "there are such calls"
plain() { # the number of the process and the time are in a name; a call may have fewer than four arguments
	sed 's/"agentbox-[0-9a-f-]*/"agentbox-/;s/0x[0-9a-f]\{9,\}/ADDRESS/g'
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
		nothing_left
	done
done </tmp/cases

# Processes are counted for root alone, and where the file system cannot map ids.
rmdir $cg/d
delegate d 0
uid=0 state=/var/lib/agentbox ws=/ram
mkdir $ws
mount -t ramfs ram $ws
rm -rf /tmp/state
profile 'processes: 20, enforce: kernel'
sed -i "s|path: /ws|path: $ws|" /profiles/p.yaml
list_calls
has /tmp/j '"processes":"cgroup"' "processes of root: the mechanism"
lies pids.max
