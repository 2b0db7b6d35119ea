#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# Limits by a cgroup v2 of the run's own: as root, and as an ordinary user to whom one was
# delegated; never out of a limited one; and what is said where there is none. P101.

# --- the root cgroup passes nothing on, and is not ours to change
mkdir $cg/none
profile 'memory: 64M, enforce: kernel'
run_in none 0 -- true
is "$rc" 125 "root, no controllers: 125"
has /tmp/err "no controller 'memory'" "with the reason"
profile 'memory: 64M'
run_in none 0 -- true
is "$rc" 0 "enforce: any goes on"
has /tmp/j '"memory":"rlimit+monitor"' "with the monitor"
rmdir $cg/none
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control || fail "the guest has the controllers"

# Now it is like any that passes them on: nothing of it changes, and what a killed run left goes.
stale=$cg/agentbox-$(printf %x "$(stat -L -c %i /proc/self/ns/pid)")
mkdir -p "$stale-99999-1/in" "$stale-1-1"
profile 'memory: 64M, enforce: kernel'
run_in . 0 -- probe hog private $((256 * M)) 1
by_memory "root, in the root cgroup"
is "$(boxes .):$(ls -d "$stale"-1-1)" "1:$stale-1-1" "the directory of a dead run is gone, that of a living process is not"
rmdir "$stale-1-1"

for who in root user; do
	uid=0
	[ $who = root ] || uid=1000
	delegate d $uid

	profile 'memory: 64M, enforce: kernel'
	run_in d $uid -- true
	is "$rc" 0 "$who: a run that needs little"
	has /tmp/j '"memory":"cgroup"' "$who: the mechanism"
	is "$(boxes d)" 0 "$who: its cgroup is gone"
	is "$(cat $cg/d/cgroup.subtree_control)" "" "$who: nothing is passed on any more"
	for kind in private shared memfd dropped; do
		run_in d $uid -- probe hog $kind $((256 * M)) 1
		by_memory "$who: a hog of $kind memory"
	done
	run_in d $uid -- probe hog private $((4 * M)) 40
	by_memory "$who: forty processes"
	at_most "$(number memory_peak_bytes)" $((66 * M)) "$who: never above"
	run_in d $uid -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=200; sleep 600'
	by_memory "$who: the scratch counts"
	run_in d $uid -- sh -c 'probe hog private 268435456 1; exit 0'
	by_memory "$who: a child of the command"
	is "$(boxes d)" 0 "$who: nothing is left"

	profile 'cpus: 0.2, timeout: 4s, grace: 10ms'
	run_in d $uid -- sh -c 'while :; do :; done'
	is "$rc" 124 "$who: a spinner until its time"
	has /tmp/j '"cpus":"cgroup"' "$who: the mechanism of cpus"
	has /tmp/j '"limits_felt":["cpus"]' "$who: it felt it"
	# A tenth more: the kernel hands the quota out in slices.
	at_most "$(number cpu_ms)" $(($(number wall_ms) * 22 / 100 + 100)) "$who: a fifth of a processor"
	profile 'timeout: 4s, grace: 10ms'
	run_in d $uid -- sh -c 'while :; do :; done'
	has /tmp/j '"limits_felt":[]' "$who: without it nothing waits (control)"

	# A limit above is never left.
	profile 'memory: 256M, enforce: kernel'
	echo $((48 * M)) >$cg/d/memory.max
	run_in d $uid -- probe hog private $((128 * M)) 1
	by_memory "$who: a limit of the outer cgroup"
	at_most "$(number memory_peak_bytes)" $((52 * M)) "$who: was not escaped"
	echo max >$cg/d/memory.max

	# Where it lies, and that the death of the supervisor leaves no process in it.
	profile 'memory: 64M, enforce: kernel'
	run_in d $uid -- sleep 77 &
	shell=$!
	box=$(box_of d)
	is "$(cat "$box/memory.max" "$box/memory.swap.max" "$box/memory.oom.group" 2>&1 | tr '\n' ' ')" "$((64 * M)) 0 1 " "$who: the limits are set"
	kill -9 "$(cat "$box.sup/cgroup.procs")"
	wait $shell
	sleep 0.3
	is "$(cat "$box/in/cgroup.procs")" "" "$who: SIGKILL of the supervisor ends all in it"
	find $cg/d -mindepth 1 -depth -type d -exec rmdir {} \;
	is "$(boxes d)" 0 "$who: and leaves empty directories alone"
	echo '-memory' >$cg/d/cgroup.subtree_control

	# Two at a time below one, each with its own.
	echo '+memory +pids +cpu' >$cg/d/cgroup.subtree_control
	delegate d/a $uid
	delegate d/b $uid
	J=/tmp/other run_in d/a $uid -- sleep 3 &
	one=$!
	run_in d/b $uid -- probe hog private $((256 * M)) 1
	by_memory "$who: one of two"
	rc=0
	wait $one || rc=$?
	is "$rc" 0 "$who: the other goes on"
	rmdir $cg/d/a $cg/d/b

	# Not alone there: no process of the caller is moved.
	echo '-memory -pids -cpu' >$cg/d/cgroup.subtree_control
	sh -c "echo \$\$ >$cg/d/cgroup.procs; exec sleep 100" &
	other=$!
	sleep 0.3
	run_in d $uid -- true
	is "$rc" 125 "$who: with another process there: 125"
	has /tmp/err "other processes are in the cgroup" "$who: with the reason"
	kill $other
	wait $other 2>/dev/null
	rmdir $cg/d
done

# --- nothing was delegated
mkdir $cg/e
run_in e 1000 -- true
is "$rc" 125 "an ordinary user without delegation: 125"
has /tmp/err "not delegated" "with the reason"
profile 'memory: 64M'
run_in e 1000 -- probe hog private $((16 * M)) 12
is "$rc" 124 "the monitor does it"
has /tmp/j '"limit":"memory","limit_detail":{"mechanism":"rlimit+monitor"' "and is named"
profile 'cpus: 0.5'
run_in e 1000 -- true
is "$rc" 125 "cpus without a cgroup: 125"
