#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The resolver inside, question by question; what programs may bind beside it; and which ways to an
# address or to a resolver there are not. Root's over a link between two namespaces, the ordinary
# user's without one.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
LIVE_TIMEOUT=380
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "the protocols of a network of names" "servers of its own need root"
	done_testing
fi
way=()
[ "$CALLER" = root ] || way=("$DENY" EOPNOTSUPP sendto:100 --)
# shellcheck disable=SC2317 # called by what is given to expect_out
inside_act() { # FILE ACT...
	local file=$LIVE/lib/$1
	shift
	"${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- python3 -I "$file" "$@"
}
bind_act() {
	inside_act egress-bind.py "$@"
}

# --- the resolver ---
egress_profile '["web.example.test:80,443,8080", "203.0.114.0/24:8080"]'
inside_act egress-dns.py 198.18.0.1 >"$T/dns"
rc=$?
cat "$T/dns"
[ "$rc" = 0 ] || fail "the questions ended early, with status $rc"
LIVE_FAILED=$((LIVE_FAILED + $(grep -c '^not ok' "$T/dns")))
dig_in() { # STATUS ARGUMENT...
	local status=$1
	shift
	like "$("${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- dig +time=20 +tries=1 "$@" 2>&1)" "status: $status" "dig $*"
}
for how in "" +noedns +bufsize=512 +tcp +cookie +dnssec; do
	dig_in NOERROR $how web.example.test
	dig_in NXDOMAIN $how evil.test
done
dig_in NOERROR web.example.test AAAA
dig_in NOERROR web.example.test TYPE65
expect_out 198.19.1.0 "dig: the address" "${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- dig +short web.example.test
like "$("${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- dig evil.test 2>&1)" "15 [(]Blocked[)]" "dig: and why there is none"
check_not "nobody outside was asked" test -s "$LIVE/net/dns.log"

# --- whom TLS names, however it is cut ---
expect_out "hello hello hello hello denied denied denied denied" "a hello in pieces is the same hello" \
	inside_act egress-client.py sni web.example.test other.example.test

# --- whom each request names, and not only the first of a connection ---
requests() { # WANT NAME REQUEST...
	local want=$1 name=$2
	shift 2
	expect_out "$want" "$name" inside_act egress-client.py requests "$@"
}
H="HTTP/1.1|Host: web.example.test|"
X="HTTP/1.1|Host: git.example.test|"
ok1="host=web.example.test path=/keep1"
ok2="host=web.example.test path=/keep2"
requests "$ok1 / $ok2" "two requests on one connection" "GET /keep1 $H|" "GET /keep2 $H|"
requests "$ok1 / cut" "the second one to another host" "GET /keep1 $H|" "GET /hidden1 $X|"
requests "$ok1 sent=5 / $ok2" "a body is one" "POST /keep1 ${H}Content-Length: 5||GET /" "GET /keep2 $H|"
requests "$ok1 sent=200000 / $ok2" "a long one too" "POST /keep1 ${H}Content-Length: 200000||<200000>" "GET /keep2 $H|"
requests "$ok1 sent=300005 / $ok2" "in chunks" "POST /keep1 ${H}Transfer-Encoding: chunked||5|GET /|493e0|<300000>|0||" "GET /keep2 $H|"
requests "$ok1 / cut" "in a body that is none" "GET /keep1 $H|" "POST /hidden2 ${H}Content-Length: 4|Transfer-Encoding: chunked||0||" "+GET /hidden3 $X|"
requests "$ok1 / cut" "of two lengths" "GET /keep1 $H|" "POST /hidden4 ${H}Content-Length: 0|Content-Length: 30||"
requests "$ok1 / cut" "of a length that is none" "GET /keep1 $H|" "POST /hidden5 ${H}Content-Length: +5||12345"
requests "$ok1 / cut" "with a name that a blank ends" "GET /keep1 $H|" "POST /hidden6 ${H}Content-Length : 5||12345"
requests "$ok1 / cut" "with a chunk whose size is none" "GET /keep1 $H|" "POST /keep2 ${H}Transfer-Encoding: chunked||0x1|x|0||"
requests "$ok1 / cut" "with a trailer" "GET /keep1 $H|" "POST /keep2 ${H}Transfer-Encoding: chunked||0|Host: x||"
requests "cut" "sent with the first one" "GET /keep1 $H|" "+GET /hidden7 $X|"
requests "$ok1 / cut" "with lines that another reader would end sooner" "GET /keep1 $H|" $'GET /hidden8 HTTP/1.1\nHost: git.example.test\n\n||'
requests "$ok1 / cut" "HTTP/2 with prior knowledge" "GET /keep1 $H|" "PRI * HTTP/2.0||SM||"
up="Upgrade: websocket|Connection: upgrade||"
requests "$ok1 / cut" "after an upgrade that the server does not take" "GET /keep1 $H$up" "GET /hidden9 $X|"
requests "$ok1 / $ok2" "where requests go on (control)" "GET /keep1 $H$up" "GET /keep2 $H|"
check_not "nothing of these came there" connected 'request .*/hidden'
expect_out "101 True True" "an upgrade that the server takes lets bytes be bytes" inside_act egress-client.py websocket
is "$(grep '"event":"connection"' "$STATE/audit.jsonl" | grep -c '"decision":"deny","code":"other_name".*"address":"93.184.216.34"')" 11 "and each that was cut has its record"

# --- what programs may bind ---
if [ "$CALLER" = root ]; then
	binds="ok ok ok ok ok EADDRNOTAVAIL ok ok EPERM EPERM EAFNOSUPPORT ECONNREFUSED"
else
	binds="EADDRINUSE EADDRINUSE ok EADDRINUSE EADDRINUSE EADDRINUSE ok ok EPERM EPERM EAFNOSUPPORT (ok|ECONNRESET)"
fi
like "$(bind_act binds 2>&1)" "^$binds\$" "what programs may bind"
expect_out "20 0" "who listens on an allowed port gets nothing that is for the relay" bind_act thief

# --- addresses ---
expect_out "ok" "an address of an allowed network" bind_act reach 203.0.114.5,8080
expect_out "ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH" "others are refused at once" \
	bind_act reach 93.184.216.34,80 93.184.216.34,53,udp 10.9.9.9,80 169.254.169.254,80 203.0.115.1,8080 ::ffff:10.9.9.9,80
unlike "$(bind_act reach 64:ff9b::a09:909,80 2001:db8::1,443 fe80::1,80 2>&1)" "ok|late" "IPv6 too"
expect_out "ECONNREFUSED" "a port that nobody allows, of an allowed network" bind_act reach 203.0.114.5,9999
for a in 10.9.9.9 169.254.169.254; do
	check_not "no connection to $a" connected "at $a"
done
egress_profile '["10.9.9.9:80"]'
expect_out "ok" "a private address that is written down" bind_act reach 10.9.9.9,80
check "is reached" wait_for connected '80 .*at 10\.9\.9\.9'

# --- other ways to a resolver ---
paths=(/run/nscd/socket /run/systemd/resolve/io.systemd.Resolve /run/avahi-daemon/socket /run/dbus/system_bus_socket)
for p in "${paths[@]}"; do
	mkdir -p "${p%/*}" 2>/dev/null
	"$PYTHON" -I - "$p" <<-'PY' &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1])
		s.listen(64)
		time.sleep(200)
	PY
	servers="${servers:-} $!"
	wait_for test -S "$p"
done
expect_out "ok ok ok ok" "sockets of name services, outside (control)" py "$LIVE/lib/egress-bind.py" sockets "${paths[@]}"
egress_profile '["web.example.test"]'
expect_out "ENOENT ENOENT ENOENT ENOENT" "are not there in a network of names" bind_act sockets "${paths[@]}"
sed '/^  network:/,/^permissions/{/allow:/d; s/^  network:.*/  network: none/}' "$P" >"$T/none.yaml"
P=$T/none.yaml
way=()
expect_out "ENOENT ENOENT ENOENT ENOENT" "network: none: nor here" bind_act sockets "${paths[@]}"
expect_out "ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH" "network: none: no address is reached" \
	bind_act reach 93.184.216.34,53,udp 93.184.216.34,53 198.18.0.1,53,udp 8.8.8.8,53,udp
unlike "$(ab -- cat /etc/resolv.conf 2>&1)" nameserver "network: none: no name server is named"
before=$(wc -l <"$LIVE/net/dns.log")
start=$(now_ms)
expect_rc 6 "network: none: no name is found" ab -- curl -sS --max-time 60 http://web.example.test/
check "and that takes no time" test $(($(now_ms) - start)) -lt 20000
is "$(wc -l <"$LIVE/net/dns.log")" "$before" "network: none: and nobody was asked"
# shellcheck disable=SC2086
kill $servers 2>/dev/null
no_sandbox_left "no process is left"
done_testing
