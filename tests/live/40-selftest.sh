#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# selftest: every attack is held in a sandbox, and is seen to get through where there is none. R071.
. "${0%/*}/lib.sh"
as_callers

st() {
	"$AGENTBOX" selftest --state "$STATE" "$@"
}
row() { # NAME: its verdict in $T/table
	sed -n "s/^\(held\|NOT HELD\|not tried\)  *$1 .*/\1/p" "$T/table"
}

# --- in a sandbox
before=$(tree_of "$WS")
expect_rc 0 "all is held" st
cp "$T/out" "$T/table"
like "$(tail -n 1 "$T/table")" '^[0-9]+ held, 0 not held, [0-9]+ not tried$' "and counted"
is "$(grep -c '^NOT HELD' "$T/table")" 0 "nothing is not held"
if [ "$CALLER" = user ]; then
	# Its room is below what no other root may be in.
	expect_rc 0 "with the default state directory" env HOME="$T/home" XDG_STATE_HOME="$T/xdg" "$AGENTBOX" selftest
	is "$(sed 's/ .*//' "$T/out" | sort | uniq -c)" "$(sed 's/ .*//' "$T/table" | sort | uniq -c)" "the same is held"
	is "$(find "$T/xdg/agentbox" -name "selftest*")" "" "and the room is gone"
	profile inside <<<"sandbox: {roots: ['$T/xdg/agentbox']}
permissions: {agents: {me: allow}}"
	expect_rc 125 "another root may not be there" env HOME="$T/home" XDG_STATE_HOME="$T/xdg" "$AGENTBOX" run -p "$P" -- true
fi
# Every row by its name: one that is gone is missed.
ROWS="block-device bpf capabilities char-device chroot clone-user clone3 core-dump core-pattern daemon deep-socket
	frozen-config frozen-hooks frozen-rename frozen-unlink fsconfig fsmount fsopen gain-capability hidden-link
	hidden-read hidden-write host-abstract host-cwd host-dotdot host-fifo host-loopback host-path host-socket
	inherited-fd init-cwd init-environ init-exe init-fd init-maps init-mem init-root io_uring keyring kill-host
	kill-init launcher-binary linger link-across mount mount_setattr move_mount netlink new-privileges no-filter
	open_by_handle open_tree other-uid packet-socket perf pivot_root planted-link profile-hidden ptrace-init
	raw-socket read-init remount rename-across setns setuid-bit stdin-reopen sysctl sysrq terminal tioclinux
	tioclinux-high tiocsetd tiocsti tiocsti-high umount unknown-call unshare-user userfaultfd vsock write-dev
	write-etc write-root write-usr"
[ "$(uname -m)" != x86_64 ] || ROWS="$ROWS i386 x32"
# shellcheck disable=SC2086
is "$(sed -n 's/^\(held\|NOT HELD\|not tried\)  *\([^ ]*\) .*/\2/p' "$T/table" | sort)" "$(printf '%s\n' $ROWS | sort)" \
	"each row by its name"
# What a host may refuse to this caller as well; all else is tried on every host that these tests are for.
MAY_REFUSE="bpf i386 io_uring open_by_handle perf userfaultfd"
untried=" $(sed -n 's/^not tried  *\([^ ]*\) .*/\1/p' "$T/table" | tr '\n' ' ')"
for name in deep-socket $MAY_REFUSE; do untried=${untried/ $name / }; done
is "${untried// /}" "" "no other row is left out"
is "$(grep '^not tried' "$T/table" | grep -v 'deep-socket.*reachable' | grep -v 'this host refuses it outside')" "" "and those for a reason that is the host's"
grep '^not tried' "$T/table" | diag
like "$(grep deep-socket "$T/table")" '^(held|not tried .*reachable)' "a socket deep in a root is named when it is reached"
is "$(awk '/held|HELD|tried/ { print $2 }' <(sed 's/^NOT HELD/NOTHELD/;s/^not tried/nottried/;$d' "$T/table") | sort | uniq -d)" "" \
	"no name twice"
is "$(cd "$STATE" && echo *)" "audit.jsonl audit.lost" "the private directory is gone"
is "$(wc -c <"$STATE/audit.jsonl")" 0 "no request, so no record"
is "$(tree_of "$WS")" "$before" "nothing was made where it was started"
no_sandbox_left "nothing runs on"

# --- what a killed one left
# One may end before it is killed.
for ((i = 0; i < 20; i++)); do
	"$AGENTBOX" selftest --state "$STATE" >"$T/out" 2>"$T/err" &
	killed=$!
	# The last thing that it makes.
	until compgen -G "$STATE/selftest-*/room/directory/a/b/host.sock" >/dev/null || ! kill -0 "$killed" 2>/dev/null; do
		sleep 0.02
	done
	kill -9 "$killed" 2>/dev/null
	wait "$killed" 2>/dev/null
	compgen -G "$STATE/selftest-*" >/dev/null && break
done
left=$(basename "$STATE"/selftest-*)
like "$left" "^selftest-$killed-[0-9]+$" "a private directory is left by one that is killed"
no_sandbox_left "and nothing runs on"
gone=$(($(cat /proc/sys/kernel/pid_max) + 7))
mkdir -m 700 "$T/kept" "$STATE/selftest-$gone-0" "$STATE/selftest-$$-0" "$STATE/selftest-0$gone-0" "$STATE/selftest-$gone-" \
	"$STATE/selftest-$gone-3"
echo x >"$T/kept/file"
ln -s "$T/kept" "$STATE/selftest-$gone-0/link"
ln -s "$T/kept" "$STATE/selftest-$gone-1"
echo x >"$STATE/selftest-$gone-2"
exec 8<"$STATE/selftest-$gone-3"
flock 8
kept="selftest-$$-0 selftest-0$gone-0 selftest-$gone- selftest-$gone-1 selftest-$gone-2 selftest-$gone-3"
if [ "$CALLER" = root ]; then
	mkdir -m 700 "$STATE/selftest-$gone-4"
	chown "$LIVE_UID" "$STATE/selftest-$gone-4"
	kept="$kept selftest-$gone-4"
fi
expect_rc 0 "the next one runs" st
is "$(cd "$STATE" && printf '%s\n' selftest-* | sort | tr '\n' ' ')" "$(printf '%s\n' $kept | sort | tr '\n' ' ')" \
	"and removes what is its user's, whose maker is gone and which nobody holds, alone"
is "$(cat "$T/kept/file")" x "no link is followed"
exec 8<&-
expect_rc 0 "once more" st
check_not "now nobody holds it" test -e "$STATE/selftest-$gone-3"
rm -rf "$STATE"/selftest-*

expect_rc 0 "--json" st --json
json_is "$T/out" 'o["not_held"] == 0 and len(o["rows"]) == o["held"] + o["not_tried"]' "counts"
json_is "$T/out" 'all(set(r) == {"name", "attack", "verdict", "got", "twin", "reason"} for r in o["rows"])' "rows"
json_is "$T/out" 'all(r["reason"] for r in o["rows"] if r["verdict"] != "held")' "a row that is not held says why"
json_is "$T/out" 'o["mechanisms"]["seccomp"] == "default"' "mechanisms"

# --- of other profiles
cat >"$T/param.yaml" <<'YAML'
params: {workspace: {required: true}}
sandbox: {roots: [{path: "${workspace}", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "a profile with a workspace gets the private directory" st -p "$T/param.yaml"
cp "$T/out" "$T/table"
is "$(row frozen-config)" held "and is attacked there"
is "$(row profile-hidden)" "not tried" "where it does not lie itself"
expect_rc 0 "one over the user's files" st -p "$P"
cp "$T/out" "$T/table"
for name in frozen-config host-fifo; do is "$(row $name)" "not tried" "nothing is written to them: $name"; done
is "$(row write-usr)" held "the rest is tried"
is "$(tree_of "$WS")" "$before" "they are as they were"
base_profile "network: host"
expect_rc 0 "network: host" st -p "$P"
cp "$T/out" "$T/table"
is "$(row host-loopback)" "not tried" "the host's loopback interface is what was asked for"
like "$(grep host-loopback "$T/table")" 'ok, reachable' "and it is seen to be reachable"
base_profile "syscalls: {allow: [userns, keyrings]}"
expect_rc 0 "syscalls.allow" st -p "$P"
cp "$T/out" "$T/table"
is "$(row unshare-user)" "not tried" "userns is open"
is "$(row keyring)" "not tried" "keyrings are open"
is "$(row io_uring)" held "io_uring is not"
base_profile "syscalls: {preset: strict}"
expect_rc 0 "strict" st -p "$P"
cp "$T/out" "$T/table"
like "$(grep ptrace-init "$T/table")" '^not tried .*twin' "no proof without an allowed twin"
base_profile "unix_sockets: none"
expect_rc 0 "unix_sockets: none" st -p "$P"
cp "$T/out" "$T/table"
like "$(grep host-abstract "$T/table")" '^not tried .*twin' "neither proves anything"
if [ "$(json_get <(st --json) 'o["mechanisms"].get("landlock")')" != None ]; then
	base_profile "commands: [ls]"
	expect_rc 0 "the attacker is one of the commands" st -p "$P"
	expect_rc 121 "and of a run's it is none (control)" ab -- "$PROBE" ids
else
	note "no Landlock here"
fi
base_profile
cat >"$T/narrow.yaml" <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}]}
permissions: {agents: {me: {rules: [{operations: [read], paths: ["$WS/**"], mode: allow}]}}}
YAML
expect_rc 0 "an agent that may run nothing is attacked all the same" st -p "$T/narrow.yaml"
expect_rc 125 "no such profile" st -p "$T/none.yaml"
expect_rc 125 "a word too many" st now
expect_rc 125 "no place for the private directory" "$AGENTBOX" selftest --state /proc/none

# --- it can fail: the same attacks without a sandbox
inside_verb() {
	if [ "$CALLER" = root ]; then
		setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups "$AGENTBOX" selftest-inside "$@"
	else
		"$AGENTBOX" selftest-inside "$@"
	fi
}
if [ "$CALLER" = nested ]; then
	note "root of its namespaces: it refuses to attack the system"
	expect_rc 125 "outside, as root" inside_verb
	done_testing
fi
echo mine >"$T/input"
mkdir -m 777 "$T/cores"
[ "$CALLER" != root ] || chown "$LIVE_UID" "$T/input"
cd "$T/cores" || exit 1
expect_rc 1 "outside" inside_verb 9</etc/hostname <"$T/input"
cd "$WS" || exit 1
cp "$T/out" "$T/table"
if [ "$(ulimit -H -c)" = 0 ] || [ "$(head -c 1 /proc/sys/kernel/core_pattern)" = "|" ]; then
	note "no core dumps that are files here"
else
	is "$(row core-dump)" "NOT HELD" "outside, not held: core-dump"
fi
for name in host-path host-dotdot launcher-binary inherited-fd capabilities new-privileges \
	setuid-bit unshare-user clone-user stdin-reopen keyring io_uring bpf tiocsti tiocsti-high tioclinux tiocsetd; do
	is "$(row "$name")" "NOT HELD" "outside, not held: $name"
done
abstract=agentbox-live-$CALLER-$RANDOM$RANDOM
mkdir -m 700 "$T/room" "$T/room/directory" "$T/room/.git" "$T/room/.git/hooks" "$T/room/.git/objects"
for f in daemon.lock plain .env .git/config .git/HEAD selftest.yaml; do echo x >"$T/room/$f"; done
[ "$CALLER" != root ] || chown -R "$LIVE_UID" "$T/room"
"$PYTHON" -I - "$T/room" "$abstract" >"$T/port" <<'PY' &
import os, socket, sys, time
a = socket.create_server(("127.0.0.1", 0))
b = socket.socket(socket.AF_UNIX)
b.bind("\0" + sys.argv[2])
b.listen()
os.chdir(sys.argv[1])
c = socket.socket(socket.AF_UNIX)
c.bind("host.sock")
c.listen()
os.chmod("host.sock", 0o777)
os.mkfifo("host.fifo")
os.chmod("host.fifo", 0o777)
f = os.open("host.fifo", os.O_RDWR)
print(a.getsockname()[1], flush=True)
time.sleep(600)
PY
listener=$!
wait_for test -s "$T/port"
echo host >"$T/outside"
expect_rc 1 "outside, in a directory" inside_verb "$T/room" "$T/outside" "@$abstract" "$(cat "$T/port")" $$
cp "$T/out" "$T/table"
kill "$listener"
wait "$listener" 2>/dev/null
for name in planted-link hidden-read hidden-write hidden-link profile-hidden frozen-config frozen-unlink \
	frozen-hooks frozen-rename host-loopback host-abstract host-socket host-fifo; do
	is "$(row "$name")" "NOT HELD" "outside, not held: $name"
done
[ "$CALLER" = root ] || is "$(row kill-host)" "NOT HELD" "outside, not held: kill-host"

# --- an attacker that says nothing has proved nothing
base_profile "limits: {output: 1K}"
expect_rc 1 "answers that are lost are not held" st -p "$P"
like "$(cat "$T/out")" 'NOT HELD .*no answer came' "and named so"
done_testing
