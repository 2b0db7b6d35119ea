#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# Limits by a cgroup v2 of the run's own: as root, and as an ordinary user to whom one was
# delegated; never out of a limited one; and what is said where there is none. P101.

limits_of() { # BOX: one line
	cat "$1/memory.max" "$1/memory.swap.max" "$1/memory.oom.group" "$1/cpu.max" 2>&1 | tr '\n' ' '
}
# As run_in, where the file system of cgroups is read-only.
run_read_only() { # CGROUP UID ARGS...
	where=$1 uid=$2
	shift 2
	in_cgroup "$where" 0 unshare -m sh -c '
		mount --bind /sys/fs/cgroup /sys/fs/cgroup && mount -o remount,bind,ro /sys/fs/cgroup || exit 99
		uid=$1
		shift
		[ "$uid" = 0 ] || export HOME=/home/u
		exec /usr/bin/setpriv --reuid "$uid" --regid "$uid" --clear-groups /usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 "$@"
	' - "$uid" "$@"
}
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
		echo "# overshoot $(($(number memory_peak_bytes) - 64 * M)) bytes, ended $(number at_ms) ms after the start, gone $(($(number wall_ms) - $(number at_ms))) ms later"
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
	# A tenth more: the kernel hands the quota out in slices; and once what a guest that is not run loses.
	at_most "$(number cpu_ms)" $(($(number wall_ms) * 22 / 100 + 300)) "$who: a fifth of a processor"
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
	for most in 30 max; do
		echo $most >$cg/d/pids.max
		rm -f /ws/n
		run_in d $uid -- sh -c 'n=1; while [ $n -lt 60 ]; do sleep 60 & n=$((n + 1)); echo $n >/ws/n; done'
		if [ $most = max ]; then
			is "$(cat /ws/n)" 60 "$who: without one there are sixty processes (control)"
		else
			at_most "$(cat /ws/n)" $most "$who: an outer limit of processes was not escaped"
		fi
	done
	profile 'cpus: 0.8, timeout: 4s, grace: 10ms'
	echo '20000 100000' >$cg/d/cpu.max
	run_in d $uid -- sh -c 'while :; do :; done'
	is "$rc" 124 "$who: a spinner in an outer limit of processors"
	at_most "$(number cpu_ms)" $(($(number wall_ms) * 22 / 100 + 300)) "$who: was not escaped"
	echo max >$cg/d/cpu.max

	# Where it lies, and that the death of the supervisor leaves no process in it.
	profile 'memory: 64M, cpus: 0.5, enforce: kernel'
	run_in d $uid -- sleep 77 &
	shell=$!
	box=$(box_of d)
	is "$(limits_of "$box")" "$((64 * M)) 0 1 50000 100000 " "$who: the limits are set"
	kill -9 "$(cat "$box.sup/cgroup.procs")"
	wait $shell
	sleep 0.3
	is "$(cat "$box/in/cgroup.procs")" "" "$who: SIGKILL of the supervisor ends all in it"
	find $cg/d -mindepth 1 -depth -type d -exec rmdir {} \;
	is "$(boxes d)" 0 "$who: and leaves empty directories alone"
	echo '-memory -pids -cpu' >$cg/d/cgroup.subtree_control

	# Two at a time below one, each with its own.
	echo '+memory +pids +cpu' >$cg/d/cgroup.subtree_control
	delegate d/a $uid
	delegate d/b $uid
	profile 'memory: 256M, enforce: kernel'
	rm -f /ws/up /ws/go
	# It takes more than the other one may have, once that one has ended.
	(J=/tmp/other run_in d/a $uid -- sh -c 'touch /ws/up
		while [ ! -e /ws/go ]; do sleep 0.1; done
		exec dd if=/dev/zero of=/dev/null bs=128M count=1'; exit $rc) &
	one=$!
	wait_for test -e /ws/up
	profile 'memory: 64M, enforce: kernel'
	run_in d/b $uid -- probe hog private $((256 * M)) 1
	by_memory "$who: one of two"
	is "$(has_box d/a && echo yes)" yes "$who: the other was there all the time"
	touch /ws/go
	rc=0
	wait $one || rc=$?
	is "$rc" 0 "$who: the other goes on, with its own limit"
	is "$([ "$(J=/tmp/other number memory_peak_bytes)" -gt $((128 * M)) ] && echo more)" more "$who: above that of the first"
	rmdir $cg/d/a $cg/d/b

	echo '-memory -pids -cpu' >$cg/d/cgroup.subtree_control

	# A view of cgroups that cannot be written.
	rm -f /ws/*
	run_read_only d $uid -- touch /ws/ran
	is "$rc:$(ls /ws)" 125: "$who: cgroups that are read-only: 125"
	has /tmp/err "not delegated" "$who: with the reason"
	profile 'memory: 64M'
	run_read_only d $uid -- true
	is "$rc" 0 "$who: enforce: any goes on"
	has /tmp/j '"memory":"rlimit+monitor"' "$who: with the monitor"
	profile 'memory: 64M, enforce: kernel'

	# Not alone there: no process of the caller is moved.
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

# --- delegated with a part of the controllers: what there is, is used, and doctor knows which
for some in '+memory +pids +cpu' '+memory' '+cpu' ''; do
	echo '-memory -pids -cpu' >$cg/cgroup.subtree_control
	[ -z "$some" ] || echo "$some" >$cg/cgroup.subtree_control
	delegate g 1000
	profile 'timeout: 60s'
	in_cgroup g 1000 /usr/bin/agentbox doctor -p /profiles/p.yaml --json
	cp /tmp/out /tmp/d
	like_doctor "controllers '$some'" run_in g 1000
	for one in memory cpu; do
		case $some in *$one*) want=1 ;; *) want=0 ;; esac
		is "$(grep -c "\"${one}s*\":{\"any\":\"cgroup\",\"kernel\":\"cgroup\"" /tmp/d)" $want "controllers '$some': $one by the cgroup: $want"
	done
	rmdir $cg/g
done
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control

# --- nothing was delegated
profile 'memory: 64M, enforce: kernel'
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

# --- processes: for kernel uid 0 alone, where the file system cannot map ids
delegate f 0
mkdir /ram
mount -t ramfs ram /ram
profile 'processes: 20, enforce: kernel'
sed -i 's|path: /ws|path: /ram|' /profiles/p.yaml
run_in f 0 -- sleep 77 &
shell=$!
box=$(box_of f)
is "$(cat "$box/pids.max")" 21 "root: the limit of processes is set, and init is one more"
kill "$(cat "$box.sup/cgroup.procs")"
wait $shell
is "$(boxes f)" 0 "root: nothing is left"
