#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# What a cgroup of the run's own holds, each limit once, for an ordinary user to whom one was
# delegated; the count of processes for root, whom nothing else binds. cgroup.sh has the rest.
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
delegate d 1000

profile 'memory: 64M, enforce: kernel'
run_in d 1000 -- true
is "$rc" 0 "a run that needs little"
has /tmp/j '"memory":"cgroup"' "the mechanism"
run_in d 1000 -- probe hog memfd $((256 * M)) 1
by_memory "memory that no process maps"
run_in d 1000 -- probe hog private $((4 * M)) 40
by_memory "forty processes"
at_most "$(number memory_peak_bytes)" $((66 * M)) "never above"
# Nobody asked for a limit of them; pids.peak is younger than 6.1.
peak=$(number processes_peak)
case $(uname -r) in
6.1.*) is "$peak" "" "the kernel keeps no peak of processes" ;;
*) is "$([ "${peak:-0}" -gt 1 ] && [ "$peak" -le 40 ] && echo yes)" yes "the peak of processes is in the result too ($peak)" ;;
esac
is "$(boxes d)" 0 "its cgroup is gone"

profile 'cpus: 0.2, timeout: 2s, grace: 10ms'
run_in d 1000 -- sh -c 'while :; do :; done'
is "$rc" 124 "a spinner until its time"
has /tmp/j '"limits_felt":["cpus"]' "felt the limit of processors"
is "$([ "$(number throttled_ms)" -gt 0 ] && echo yes)" yes "and for how long it waited"
# A tenth more: the kernel hands the quota out in slices. And where the guest's own processor was not
# run for a while, that counts once; what is too much is taken from the periods that follow.
at_most "$(number cpu_ms)" $(($(number wall_ms) * 22 / 100 + 300)) "a fifth of a processor"

# Only cgroup.kill ends what init does not know of.
profile 'memory: 64M, cpus: 0.5, enforce: kernel'
run_in d 1000 -- sh -c 'trap "" TERM; touch /ws/up; while :; do sleep 1; done' &
shell=$!
box=$(box_of d)
is "$(cat "$box/memory.max" "$box/memory.swap.max" "$box/memory.oom.group" "$box/cpu.max" 2>&1 | tr '\n' ' ')" "$((64 * M)) 0 1 50000 100000 " "the limits are set"
wait_for test -e /ws/up
sleep 600 &
guest=$!
echo $guest >"$box/cgroup.procs"
# The second one leaves no grace time.
kill "$(cat "$box.sup/cgroup.procs")"
sleep 0.3
kill "$(cat "$box.sup/cgroup.procs")"
wait $shell
rc=0
wait $guest || rc=$?
is "$rc" 137 "all in it is killed at once"
is "$(boxes d)" 0 "and it is gone"

# What is frozen ends with its time too.
rm /ws/up
profile 'memory: 64M, timeout: 2s, grace: 10ms'
run_in d 1000 -- sh -c 'touch /ws/up; while :; do sleep 1; done' &
shell=$!
box=$(box_of d)
wait_for test -e /ws/up
echo 1 >"$box/cgroup.freeze"
wait $shell
has /tmp/j '"limit":"timeout"' "a frozen sandbox ends with its time"
is "$(boxes d)" 0 "and nothing of it is left"

# A limit above is never left.
profile 'memory: 256M, enforce: kernel'
echo $((48 * M)) >$cg/d/memory.max
run_in d 1000 -- probe hog private $((128 * M)) 1
by_memory "a limit of the outer cgroup"
at_most "$(number memory_peak_bytes)" $((52 * M)) "was not escaped"
rmdir $cg/d

# Nothing was delegated.
mkdir $cg/e
run_in e 1000 -- touch /ws/ran
rm /ws/up
is "$rc:$(ls /ws)" 125: "without delegation nothing runs"
has /tmp/err "not delegated" "with the reason"
rmdir $cg/e

# Kernel uid 0, because this file system cannot map ids: RLIMIT_NPROC does not bind it.
delegate d 0
mkdir /ram
mount -t ramfs ram /ram
profile 'processes: 20, enforce: kernel'
sed -i 's|path: /ws|path: /ram|' /profiles/p.yaml
run_in d 0 -- sh -c 'n=1; while sleep 60 & do n=$((n + 1)); echo $n >/ram/n; done'
has /tmp/j '"processes":"cgroup"' "processes of root: the mechanism"
has /tmp/j '"limits_felt":["processes"]' "processes of root: felt"
is "$(cat /ram/n)" 20 "processes of root: not one more"
# Linux 6.11 has the peak.
[ -e $cg/d/pids.peak ] && peak=20 || peak=
is "$(number processes_peak)" "$peak" "processes of root: the peak is in the result"

# A fork bomb ends with its time. A shell that cannot fork ends; then this one starts anew.
profile 'processes: 20, enforce: kernel, timeout: 2s, grace: 100ms'
sed -i 's|path: /ws|path: /ram|' /profiles/p.yaml
cat >/ram/bomb <<'BOMB'
trap 'exec sh /ram/bomb' EXIT
touch /ram/up
f() { f | f & }
f
while :; do f; done
BOMB
run_in d 0 -- sh /ram/bomb &
shell=$!
box=$(box_of d)
is "$(cat "$box/pids.max")" 21 "the limit is set, and init is one more"
wait_for test -e /ram/up
is "$(/usr/bin/probe ids >/dev/null && echo yes)" yes "a program starts beside a fork bomb"
wait $shell
has /tmp/j '"limit":"timeout"' "a fork bomb ends with its time"
has /tmp/j '"processes":"cgroup"' "a fork bomb: the mechanism"
has /tmp/j '"limits_felt":["processes"]' "a fork bomb felt its limit"
is "$(number processes_peak)" "$peak" "a fork bomb: not one more"
is "$(boxes d)" 0 "and nothing of it is left"
