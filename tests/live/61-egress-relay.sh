#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a connection is like through the relay: as without it. And what the relay is bound by.
# Both ways of building the network, the second by a kernel that (a filter says) has no veth.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
LIVE_TIMEOUT=560
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "connections through the relay" "servers of its own need root"
	done_testing
fi
egress_profile '["web.example.test:443,7001-7007,8080", "*.wild.example.test:7001"]'
# The request for a pair of interfaces is the one of this length.
NO_VETH=("$DENY" EOPNOTSUPP sendto:100 --)

# shellcheck disable=SC2317 # called by what is given to expect_out
act() {
	"${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$LIVE/lib/egress-client.py" "$@"
}

connections() { # NAME MIB
	expect_out "500007 True" "$1: the client ends first" act half_close
	expect_out "bye 0" "$1: the server ends first" act server_first
	check "$1: and takes what comes then" wait_for connected "end_first 500000"
	expect_out rst "$1: the server's reset arrives" act server_reset
	expect_out sent "$1: the client's reset" act client_reset
	check "$1: arrives" wait_for connected "was_reset rst"
	expect_out "$(($2 << 20)) True" "$1: $2 MiB, byte for byte" act bulk "$2"
	[ "$1" = loopback ] || expect_out bounded "$1: a server that does not read holds the client up" act slow_server
	[ "$1" = loopback ] || like "$(tail -n 4 "$STATE/audit.jsonl" | grep '"event":"connection"')" '"port":7006' \
		"$1: cut off at the end, it has its record"
	[ "$1" = loopback ] || expect_out "67108864 True" "$1: a client that waits loses nothing" act slow_client
	expect_out "16777216 True" "$1: clients that go in the middle leave nothing to the next" act cut_short
	[ "$1" = loopback ] || expect_out "0 []" "$1: 500 connections at once" act many 500
	expect_out "refused soon" "$1: UDP is refused at once, 20 times" act udp 20
	expect_out ok "$1: lo is there as ever" act own_server
	expect_out "0/1/0/0/ra 0/0/1/0/ra 0/0/1/0/ra 3/0/1/0/ra 3/0/1/1/ra 0/1/0/0/ra 0/0/1/0/ra" "$1: the resolver's answers" \
		act dns "web.example.test/1,web.example.test/28,web.example.test/65,evil.test/1,evil.test/28/edns,WEB.Example.test/1/tcp,/2"
	[ "$1" = loopback ] || expect_out 198.19.1.0 "$1: a flood of names ends somewhere" act flood 4500
}

way=()
# As long as once is enough.
[ "$CALLER" = root ] && mib=1024 || mib=256
connections gateway "$mib"
expect_out "ok ok ok unavailable" "gateway: programs may listen on allowed ports" act bind_matrix
expect_out "0 []" "connections wait for a limit of 64 descriptors" prlimit --nofile=400:400 \
	"$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$LIVE/lib/egress-client.py" many 300
way=("${NO_VETH[@]}")
connections loopback 16
expect_out "OSError OSError ok OSError" "loopback: as is said: the ports are taken" act bind_matrix
way=()

# --- the relay's own bounds ---
# A sanitizer has shadows of its own.
most=32768
! grep -qa __asan_init "$AGENTBOX" || most=1048576
# More connections than there are descriptors for: those that do not fit wait, the relay does not
# spin, and what it holds is bounded.
prlimit --nofile=1024:1024 "$AGENTBOX" run --state "$STATE" -p "$P" -- \
	python3 -I "$LIVE/lib/egress-client.py" hold 900 >"$T/held" &
sup=$!
wait_for grep -q 900 "$T/held" || fail "900 connections are begun"
find_relays
used=$(awk '{ print $14 + $15 }' "/proc/$relay/stat")
sleep 2
used=$(($(awk '{ print $14 + $15 }' "/proc/$relay/stat") - used))
check "a flood of connections: no spinning ($used ticks in 2 s)" test "$used" -lt 50
fds=$(find "/proc/$relay/fd" -mindepth 1 2>/dev/null | wc -l)
[ "$CALLER" != root ] || check "and within the limit ($fds descriptors)" test "$fds" -gt 500 -a "$fds" -le 1024
rss=$(awk '/^VmRSS:/ { print $2 }' "/proc/$relay/status")
check "and little memory ($rss kB)" test "$rss" -lt "$most"
kill "$sup"
wait "$sup" 2>/dev/null
no_sandbox_left "no process is left of it"

ab_start -- python3 -I "$LIVE/lib/egress-client.py" hold 5 >"$T/held"
wait_for grep -q 5 "$T/held" || fail "five connections are held"
find_relays
is "$(wc -w <<<"$relays")" 2 "two processes beside the supervisor"
is "$(awk '/^(CapPrm|CapEff|CapBnd|CapAmb):/ { print $2 }' "/proc/$relay/status" | sort -u)" 0000000000000000 "the relay has no capability"
is "$(awk '/^(NoNewPrivs|Seccomp):/ { printf "%s", $2 }' "/proc/$relay/status")" 12 "and a filter"
is "$(awk '/^(NoNewPrivs|Seccomp):/ { printf "%s", $2 }' "/proc/$resolver/status")" 12 "so has the resolver"
[ "$CALLER" != root ] || is "$(readlink "/proc/$resolver/cwd")" / "which holds no folder of the caller's"
is "$(awk '/^(CapPrm|CapEff|CapAmb):/ { print $2 }' "/proc/$resolver/status" | sort -u)" 0000000000000000 "and no capability"
unlike "$(awk '/^Uid:/ { print $2 }' "/proc/$relay/status")" '^0$' "neither is root"
if [ "$CALLER" = root ]; then
	is "$(find "/proc/$relay/root/" -mindepth 1 | wc -l)" 0 "the relay's root is empty"
	is "$(wc -l <"/proc/$relay/mountinfo")" 1 "and its only mount"
	is "$(stat -Lc %i "/proc/$relay/ns/net")" "$(stat -Lc %i /proc/self/ns/net)" "it dials from the host's network"
	unlike "$(tr '\0' '\n' <"/proc/$relay/environ")" '=' "without the caller's environment"
	kill -9 "$relay"
else
	kill -9 "$resolver"
fi
wait_for test ! -e "/proc/$relay" || fail "the relay is gone"
kill "$sup"
wait "$sup" 2>/dev/null
ab -- sh -c 'touch up; until [ -e go ]; do sleep 0.05; done; curl -sS --max-time 20 http://web.example.test:8080/' >"$T/out" 2>"$T/err" &
sup=$!
wait_for test -e "$WS/up" || fail "the command runs"
for p in /proc/[0-9]*; do
	[ "$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)" = "agentbox-relay " ] && kill -9 "${p#/proc/}" 2>/dev/null
done
touch "$WS/go"
wait "$sup"
is "$?" 6 "a relay that is killed takes the network with it"
like "$(cat "$T/err")" "relay ended before the command" "and that is said"
no_sandbox_left "no process is left"

# --- where names lead ---
leads() { # NAME WHY
	like "$(ab -- curl -sS -o /dev/null --max-time 20 -w '%{http_code}' "http://$1.example.test/" 2>&1)" "^403.*$2" "$1 leads to no public address"
}
egress_profile '["*.example.test:80"]'
for name in private metadata loop own mapped nat64 cname bench; do
	leads "$name" 'network: denied'
done
like "$(ab -- curl -sS -o /dev/null http://bench.example.test/ 2>&1)" "private_ranges: \[198.18.0.0/15\]" "a resolver that makes up addresses is recognised"
check_not "no connection came" connected 'at (10\.|169\.|198\.)'
like "$(ab -- curl -sS http://mixed.example.test/ 2>&1)" 'host=mixed' "of two addresses the public one is taken"
like "$(ab -- curl -sS http://rebind.example.test/ 2>&1)" 'host=rebind' "a name that leads elsewhere next time"
check_not "no private address was reached" connected 'at 10\.'
egress_profile '["*.example.test:80"]' 'private_ranges: [10.9.9.0/24, 169.254.169.254, 198.18.0.0/15]'
for name in private metadata bench; do
	like "$(ab -- curl -sS --max-time 20 "http://$name.example.test/" 2>&1)" "host=$name" "$name, allowed by private_ranges"
done
check "and it was the address that was written down" connected '80 .* at 10\.9\.9\.9'
no_sandbox_left "no process is left at the end"
done_testing
