#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# Processes that the kernel does not end: those in the freezer of cgroup v1 wait where no signal
# reaches them. The wait for them has an end, and it is said.
mkdir /fz
mount -t cgroup -o freezer fz /fz
mkdir /fz/cold
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
delegate d 1000
profile 'memory: 64M, timeout: 3s, grace: 10ms'
run_in d 1000 -- sh -c 'touch /ws/up; while :; do sleep 600; done' &
shell=$!
box=$(box_of d)
wait_for test -e /ws/up
while read -r pid; do
	echo "$pid" >/fz/cold/cgroup.procs
done <"$box/in/cgroup.procs"
echo FROZEN >/fz/cold/freezer.state
wait_for grep -q FROZEN /fz/cold/freezer.state
before=$(cut -d. -f1 /proc/uptime)
wait $shell
took=$(($(cut -d. -f1 /proc/uptime) - before))
at_most "$took" 40 "the wait has an end ($took s)"
has /tmp/err "cannot be killed" "and it is said why"
has /tmp/j '"limit":"timeout"' "the limit is named"
is "$(wc -l <"$box/in/cgroup.procs" | grep -c '^0$')" 0 "they are there still"
echo THAWED >/fz/cold/freezer.state
wait_for sh -c "! grep -q . $box/in/cgroup.procs"
is "$(cat "$box/in/cgroup.procs")" "" "and end when they thaw"
