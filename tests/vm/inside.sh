#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # cg is of lib.sh
# A program that may make user namespaces mounts the cgroups that it can see, and tries to lift what
# limits it: with nsdelegate, by which the kernel forbids it, and without, where it owns them.
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
cat >/ws/inner.sh <<'INNER'
mkdir -p /tmp/c
mount -t cgroup2 none /tmp/c || exit 9
cd /tmp/c || exit 9
echo "sees $(ls -d cgroup.procs memory.max pids.max cpu.max memory.swap.max 2>/dev/null | tr '\n' ' ')"
for f in memory.max memory.swap.max cpu.max pids.max; do
	(echo max >$f) 2>/dev/null && echo "lifted $f"
done
mkdir sub 2>/dev/null && echo "made one"
${HOG:-probe} hog private 268435456 1
INNER
for option in nsdelegate ''; do
	mount -o "remount${option:+,$option}" cg /sys/fs/cgroup
	is "$(grep -o nsdelegate /proc/mounts)" "$option" "mounted with '$option'"
	for who in 1000 0; do
		delegate d $who
		profile 'memory: 64M, enforce: kernel'
		sed -i 's/sandbox: {/sandbox: {nested_sandboxes: true, /' /profiles/p.yaml
		run_in d $who -- unshare -UrmC sh /ws/inner.sh
		is "$(grep -v '^\[' /tmp/out)" "sees cgroup.procs " "uid $who, '$option': it sees no limit, lifts none and makes nothing"
		by_memory "uid $who, '$option': its end"
		is "$(boxes d)" 0 "uid $who, '$option': nothing is left"
		rmdir $cg/d
	done
done
# The first process is born in its cgroup, and does not come to it later.
delegate d 1000
profile 'memory: 64M, enforce: kernel'
timeout 100 strace -f -e trace=clone3 -o /tmp/calls sh -c 'echo $$ >/sys/fs/cgroup/d/cgroup.procs
	HOME=/home/u exec setpriv --reuid 1000 --regid 1000 --clear-groups /usr/bin/agentbox run -p /profiles/p.yaml -- true' </dev/null >/tmp/out 2>/tmp/err
is "$?:$(grep -c 'CLONE_INTO_CGROUP.*cgroup=' /tmp/calls)" 0:1 "clone3 puts the sandbox into its cgroup"
rmdir $cg/d
# In a cgroup of its own, with no level between, the same caller has them all (control).
delegate d 1000
echo '+memory' >$cg/d/cgroup.subtree_control
setpriv --reuid 1000 --regid 1000 --clear-groups mkdir $cg/d/x
echo 67108864 >$cg/d/x/memory.max
sh -c "echo \$\$ >$cg/d/x/cgroup.procs; exec setpriv --reuid 1000 --regid 1000 --clear-groups \
	env HOG=true unshare -UrmC sh /ws/inner.sh" >/tmp/out 2>/tmp/err
is "$(tr '\n' ' ' </tmp/out)" "sees cgroup.procs memory.max memory.swap.max  lifted memory.max lifted memory.swap.max made one " \
	"in a cgroup of its own it lifts what limits it (control)"
