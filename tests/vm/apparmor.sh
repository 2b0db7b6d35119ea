#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # rc is of lib.sh
# AppArmor that refuses user namespaces to a program, or rights in them: the cause is named with what
# to do; with the profile that comes with agentbox a run works, and nothing else may more than before.
as_user() { # CMD...: with its output in /tmp/out and /tmp/err
	rc=0
	/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u "$@" >/tmp/out 2>/tmp/err </dev/null || rc=$?
}
box() { as_user /usr/bin/agentbox run -p /profiles/p.yaml -- touch /ws/ran; }
parser() {
	lib=/usr/lib/apparmor-parser
	$lib/ld-linux-x86-64.so.2 --library-path $lib $lib/apparmor_parser -K "$@" >/tmp/out 2>/tmp/err
}
# What a distribution makes of programs without a profile of their own: RULES on all that is tried here,
# by a pattern, before which a name goes. The guest's own tools are another program.
restrict() { # NAME RULES
	printf 'abi <abi/4.0>,\nprofile %s /{usr/bin,tmp}/[au]* {\n%s\n  file, network, unix, signal, ptrace,\n}\n' \
		"$1" "$2" >/tmp/policy
	parser -r /tmp/policy
	is $? 0 "the policy '$1'"
}
refused() { # TEXT REMEDY DESCRIPTION
	box
	is "$rc:$(ls /ws)" 125: "$3: nothing runs"
	has /tmp/err "$1" "$3: the cause"
	has /tmp/err "$2" "$3: and what to do"
	as_user /usr/bin/agentbox doctor
	is "$rc" 125 "$3: doctor says that a plain run does not work"
	has /tmp/out "$1" "$3: doctor, the same cause"
	has /tmp/out "remedy: $2" "$3: doctor, the same remedy"
}
works() { # DESCRIPTION
	box
	is "$rc:$(ls /ws)" 0:ran "$1"
	rm -f /ws/ran
}
mount -t securityfs security /sys/kernel/security
is "$(cat /sys/module/apparmor/parameters/enabled)" Y "AppArmor is on"
profile 'processes: 20'
cp /usr/bin/busybox /tmp/unshare
cp /usr/bin/agentbox /tmp/agentbox
works "without any policy a run works (control)"
as_user /tmp/unshare -Ur true
is "$rc" 0 "and so does another program (control)"

rights='capability, mount, umount, pivot_root,'
restrict no_namespaces "$rights"
without="run it without (docker: --security-opt apparmor=unconfined)"
refused "the AppArmor profile 'no_namespaces' confines this process" "$without" "no user namespaces"
parser -R /tmp/policy
restrict no_rights userns,
refused "the AppArmor profile 'no_rights' confines this process" "$without" "no rights in them"
# Debian's kernel has this policy, and not the setting by which another distribution turns it on: a
# file stands in its place, and who refuses is the kernel.
mount -t tmpfs sysctl /proc/sys/kernel
echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns
setting="kernel.apparmor_restrict_unprivileged_userns is 1"
load="as administrator load the profile that comes with agentbox: apparmor_parser -r "
refused "$setting" "$load" "the setting, no rights"
parser -R /tmp/policy
restrict no_namespaces "$rights"
refused "$setting" "$load" "the setting, no namespaces"
umount /proc/sys/kernel
as_user /tmp/unshare -Ur true
is "$rc" 1 "another program has none either"

parser -r /etc/apparmor.d/agentbox
is $? 0 "the profile that comes with agentbox is loaded"
is "$(grep -c '^agentbox (unconfined)$' /sys/kernel/security/apparmor/profiles)" 1 "and there"
works "with it a run works"
as_user /usr/bin/agentbox doctor
is "$rc" 0 "and doctor says so"
as_user /tmp/unshare -Ur true
is "$rc" 1 "another program has none still"
as_user /tmp/agentbox run -p /profiles/p.yaml -- touch /ws/ran
is "$rc:$(ls /ws)" 125: "nor has the same program elsewhere"
as_user /usr/bin/agentbox run -p /profiles/p.yaml -- /usr/bin/unshare -Ur true
is "$([ "$rc" != 0 ] && echo no)" no "nor has a program inside"
