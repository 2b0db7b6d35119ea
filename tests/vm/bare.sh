#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# A kernel without Landlock, and then without user namespaces: what is left holds or is refused.
echo '+memory +pids +cpu' >$cg/cgroup.subtree_control
delegate d 1000
profile 'memory: 64M, enforce: kernel'
run_in d 1000 -- probe hog private $((256 * M)) 1
by_memory "a user, on this kernel"
rmdir $cg/d
mkdir $cg/d

profile 'processes: 20'
echo secret >/home/u/secret
echo mine >/ws/file
for who in 0 1000; do
	run_in d $who -- sh -c 'cat /ws/file; cat /home/u/secret || cat /etc/shadow || echo x >/usr/x || echo no'
	is "$rc:$(cat /tmp/out)" "0:mine
no" "uid $who, without Landlock: the mounts hold"
	has /tmp/j '"landlock":"none"' "uid $who: and it is said"
done
sed -i 's/sandbox: {/sandbox: {commands: [touch], /' /profiles/p.yaml
run_in d 1000 -- touch /ws/ran
is "$rc:$(ls /ws)" 125:file "what needs Landlock is refused"
has /tmp/err Landlock "with the reason"

profile 'processes: 20'
echo 0 >/proc/sys/kernel/unprivileged_userns_clone
run_in d 1000 -- touch /ws/ran
is "$rc:$(ls /ws)" 125:file "Debian's setting: a user has no sandbox"
has /tmp/err "kernel.unprivileged_userns_clone" "it is named"
run_in d 0 -- true
is "$rc" 0 "root has one"
echo 1 >/proc/sys/kernel/unprivileged_userns_clone
run_in d 1000 -- true
is "$rc" 0 "and the user again (control)"
for who in 0 1000; do
	echo 0 >/proc/sys/user/max_user_namespaces
	run_in d $who -- touch /ws/ran
	is "$rc:$(ls /ws)" 125:file "uid $who, no user namespaces: nothing runs"
	has /tmp/err "user.max_user_namespaces" "uid $who: it is named"
	echo 1000 >/proc/sys/user/max_user_namespaces
	run_in d $who -- true
	is "$rc" 0 "uid $who: with them (control)"
done
