#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who the command is: `user`, `require`, ownership as tools meet it. DESIGN 3.1, 6.3; P55, P58-P61.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

# The kernel uid and gid of a running command.
outside_ids() {
	local tok="idt-$$-$CALLER-$RANDOM" p
	ab_start -- "$PROBE" sleep 600 "$tok"
	p=$(host_pid "$tok")
	awk '/^Uid:/ { u = $2 " " $3 " " $4 " " $5 } /^Gid:/ { print u " " $2 " " $3 " " $4 " " $5 }' \
		"/proc/$p/status"
	kill "$sup" 2>/dev/null
	wait "$sup" 2>/dev/null
}

base_profile
plain=$(outside_ids)
owner=$(stat -c %u:%g "$WS")

# --- user: root
base_profile "user: root"
expect_out "0 0 root /home/agent root" "user: root is uid 0 with a name and a home" \
	ab -- sh -c 'echo $(id -u) $(id -g) $(whoami) $HOME $USER'
is "$(outside_ids)" "$plain" "outside it is the same user as without"
expect_rc 1 "it has no capability in any set" ab -- grep -qE '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status
expect_out "ok NoNewPrivs=1" "no_new_privs is set" ab -- "$PROBE" status NoNewPrivs
inside N "mount a tmpfs" mount-tmpfs /tmp
inside N "remount the base for writing" mount-remount /usr
inside EROFS "write in the base" write /usr/f x
inside N "write in the root itself" write /f x
inside N "a sysctl of its own network" sysctl /proc/sys/net/ipv4/ip_forward
inside N "a sysctl of the kernel" sysctl /proc/sys/kernel/core_pattern
inside N "setgroups" setgroups0
expect_rc 0 "the workspace is its own" ab -- sh -c 'test "$(stat -c %u:%g .)" = 0:0 && echo x >made'
is "$(stat -c %u:%g made)" "$owner" "what it makes has the owner of the workspace outside"
rm -f made
[ "$CALLER" = nested ] || expect_rc 0 "root's own files outside are nobody's inside" ab -- sh -c \
	'test "$(stat -c %u /usr)" = 65534'
expect_rc 0 "python, perl and getent find the user" ab -- sh -c \
	'getent passwd 0 | grep -q :/home/agent: && getent group 0 | grep -q ^root: && { ! command -v perl >/dev/null || perl -e "exit((getpwuid(\$<))[0] ne q(root))"; }'

# --- a number
base_profile "user: 4711"
expect_out "4711 4711 agent" "user: a number" ab -- sh -c 'echo $(id -u) $(id -g) $(id -un)'
is "$(outside_ids)" "$plain" "outside it is the same user"
base_profile "user: 5"
expect_out "agent agent" "a number that is a system's group" ab -- sh -c 'echo $(id -un) $(id -gn)'
base_profile "user: 65534"
expect_rc 125 "the number of nobody is refused" ab -- true
base_profile "user: -1"
expect_rc 125 "a number that is none too" ab -- true
base_profile "user: caller"
expect_out "$([ "$EUID" = 0 ] && echo 1000 || echo "$EUID")" "user: caller" ab -- id -u

expect_rc 0 "the workspace is the caller's own inside" ab -- sh -c 'test "$(stat -c %u:%g .)" = "$(id -u):$(id -g)"'
probe_yn N "which a directory of root's is not (control)" ab -- sh -c '[ "$(stat -c %u /)" != 0 ] && [ "$(stat -c %u /usr)" = "$(id -u)" ] && echo ok || echo EPERM'

# --- supplementary groups: the rights stay, the names do not (P58)
if [ "$CALLER" = root ]; then
	gid=31300
	mkdir "$T/shared" "$T/member"
	chown "0:$gid" "$T/shared"
	chmod 2770 "$T/shared"
	chown "$LIVE_UID" "$T/member"
	profile shared <<-YAML
		sandbox: {roots: [{path: "$T/shared", mode: rw}, {path: "$T/bin", mode: ro}]}
		permissions: {agents: {me: allow}}
	YAML
	member() { # GROUPS SCRIPT
		setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" "$1" "$AGENTBOX" run --state "$T/member/state" \
			-p "$P" -- sh -c "cd $T/shared && $2"
	}
	# Not stopped: groups that an ordinary caller cannot drop
	expect_rc 0 "a member writes in the directory of its group" member "--groups=$gid" 'echo x >f'
	is "$(stat -c %u:%g "$T/shared/f")" "$LIVE_UID:$gid" "what it makes there has that group"
	expect_out 65534 "whose number is nobody's inside" member "--groups=$gid" 'stat -c %g f'
	expect_rc 1 "and cannot be given to another file" member "--groups=$gid" "chgrp $gid f"
	like "$(cat "$T/err")" 'Invalid argument' "for which the kernel says EINVAL"
	expect_rc '1|2|125' "who is no member cannot" member --clear-groups 'echo x >g'
	check_not "and has not" test -e "$T/shared/g"
	base_profile
fi

# --- tar and chown
mkdir tree && echo x >tree/f
tar -cf own.tar --owner=0 --group=0 tree
tar -cf other.tar --owner=12345 --group=12345 tree
rm -r tree
base_profile
expect_rc 0 "tar unpacks an archive of root's" ab -- tar -xf own.tar
expect_rc 0 "and of somebody else's" ab -- tar -xf other.tar
is "$(stat -c %u:%g tree/f)" "$owner" "as the owner of the workspace"
expect_rc 0 "chown to oneself" ab -- sh -c 'chown "$(id -u):$(id -g)" tree/f'
probe_yn EINVAL "inside: chown to an id without a mapping" ab -- sh -c 'chown 12345 tree/f 2>&1 | grep -q "Invalid argument" && echo EINVAL'
rm -r tree
base_profile "user: root"
expect_rc 0 "as root tar restores its own ids" ab -- tar -xf own.tar
# GNU tar as root wants to give files away, and there is nobody else to give them to.
expect_rc 2 "not those of others" ab -- tar -xf other.tar
like "$(cat "$T/err")" "Invalid argument" "for which the kernel says EINVAL"
expect_rc 0 "unless it is told to leave them" ab -- tar --no-same-owner -xf other.tar
rm -r tree own.tar other.tar

# --- git
if command -v git >/dev/null; then
	GIT='git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main'
	for user in caller root 4711; do
		base_profile "user: $user"
		expect_rc 0 "git works as user: $user" ab -- sh -ec "
			$GIT init -q repo-$user; cd repo-$user; echo x >f; $GIT add f
			$GIT commit -qm one; $GIT status --porcelain"
		expect_rc 0 "what it made is the host's too" git -C "repo-$user" log --oneline
		expect_rc 1 "and nothing of git's is in the environment" ab -- sh -c 'env | grep ^GIT_'
	done
	if [ "$CALLER" = root ]; then
		# The first writable root is root's, this one is not: inside, it is somebody else's.
		mkdir "$T/foreign"
		git -c init.defaultBranch=main init -q "$T/foreign"
		chown -R 31234:31234 "$T/foreign"
		profile foreign <<-YAML
			sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$T/foreign", mode: ro}]}
			permissions: {agents: {me: allow}}
		YAML
		expect_rc 0 "git takes a repository of another user's" ab -- git -C "$T/foreign" status
		expect_rc 128 "which it would not without its setting (control)" \
			ab -- env -u GIT_CONFIG_COUNT git -C "$T/foreign" status
	fi
else
	skip "git" "git is not installed"
fi

# --- require
base_profile "require: [unprivileged_identity]"
expect_rc 0 "an unprivileged identity is there" ab -- true
if [ "$CALLER" = root ]; then
	# A user namespace of root's with one id: there is none to give away.
	one() {
		unshare -Ur "$AGENTBOX" run --state "$T/state-one" -p "$P" "$@"
	}
	expect_rc 125 "where there is none, it is refused" one -- sh -c "echo x >$WS/marker"
	like "$(cat "$T/err")" "base.yaml:[0-9]+:[0-9]+: .*unprivileged_identity.*no further ids" \
		"with the place in the profile and the reason"
	check_not "and nothing ran" test -e marker
	base_profile
	expect_rc 0 "without the key it runs" one --json -- sh -c 'id -u'
	json_is "$T/out" 'o["mechanisms"]["identity"] == "root" and o["output"] == "1000\n"' \
		"and says what it is"
	is "$(grep -c 'kernel uid 0 without capabilities: .*no further ids' "$T/err")" 1 "in one line on stderr as well"
	cat "$T"/state-one/*.jsonl >"$T/log"
	like "$(cat "$T/log")" '"mechanisms":\{"identity":"root"' "and in the audit log"
	expect_rc 0 "doctor of such a root" unshare -Ur "$AGENTBOX" doctor --json --state "$T/state-one"
	json_is "$T/out" 'o["identity"]["kind"] == o["mechanisms"]["identity"] == "root" and "no further ids" in o["identity"]["reason"]' \
		"names it and the reason"
	expect_rc 0 "doctor of this one" "$AGENTBOX" doctor --json --state "$T/state-one"
	json_is "$T/out" 'o["identity"]["kind"] == o["mechanisms"]["identity"] == "mapped" and o["identity"]["reason"] is None' \
		"names another, without a reason (control)"
	ab --json -- true >"$T/out" 2>"$T/err"
	json_is "$T/out" 'o["mechanisms"]["identity"] == "mapped"' "as its result does"
	unlike "$(cat "$T/err" "$STATE"/*.jsonl)" 'kernel uid 0|"identity":"root"' "and neither stderr nor audit names root"
	# Kernel uid 0 in the namespace would own the namespaces of programs inside as well.
	base_profile "nested_sandboxes: true"
	expect_rc 125 "nested_sandboxes with it is refused" one -- sh -c "echo x >$WS/marker"
	like "$(cat "$T/err")" "base.yaml:[0-9]+:[0-9]+: .*nested_sandboxes.*not for kernel uid 0" "with the place and the reason"
	check_not "and nothing ran" test -e marker
	expect_rc 0 "of a mapped identity it is not (control)" ab -- sh -c "echo x >$WS/marker"
	check "and that ran" test -e marker
	rm -f marker
	base_profile
	# The same where the workspace lies on a file system that cannot map ids.
	mkdir "$T/layers"
	if [ "$LIVE_IS_PRIVATE" = 1 ] && mount -t tmpfs tmpfs "$T/layers" &&
		mkdir "$T/layers/low" "$T/layers/up" "$T/layers/work" "$T/layers/ws" &&
		mount -t overlay -o "lowerdir=$T/layers/low,upperdir=$T/layers/up,workdir=$T/layers/work" \
			overlay "$T/layers/ws" 2>"$T/err"; then
		layers() { # MORE LINES OF THE SANDBOX BLOCK
			profile layers <<-YAML
				sandbox:
				  roots: [{path: "$T/layers/ws", mode: rw}, {path: "$T/bin", mode: ro}]
				${1:+  $1}
				permissions: {agents: {me: allow}}
			YAML
		}
		layers
		expect_rc 0 "a workspace on overlayfs" ab --json -- sh -c "id -u; cat /etc/shadow; echo x >$T/layers/ws/f"
		json_is "$T/out" 'o["mechanisms"]["identity"] == "root" and o["output"].startswith("1000\n") and "Permission denied" in o["output"]' \
			"is worked in as kernel uid 0 without capabilities, and the result says so"
		like "$(cat "$T/err")" "kernel uid 0 without capabilities: .*overlayfs" "with the reason on stderr"
		inside Y "it writes there" write "$T/layers/ws/g" x
		inside N "and in no sysctl" sysctl /proc/sys/kernel/core_pattern
		inside N "nor in the base" write /etc/f x
		inside N "nor mounts" mount-tmpfs /tmp
		layers 'require: [unprivileged_identity]'
		expect_rc 125 "unless the profile requires another" ab -- touch "$T/layers/ws/ran"
		check_not "and nothing ran" test -e "$T/layers/ws/ran"
		umount "$T/layers/ws" "$T/layers"
	else
		note "no overlayfs can be mounted here"
	fi
	base_profile
fi
no_sandbox_left "no process of a sandbox is left"
done_testing
