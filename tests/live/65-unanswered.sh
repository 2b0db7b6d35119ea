#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount below a root, or a root, whose server does not answer: the start ends all the same, and
# what cannot be looked at is hidden or refused. Root makes the mounts; both kinds of caller run.
. "$(dirname "$0")/lib.sh"
as_callers root

# No skip that must not be: a host without FUSE has no such mounts.
if ! grep -qw fuse /proc/filesystems || ! (: <>/dev/fuse) 2>/dev/null; then
	echo "ok - mounts that do not answer # SKIP there is no FUSE to be had here"
	done_testing
fi

# In the mount namespace of this test, with which it ends.
serve() { # DIR silent|deaf|answers
	rm -f "$T/ready"
	"$PYTHON" -I "$(dirname "$0")/fuse-silent.py" "$1" "$2" >"$T/ready" 2>"$T/err" &
	server=$!
	if wait_for grep -q ready "$T/ready"; then
		pass "there is a server at ${1#"$T/"} ($2)"
	else
		fail "there is a server at ${1#"$T/"} ($2)"
		diag <"$T/err"
	fi
}

# The connection ends with its server, and every question that waits.
unserve() { # DIR
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	umount -l "$1"
}

as_user() {
	setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups timeout -s KILL "$EVER" "$@"
}

# Killed when it hangs: no hang is waited for longer than that.
bounded() { # WHO
	local state=$1
	shift
	if [ "$state" = user ]; then
		as_user "$AGENTBOX" run --state "$T/state.user" -p "$P" "$@"
	else
		timeout -s KILL "$EVER" "$AGENTBOX" run --state "$STATE" -p "$P" "$@"
	fi
}

mkdir "$T/state.user" "$WS/near" "$WS/sub" "$WS/sub/deep"
chown -R "$LIVE_UID:$LIVE_UID" "$T/state.user" "$WS"
chmod 755 "$T"
kept=$'kept\nls: cannot open directory \'near\': Permission denied'
seen='echo kept >made && cat made && rm made && ! ls -A near 2>&1'

both() { # DESCRIPTION OUTPUT PATTERN-OF-STDERR
	local who
	for who in user root; do
		expect_out "$2" "$1 ($who)" bounded "$who" -- sh -c "$seen"
		like "$(cat "$T/err")" "$3" "$1: what is said of it ($who)"
	done
}

for how in silent deaf; do
	base_profile
	serve "$WS/near" "$how"
	ls "$WS/near" >"$T/out.ls" 2>&1 &
	asked=$!
	both "$how, near: the program runs, and cannot look into it" "$kept" \
		"ws/near does not answer .* is hidden"
	base_profile 'unix_sockets: none'
	both "$how, near, no sockets: the same" "$kept" "ws/near does not answer .* is hidden"
	base_profile
	sed -i "s|path: \"$WS\"|path: \"$WS/near\"|" "$P"
	expect_rc 125 "$how, the root itself: refused" bounded user -- true
	like "$(cat "$T/err")" "base.yaml:4:.*ws/near.*does not answer" "$how: the root is named"
	expect_rc 125 "$how, the root itself, with a result" bounded user --json -- true
	json_is "$T/out" 'o["status"] == "failed" and "does not answer" in o["error"]["message"]' \
		"$how: and so does the result"
	sed -i "s|path: \"$WS/near\"|path: \"$WS/near/below\"|" "$P"
	expect_rc 125 "$how, a root below it: refused" bounded user -- true
	like "$(cat "$T/err")" "ws/near/below.*does not answer" "$how: that root is named"
	check "$how: who asked in the meantime still waits" kill -0 "$asked"
	unserve "$WS/near"
	wait "$asked" 2>/dev/null
done

# Nothing needs to be known of what lies deeper, unless a rule asks.
base_profile
serve "$WS/sub/deep" deaf
expect_out "" "deep: nothing asks, nothing is said" bounded user -- sh -c 'echo x >made && rm made'
is "$(cat "$T/err")" "" "deep: and it is not hidden"
cat >"$P" <<-YAML
	version: 1
	sandbox:
	  roots: [{path: "$WS", mode: rw}]
	permissions:
	  agents:
	    me:
	      rules:
	        - {operations: [read, write], paths: ["$WS/**/secret"], mode: deny, absent: report}
	        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
	        - {operations: [execute], commands: ["*"], mode: allow}
YAML
expect_rc 2 "deep, and a rule asks for names in it: hidden" bounded user -- ls -A sub/deep
like "$(cat "$T/err")" "sub/deep does not answer .* is hidden" "deep: what is said of it"
unserve "$WS/sub/deep"

# The same with a server that answers: nothing is hidden, no root is refused.
base_profile
serve "$WS/near" answers
# On a machine that is busy beyond that, an answer may once be late.
quiet() { # CMD...
	bounded user -- "$@" >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
}
check "a server that answers: its directory is there, and nothing is said" \
	wait_for quiet sh -c 'stat -f -c %T near | grep -q fuse'
sed -i "s|path: \"$WS\"|path: \"$WS/near\"|" "$P"
check "a server that answers: a root as any other" wait_for quiet true
unserve "$WS/near"
base_profile
mkdir -p "$WS/near"
no_sandbox_left "nothing is left of any of them"
done_testing
