#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Network by name with hosts of any port (HOST:*): every rule holds on every port, and a kernel that
# cannot do it refuses such a profile instead of leaving ports out.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
as_callers

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "hosts of any port" "servers of its own need root"
	done_testing
fi
# The requests for a pair of interfaces, and for the rule, are the ones of these lengths.
NO_VETH=("$DENY" EOPNOTSUPP sendto:100 --)
NO_RULE=("$DENY" EOPNOTSUPP sendto:472 --)
unable='a host with any port \(:\*\) needs a kernel with veth and nf_tables. tproxy'

# With a reset right away a connection fails, or is there and is cut off before or after the request.
# shellcheck disable=SC2317 # called by what is given to it
refused() { # DESCRIPTION HOST:PORT [REASON]: nothing comes of it, and that is said at the end
	expect_rc "7|55|56" "$1" curl_in "http://$2/"
	like "$(cat "$T/err")" "network: denied $2 \(1×\)${3:-}" "$1: is said so"
}

egress_profile '["web.example.test:*", "*.wild.example.test:443", "203.0.114.5:*"]'
if ! "$AGENTBOX" doctor --state "$STATE" 2>/dev/null | grep -q '^ok .*any_port'; then
	expect_rc 125 "a kernel that cannot" ab -- touch "$WS/ran"
	like "$(cat "$T/err")" "$unable" "is told, with what to do"
	check_not "and nothing ran" test -e "$WS/ran"
	done_testing
fi
pass "doctor: this kernel can"
like "$("${NO_RULE[@]}" "$AGENTBOX" doctor --state "$STATE" 2>&1 | grep -A2 any_port)" 'this kernel has no nf_tables with tproxy' \
	"doctor: one without the rule cannot"
expect_rc 125 "doctor: nor this profile there" "${NO_RULE[@]}" "$AGENTBOX" doctor --state "$STATE" -p "$P"
like "$(cat "$T/out")" 'a host of the profile has any port \(:\*\), see any_port' "doctor: and says why"
expect_rc 0 "doctor: which works here" "$AGENTBOX" doctor --state "$STATE" -p "$P"
# The two requests of doctor differ from those of a run in nothing but the other end's namespace.
like "$("${NO_VETH[@]}" "$AGENTBOX" doctor --state "$STATE" 2>&1 | grep -A2 any_port)" 'this kernel has no veth' \
	"doctor: nor one without veth"
expect_rc 125 "a kernel without the rule" "${NO_RULE[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- touch "$WS/ran"
like "$(cat "$T/err")" "$unable" "is told, with what to do"
expect_rc 125 "a kernel without veth" "${NO_VETH[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- touch "$WS/ran"
like "$(cat "$T/err")" "$unable" "is told the same"
check_not "and nothing ran" test -e "$WS/ran"

# --- any port ---
for port in 1 7444 8443 65535; do
	like "$(curl_in "http://web.example.test:$port/p$port" 2>&1)" "host=web.example.test:$port path=/p$port" "port $port"
	like "$(tail -n 3 "$STATE/audit.jsonl" | grep '"connection"')" '"host":"web.example.test".*"port":'"$port"',"address":"93.184.216.34"' \
		"and it is in the record"
done
like "$(curl_in http://203.0.114.5:8443/ip 2>&1)" 'path=/ip' "an address, any port"
expect_rc 0 "TCP for a name server is one more port" ab -- python3 -I -c 'import socket; s = socket.create_connection(("198.18.0.1", 53)); s.close()'
like "$(curl_in https://web.example.test/y 2>&1)" 'path=/y' "HTTPS"
like "$(curl_in http://web.example.test/x 2>&1)" 'path=/x' "HTTP"
like "$(curl_in https://a.wild.example.test/ 2>&1)" 'path=/' "a host of one port beside it"
expect_out "0 []" "300 connections at once" ab -- python3 -I "$LIVE/lib/egress-client.py" many 300
expect_out "refused soon" "UDP is refused at once, 20 times" ab -- python3 -I "$LIVE/lib/egress-client.py" udp 20
expect_out "16777216 True" "16 MiB, byte for byte" ab -- python3 -I "$LIVE/lib/egress-client.py" bulk 16
expect_out "ok ok ok unavailable" "programs may listen on any port themselves" ab -- python3 -I "$LIVE/lib/egress-client.py" bind_matrix
expect_rc "7|55|56" "a port where nobody listens" curl_in http://web.example.test:7999/
unlike "$(cat "$T/err")" denied "is not denied"

# --- what is not allowed, on the same ports ---
expect_rc 6 "another name" curl_in http://evil.test:8443/
check_not "is not even asked for" asked evil.test
refused "another port of a host of one port" a.wild.example.test:8443
expect_rc 7 "an address that is not listed" curl_in http://203.0.113.5:8443/
expect_rc 7 "the gateway itself has no other port" curl_in http://198.18.0.1:8443/
refused "an address of the pool that stands for no name" 198.19.77.7:8443
expect_rc 35 "TLS for another name" curl_in --connect-to evil.test:443:web.example.test:443 https://evil.test/
like "$(curl_in -o /dev/null -w '%{http_code}' -H 'Host: evil.test' http://web.example.test/ 2>&1)" '^403' "HTTP for another host"

egress_profile '["evil.test:*"]'
like "$(curl_in http://evil.test:8443/e 2>&1)" 'path=/e' "the very name and port, allowed"

# --- deny beats allow, for one port and for many ---
egress_profile '["web.example.test:*", "private.example.test:*", "loop.example.test:*"]' 'deny: ["web.example.test:8443", "web.example.test:1-79"]'
like "$(curl_in http://web.example.test:65535/ok 2>&1)" 'path=/ok' "a port that is not denied"
like "$(curl_in http://web.example.test/ok 2>&1)" 'path=/ok' "the first one behind a range of denied ones"
refused "one that is" web.example.test:8443
refused "one of the range" web.example.test:1
refused "a name that leads to a private address" private.example.test:8443 ": it leads to 10.9.9.9"
refused "or to lo" loop.example.test:8443 ": it leads to 127.0.0.1"
check_not "never got there" connected '8443 .* at (10\.|127\.)'
egress_profile '["web.example.test:*", "private.example.test:*"]' 'private_ranges: [10.9.9.0/24]'
like "$(curl_in http://private.example.test:8443/pr 2>&1)" 'path=/pr' "a private address that is allowed"
like "$(curl_in http://web.example.test:8443/ok 2>&1)" 'path=/ok' "the port that was denied (control)"

# --- the agent's rules ---
sed -i "s|me: allow|me: {rules: [{operations: [execute], commands: ['*'], mode: allow}, {operations: [read], paths: [/ca.pem], mode: allow}, {operations: [connect], hosts: ['web.example.test:8443'], mode: allow}]}|" "$P"
like "$(curl_in http://web.example.test:8443/rule 2>&1)" 'path=/rule' "the agent's rules: the port that they name"
refused "another one" web.example.test:65535 ": denied by the agent's rules"
expect_rc 6 "a host that they do not name" curl_in http://private.example.test:8443/
no_sandbox_left "no process is left"
done_testing
