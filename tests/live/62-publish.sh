#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Ports of the host that lead to programs inside: there before the command starts, free when the run
# is over, and nothing else is opened by it, in either direction.
. "$(dirname "$0")/lib.sh" || exit 1
live_setup() {
	[ "$EUID" = 0 ] && echo 'ip link set lo up || exit 99' >"$LIVE/walls.sh"
	return 0
}
as_callers

ACTS=$LIVE/lib/publish.py
act() {
	py "$ACTS" "$@"
}
publish_profile() { # LINES OF network
	profile publish <<-YAML
		sandbox:
		  roots: [{path: "$WS", mode: rw}, {path: "$LIVE/lib", mode: ro}]
		  network:
		$(sed 's/^/    /' <<<"$1")
		permissions:
		  agents: {me: allow}
	YAML
}
# A server inside, in the background, until stop.
serve() { # PLACE...
	rm -f "$WS/up"
	"${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$ACTS" serve "$WS/up" "$@" >"$T/served" 2>"$T/said" &
	sup=$!
	wait_for test -e "$WS/up" || {
		fail "a server inside is up"
		diag <"$T/said"
	}
}
stop() {
	kill "$sup"
	wait "$sup" 2>/dev/null
}
is_closed() { # PORT
	[ "$(act state "127.0.0.1:$1")" = refused ]
}

way=()
read -r one two three <<<"$(act free 3)"
publish_profile "publish: [$one, \"$two:3000\", \"127.0.0.2:$one:3001\"]"
expect_out refused "before the run nobody listens" act state "127.0.0.1:$one"

ab_no_publish() { # ACT: of a program inside, while a run has the ports
	sed "s/publish: .*/publish: [\"127.0.0.3:$three:1\"]/" "$P" >"$T/alone.yaml"
	"$AGENTBOX" run --state "$STATE" -p "$T/alone.yaml" -- python3 -I "$ACTS" "$@"
}

connections() { # NAME
	serve "127.0.0.1:3000" "0.0.0.0:$one"
	expect_out True "$1: a server on 127.0.0.1 is reached" act count "127.0.0.1:$two" 100000
	expect_out True "$1: and one on all addresses" act count "127.0.0.1:$one" 256
	expect_out reset "$1: where nobody listens inside it is reset" act state "127.0.0.2:$one"
	expect_out refused "$1: another address of the host has no such port" act state "127.0.0.2:$two"
	expect_out True "$1: 64 MiB, byte for byte" act count "127.0.0.1:$two" $((64 << 20))
	expect_out 50 "$1: 50 connections at once" act parallel "127.0.0.1:$two" 50
	expect_out bye "$1: the server ends first" act end "127.0.0.1:$two"
	check "$1: and takes what comes then" wait_for grep -qx 300000 "$T/served"
	expect_out reset "$1: its reset arrives" act reset "127.0.0.1:$two"
	expect_out 127.0.0.1 "$1: inside, the other side is 127.0.0.1" act who "127.0.0.1:$two"
	rm -f "$WS/ran"
	expect_rc 125 "$1: a second run has no port left" "${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- touch "$WS/ran"
	like "$(cat "$T/err")" "publish.yaml:4:15: 'publish': cannot listen on 127.0.0.1:$one: .*name another port" "$1: and says where and what to do"
	check_not "$1: nothing ran" test -e "$WS/ran"
	stop
	expect_out refused "$1: after the run the port is free" act state "127.0.0.1:$two"
	expect_rc 0 "$1: also for the next one" "${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- true
}
connections gateway
is "$(grep -c '"method":"accept"' "$STATE/audit.jsonl")" 57 "each connection has its record"
like "$(grep '"accept"' "$STATE/audit.jsonl" | head -n 1)" \
	'"host":"127.0.0.1","method":"accept","port":3000,"address":"127.0.0.1","bytes_out":[1-9][0-9]*,"bytes_in":99846' "with what went in and out"
like "$(grep '"accept"' "$STATE/audit.jsonl")" '"code":"unreached"[^}]*"port":3001' "and why there was none"
# The request for a pair of interfaces is the one of this length.
way=("$DENY" EOPNOTSUPP sendto:100 --)
connections loopback
way=()

if [ -n "$(cat /proc/net/if_inet6 2>/dev/null)" ]; then
	serve "::1:3000"
	expect_out ::1 "a server on ::1 alone is reached" act who "127.0.0.1:$two"
else
	note "no IPv6 on this host"
	serve "127.0.0.1:3000"
fi
expect_out "unknown unreachable refused" "from inside nothing is" \
	ab_no_publish hosts "example.org:443" "192.0.2.1:443" "127.0.0.1:$two"
stop

# --- before the command starts ---
expect_out reset "the port is there when the command starts" sh -c '
	rm -f "$1/up" "$1/go"
	"$2" run --state "$3" -p "$4" -- sh -c "touch up; until [ -e go ]; do sleep 0.05; done" &
	until [ -e "$1/up" ]; do sleep 0.05; done
	"$5" -I "$6" state "127.0.0.1:$7"
	touch "$1/go"; wait' - "$WS" "$AGENTBOX" "$STATE" "$P" "$PYTHON" "$ACTS" "$one"
rm -f "$T/up"
"$PYTHON" -I "$ACTS" occupy "$two" "$T/up" &
other=$!
wait_for test -e "$T/up"
rm -f "$WS/ran"
expect_rc 125 "a port of another program" ab -- touch "$WS/ran"
like "$(cat "$T/err")" "publish.yaml:4:[0-9]+: 'publish': cannot listen on 127.0.0.1:$two" "is named"
check_not "nothing ran" test -e "$WS/ran"
expect_out refused "and the first one was given back" act state "127.0.0.1:$one"
kill "$other"
wait "$other" 2>/dev/null
expect_rc 0 "the same, when it is gone" ab -- touch "$WS/ran"
publish_profile 'publish: ["192.0.2.77:'"$one"':80"]'
expect_rc 125 "an address that is not the host's" ab -- true
like "$(cat "$T/err")" "no address of this host" "is told so"
if [ "$CALLER" != root ] && [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" = 1024 ]; then
	publish_profile 'publish: [81]'
	expect_rc 125 "a port of root's" ab -- true
	like "$(cat "$T/err")" "from 1024 on" "is told so"
fi

# --- the process that makes the sockets inside ---
publish_profile "publish: [\"$three:3000\"]"
serve "127.0.0.1:3000"
own=$(stat -Lc %i /proc/self/ns/net)
relays=
for p in /proc/[0-9]*; do
	[ "$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)" = "agentbox-relay " ] &&
		[ "$(awk '/^PPid:/ { print $2 }' "$p/status")" != 0 ] && relays="$relays ${p#/proc/}"
done
if [ "$LIVE_IS_PRIVATE" = 1 ]; then
	is "$(wc -w <<<"$relays")" 3 "three processes beside the supervisor"
	for p in $relays; do
		is "$(awk '/^(CapPrm|CapEff|CapAmb):/ { print $2 }' "/proc/$p/status" | sort -u)" 0000000000000000 "none of them has a capability"
		is "$(awk '/^(NoNewPrivs|Seccomp):/ { printf "%s", $2 }' "/proc/$p/status")" 12 "each has a filter"
		[ "$CALLER" = nested ] || unlike "$(awk '/^Uid:/ { print $2 }' "/proc/$p/status")" '^0$' "none is root"
	done
	if [ "$CALLER" = root ]; then
		inner=
		for p in $relays; do
			[ "$(stat -Lc %i "/proc/$p/ns/net")" = "$own" ] || inner="$inner $p"
		done
		is "$(wc -w <<<"$inner")" 1 "one of them is in the sandbox's network"
		# shellcheck disable=SC2086 # one number, with a blank before it
		is "$(find /proc/${inner# }/fd -mindepth 1 -type l 2>/dev/null | wc -l)" 4 "and holds one socket"
	fi
fi
expect_out 127.0.0.1 "it works (control)" act who "127.0.0.1:$three"
kill -9 "$sup"
wait "$sup" 2>/dev/null
check "a supervisor that is killed takes the port with it" wait_for is_closed "$three"
no_sandbox_left "no process is left"

# --- what is said of it ---
publish_profile 'publish: ["0.0.0.0:8080:80", 8081, "[::1]:8082:82", "[::]:8083:83"]'
"$AGENTBOX" lint "$P" >"$T/lint" 2>&1
is "$(grep -c 'publish' "$T/lint")" 2 "lint warns of what other machines can reach"
like "$(grep 0.0.0.0 "$T/lint")" "publish.yaml:4:15: .*other machines reach .* port 80" "and says where"
like "$("$AGENTBOX" explain --state "$STATE" -p "$P" 2>&1)" "published: \[::1\]:8082 of the host leads to port 82 inside" "explain shows them"
done_testing
