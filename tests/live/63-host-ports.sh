#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Single ports of the host's own loopback, for programs inside; and no other of them.
. "$(dirname "$0")/lib.sh" || exit 1
live_setup() {
	[ "$EUID" = 0 ] && echo 'ip link set lo up || exit 99' >"$LIVE/walls.sh"
	return 0
}
as_callers

ACTS=$LIVE/lib/publish.py
# shellcheck disable=SC2001 # of each line
host_profile() { # LINES OF network [RULES OF THE AGENT]
	profile ports <<-YAML
		sandbox:
		  roots: [{path: "$WS", mode: rw}, {path: "$LIVE/lib", mode: ro}]
		  network:
		$(sed 's/^/    /' <<<"$1")
		permissions:
		  agents:
		    me: ${2:-allow}
	YAML
}
act() {
	"${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$ACTS" "$@"
}

read -r one two none <<<"$(py "$ACTS" free 3)"
"$PYTHON" -I "$ACTS" serve "$T/up" "127.0.0.1:$one" "127.0.0.1:$two" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
wait_for test -e "$T/up" || fail "the host's servers are up"
expect_out "open open refused" "outside all that listen are there (control)" py "$ACTS" hosts "127.0.0.1:$one" "127.0.0.1:$two" "127.0.0.1:$none"

connections() { # NAME
	host_profile "host_ports: [$one, $none]"
	expect_out 127.0.0.1 "$1: a listed port of the host" act who "127.0.0.1:$one"
	expect_out 127.0.0.1 "$1: by the name localhost" act who "localhost:$one"
	expect_out True "$1: 16 MiB, byte for byte" act count "127.0.0.1:$one" $((16 << 20))
	expect_out 30 "$1: 30 connections at once" act parallel "127.0.0.1:$one" 30
	expect_out reset "$1: one where nobody listens is reset" act state "127.0.0.1:$none"
	expect_out refused "$1: a port that is not listed" act state "127.0.0.1:$two"
	expect_out "unknown unreachable refused" "$1: and nothing else is there" \
		act hosts "example.org:$one" "192.0.2.1:$one" "127.0.0.2:$one"
	host_profile "{}"
	expect_out refused "$1: the same act where it is not listed" act state "127.0.0.1:$one"
	host_profile "{host_ports: [$one], allow: [\"web.example.test:$one,$two\"]}"
	expect_out 127.0.0.1 "$1: beside a host with the same port" act who "127.0.0.1:$one"
	host_profile "{host_ports: [$one], deny: [127.0.0.0/8]}"
	expect_out reset "$1: deny beats it" act state "127.0.0.1:$one"
	host_profile "{allow: [\"*:$one,$two\"]}"
	like "$(act state "127.0.0.1:$one" 2>/dev/null)" "^(reset|refused)$" "$1: any host on the port is not this host"
}
way=()
connections gateway
# The request for a pair of interfaces is the one of this length.
way=("$DENY" EOPNOTSUPP sendto:100 --)
connections loopback
way=()

rules() { # HOSTS
	host_profile "host_ports: [$one, $two]" "{rules: [{operations: [execute], commands: [\"*\"], mode: allow}, {operations: [read], paths: [\"$WS/**\", \"$LIVE/lib/**\"], mode: allow}, {operations: [connect], hosts: [$1], mode: allow}]}"
}
rules "\"127.0.0.1:$one\""
expect_out "open reset" "the agent's rules narrow it" act hosts_state "127.0.0.1:$one" "127.0.0.1:$two"
like "$(cat "$T/err")" "network: denied 127.0.0.1:$two" "and that is said"
rules '"*"'
expect_out "open open" "or leave it as it is" act hosts_state "127.0.0.1:$one" "127.0.0.1:$two"
expect_rc 0 "check says the same" "$AGENTBOX" check --state "$STATE" -p "$P" net_connect "127.0.0.1:$one"
expect_rc "120|121" "and of others" "$AGENTBOX" check --state "$STATE" -p "$P" net_connect "127.0.0.1:$none"
like "$(grep '"connection"' "$STATE/audit.jsonl" | grep '"code":"allowed"' | head -n 1)" \
	"\"host\":\"127.0.0.1\",\"method\":\"connect\",\"port\":$one,\"address\":\"127.0.0.1\"" "the record"
like "$("$AGENTBOX" explain --state "$STATE" -p "$P" 2>&1)" "host port: 127.0.0.1:$one inside is that of the host" "explain shows it"

if [ -n "$(cat /proc/net/if_inet6 2>/dev/null)" ]; then
	rm -f "$T/up"
	"$PYTHON" -I "$ACTS" serve "$T/up" "::1:$none" &
	six=$!
	wait_for test -e "$T/up"
	host_profile "host_ports: [$none]"
	expect_out ::1 "a program of the host that listens on ::1 alone" act who "127.0.0.1:$none"
	kill "$six"
else
	note "no IPv6 on this host"
fi
kill "$server"
no_sandbox_left "no process is left"
done_testing
