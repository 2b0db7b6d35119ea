#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lib.sh - the first process of the guest, and what the test there finds: is, has, at_most,
# profile, delegate, run_in with its status in rc, by_memory, number, boxes, wait_for and box_of.
# shellcheck disable=SC2034
export PATH=/usr/sbin:/usr/bin HOME=/root TERM=dumb
echo
echo "# up"
# Under systemd all of it is there.
if [ $$ = 1 ]; then
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mkdir -p /dev/pts /dev/shm
	mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	ln -s /proc/self/fd /dev/fd
	for n in 0:stdin 1:stdout 2:stderr; do
		ln -s "/proc/self/fd/${n%:*}" "/dev/${n#*:}"
	done
	mount -t cgroup2 -o nsdelegate cg /sys/fs/cgroup
fi
chmod 1777 /tmp
mkdir -p /ws /home/u/.local
chown -R 1000:1000 /ws /home/u

pass() { echo "ok - $1"; }
fail() {
	echo "not ok - $1"
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | head -n 20 | sed 's/^/#   /'
}
is() { # GOT WANT DESCRIPTION
	if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got  $1" "want $2" "$(tail -n 5 /tmp/err 2>/dev/null)"; fi
}
has() { # FILE TEXT DESCRIPTION
	if grep -qF -- "$2" "$1"; then pass "$3"; else fail "$3" "want $2" "$(cat "$1")"; fi
}
at_most() { # NUMBER BOUND DESCRIPTION
	if [ "${1:-x}" -le "$2" ] 2>/dev/null; then pass "$3"; else fail "$3" "got $1, at most $2"; fi
}
profile() { # LIMITS
	printf 'sandbox: {roots: [{path: /ws, mode: rw}], limits: {%s}}\npermissions: {agents: {me: allow}}\n' "$1" >/tmp/p.yaml
	chmod 644 /tmp/p.yaml
	mkdir -p /profiles
	cp /tmp/p.yaml /profiles/p.yaml
}
# In a cgroup, as a user, alone: what is started there replaces the shell.
in_cgroup() { # CGROUP UID CMD...: status in $rc, the result of a run in /tmp/j
	where=$1 uid=$2
	shift 2
	rc=0

	sh -c '
		echo $$ >"/sys/fs/cgroup/$1/cgroup.procs" || exit 99
		uid=$2
		shift 2
		[ "$uid" = 0 ] || export HOME=/home/u
		exec /usr/bin/setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
	' - "$where" "$uid" "$@" 9>"${J:-/tmp/j}" >/tmp/out 2>/tmp/err || rc=$?
}
run_in() { # CGROUP UID ARGS...
	where=$1 uid=$2
	shift 2
	in_cgroup "$where" "$uid" /usr/bin/agentbox run -p /profiles/p.yaml --status-fd 9 "$@"
}
number() { # KEY: of the result
	sed -n "s/.*\"$1\":\\([0-9]*\\).*/\\1/p" "${J:-/tmp/j}"
}
cg=/sys/fs/cgroup
M=1048576
# A cgroup for run_in, with what cgroups(7) says is delegated.
delegate() { # CGROUP UID
	mkdir "$cg/$1"
	[ "$2" = 0 ] || chown "$2:$2" "$cg/$1" "$cg/$1/cgroup.procs" "$cg/$1/cgroup.subtree_control" "$cg/$1/cgroup.threads"
}
boxes() { # CGROUP: what is left below it
	find "$cg/$1" -mindepth 1 -maxdepth 1 -type d -name 'agentbox*' | wc -l
}
by_memory() { # DESCRIPTION
	is "$rc" 124 "$1: 124"
	has /tmp/j '"status":"limit"' "$1: by a limit"
	has /tmp/j '"limit":"memory","limit_detail":{"mechanism":"cgroup"' "$1: memory, by the cgroup"
}
# Whether the limits that the host has more than one way for are held as doctor says, in /tmp/d.
like_doctor() { # DESCRIPTION RUN...: which is run_in or the like, up to the --
	about=$1
	shift
	for key in 'cpus: 0.5' 'memory: 64M' 'processes: 50' 'disk: 1G'; do
		name=${key%:*}
		for enforce in any kernel; do
			profile "$key, enforce: $enforce"
			"$@" -- true
			kernel=$(sed -n "s/.*\"$name\":{\"any\":[^,]*,\"kernel\":\([^,]*\),.*/\1/p" /tmp/d)
			any=$(sed -n "s/.*\"$name\":{\"any\":\([^,]*\),.*/\1/p" /tmp/d)
			[ $enforce = any ] && want=$any || want=$kernel
			got=$(sed -n "s/.*\"limits\":{[^}]*\"$name\":\([^,}]*\).*/\1/p" /tmp/j)
			is "$rc:${got:-null}" "$([ "$want" = null ] && echo 125 || echo 0):$want" "$about: $name, enforce: $enforce: as doctor says"
		done
	done
}
wait_for() { # CMD...: until it succeeds
	i=0
	while ! "$@" && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.1
	done
}
has_box() { # CGROUP
	grep -qs . "$cg/$1"/agentbox-*[!p]/in/cgroup.procs
}
# The cgroup of the one run below, once a process is in it.
box_of() { # CGROUP
	wait_for has_box "$1"
	echo "$cg/$1"/agentbox-*[!p]
}
. /guest.sh
echo "# $(cut -d' ' -f1 /proc/uptime) seconds since the start of $(uname -r)"
echo "# done"
sync
poweroff -f
