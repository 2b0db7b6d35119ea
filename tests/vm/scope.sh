#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 # cg is one word
# A cgroup from the user manager, where nothing is delegated: asked for by `enforce: kernel` alone, from
# a login session or a service of that manager, and never out of a limit.
session() { # ARGS...: of agentbox run, in a login session of the user; as run_in
	rc=0
	systemd-run --wait --pipe -q -p User=${WHO:-u} -p PAMName=login -p Environment=HOME=${HOME_OF:-/home/u} $SCOPED \
		/usr/bin/agentbox run -p /profiles/p.yaml --status-fd 1 "$@" </dev/null >/tmp/j 2>/tmp/err || rc=$?
}
by_scope() { # DESCRIPTION
	is "$rc" 124 "$1: 124"
	has /tmp/j '"limit":"memory","limit_detail":{"mechanism":"scope"' "$1: memory, by the scope"
}
refused() { # TEXT DESCRIPTION
	is "$rc:$(ls /ws)" 125: "$2: 125"
	has /tmp/err "$1" "$2: with the reason"
}
SCOPED=
profile 'memory: 64M, enforce: kernel'
session -- true
is "$rc" 0 "a run in a login session"
has /tmp/j '"memory":"scope"' "the mechanism"
for kind in private memfd; do
	session -- probe hog $kind $((256 * M)) 1
	by_scope "a hog of $kind memory"
done
at_most "$(number memory_peak_bytes)" $((66 * M)) "never above"
session -- sh -c 'exit 7'
is "$rc" 7 "the command's own status"
WHO=root HOME_OF=/root
session -- probe hog private $((256 * M)) 1
by_scope "root's session"
unset WHO HOME_OF

# Seen from beside: where it is, and that nothing is left of it.
systemd-run -q --unit=long -p User=u -p PAMName=login /usr/bin/agentbox run -p /profiles/p.yaml -- \
	sh -c 'touch /ws/up; sleep 600'
wait_for test -e /ws/up
box=$(find $cg/user.slice/user-1000.slice -name 'agentbox-*[!ep]' -type d)
like=$(echo "$box" | sed 's|.*/user@1000.service/\(.*/\)*agentbox-[^/]*.scope/agentbox-[0-9a-f-]*$|yes|')
is "$like" yes "it is below the user's manager"
is "$(cat "$box/memory.max" "$box/memory.swap.max" "$box/memory.oom.group" | tr '\n' ' ')" "$((64 * M)) 0 1 " "the limits are set"
systemctl kill -s KILL --kill-whom=main long
wait_for sh -c "! find $cg/user.slice -name 'agentbox-*' | grep -q ."
is "$(find $cg/user.slice -name 'agentbox-*')" "" "after SIGKILL nothing is left"
systemctl reset-failed 2>/dev/null
rm -f /ws/up

profile 'cpus: 0.2, enforce: kernel, timeout: 3s, grace: 10ms'
session -- sh -c 'while :; do :; done'
is "$rc" 124 "a spinner until its time"
has /tmp/j '"cpus":"scope"' "by the scope"
at_most "$(number cpu_ms)" $(($(number wall_ms) * 22 / 100 + 300)) "a fifth of a processor"
is "$(find $cg/user.slice -name 'agentbox-*')" "" "and nothing is left"

# Processes are counted by it for root, where the file system cannot map ids.
mkdir /ram
mount -t ramfs ram /ram
profile 'processes: 20, enforce: kernel'
sed -i 's|path: /ws|path: /ram|' /profiles/p.yaml
WHO=root HOME_OF=/root
session -- sh -c 'for i in $(seq 40); do sleep 60 & echo $i >/ram/n; done'
has /tmp/j '"processes":"scope"' "processes of root: by the scope"
has /tmp/j '"limits_felt":["processes"]' "processes of root: felt"
is "$(cat /ram/n)" 19 "processes of root: not one more, and the shell is one"
unset WHO HOME_OF

# Nobody asks for it, nobody gets it.
profile 'memory: 64M'
session -- probe hog shared $((256 * M)) 1
is "$rc" 124 "enforce: any"
has /tmp/j '"limit":"memory","limit_detail":{"mechanism":"rlimit+monitor"' "takes the monitor"
systemd-run --wait --pipe -q -p User=u -p PAMName=login /usr/bin/agentbox doctor --json >/tmp/d 2>/tmp/err
has /tmp/d '"memory":{"any":"rlimit+monitor","kernel":"scope"' "doctor says both"
has /tmp/d '"cpus":{"any":null,"kernel":"scope"' "doctor knows that nothing but the scope holds processors"
like_doctor "a login session" session

# A limit is not left.
profile 'memory: 64M, enforce: kernel'
for limit in MemoryMax=600M TasksMax=500 CPUQuota=90% AllowedCPUs=0; do
	rm -f /ws/*
	# The session's own scope is what carries it.
	systemd-run --wait --pipe -q -p User=u -p PAMName=login /bin/sh -c "
		sleep 1000 & echo \$! >/tmp/session; wait" 2>/dev/null &
	wait_for test -s /tmp/session
	scope=$(sed 's|.*/||' /proc/"$(cat /tmp/session)"/cgroup)
	systemctl set-property --runtime "$scope" $limit
	path=$(sed 's|^0::||' /proc/"$(cat /tmp/session)"/cgroup)
	rc=0
	sh -c 'echo $$ >"/sys/fs/cgroup/$0/cgroup.procs" && exec setpriv --reuid 1000 --regid 1000 --clear-groups \
		env HOME=/home/u /usr/bin/agentbox run -p /profiles/p.yaml -- touch /ws/ran' "$path" >/tmp/out 2>/tmp/err || rc=$?
	refused "would leave a limit" "a session with $limit"
	kill "$(cat /tmp/session)"
	wait
	rm -f /tmp/session
done

# A service of the manager: with its default number of tasks, and without.
user_service() { # PROPERTY...
	rc=0
	systemd-run --wait --pipe -q -p User=u -p PAMName=login -p Environment=XDG_RUNTIME_DIR=/run/user/1000 \
		systemd-run --user --wait --pipe -q "$@" /usr/bin/agentbox run -p /profiles/p.yaml --status-fd 1 -- true </dev/null >/tmp/j 2>/tmp/err || rc=$?
}
user_service -p TasksMax=infinity
is "$rc" 0 "a user service without a limit"
has /tmp/j '"memory":"scope"' "has a scope"
user_service -p TasksMax=infinity -p MemoryHigh=700M
refused "memory.high" "one with a limit"
user_service -p TasksMax=infinity -p Delegate=yes
is "$rc" 0 "a delegated one"
# Where the manager does not mark it as such, it is a service like others.
is "$(grep -cE '"memory":"(cgroup|scope)"' /tmp/j)" 1 "has one of the two"

# Neither of the two, and no manager.
rc=0
systemd-run --wait --pipe -q -p User=u -p Environment=HOME=/home/u /usr/bin/agentbox run -p /profiles/p.yaml -- touch /ws/ran </dev/null >/tmp/out 2>/tmp/err || rc=$?
refused "no login session" "a system service"
rc=0
systemd-run --wait --pipe -q -p User=u -p PAMName=login /bin/sh -c 'mv /run/user/1000/bus /run/user/1000/away
	/usr/bin/agentbox run -p /profiles/p.yaml -- touch /ws/ran; rc=$?; mv /run/user/1000/away /run/user/1000/bus; exit $rc' \
	</dev/null >/tmp/out 2>/tmp/err || rc=$?
refused "there is none at /run/user/1000/bus" "without a user manager"
