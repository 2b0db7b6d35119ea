#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A host whose way out is a proxy: names go to it and not to a name server, after the rules were
# asked; and what it refuses is told.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "an upstream proxy" "servers of its own need root"
	done_testing
fi
HOSTS='["web.example.test:80,443,7001,7002,7005", "evil.test", "git.example.test", "nowhere.example.test", "203.0.114.0/24:8080"]'
# The request for a pair of interfaces is the one of this length.
NO_VETH=("$DENY" EOPNOTSUPP sendto:100 --)
way=()
# shellcheck disable=SC2317 # called by what is given to expect_out
act() {
	"${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$LIVE/lib/egress-client.py" "$@"
}
web() {
	"${way[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- curl -sS --max-time 20 --cacert /ca.pem "$@" 2>&1
}

through() { # NAME PROXY
	egress_profile "$HOSTS" "upstream_proxy: http://$2:3128"
	like "$(web https://web.example.test/p)" 'path=/p' "$1: TLS"
	like "$(web http://web.example.test/q)" 'host=web.example.test path=/q' "$1: HTTP"
	check "$1: the proxy was asked for the name" connected '^proxy CONNECT web.example.test:443 HTTP/1.1$'
	check_not "$1: and no name server" asked web.example.test
	like "$(web http://203.0.114.5:8080/ip)" 'path=/ip' "$1: an address"
	check "$1: goes to the proxy as one" connected '^proxy CONNECT 203.0.114.5:8080 '
	expect_out "500007 True" "$1: the client ends first" act half_close
	expect_out "bye 0" "$1: a server that speaks first" act server_first
	expect_out "$((16 << 20)) True" "$1: 16 MiB, byte for byte" act bulk 16
	like "$(web -o /dev/null -w '%{http_code}' http://evil.test/)" '^403.*network: denied evil.test:80 .*refused by the upstream proxy \(status 403\)' "$1: what the proxy refuses"
	like "$(web https://evil.test/)" 'access denied' "$1: in TLS"
	like "$(web -o /dev/null -w '%{http_code}' http://git.example.test/)" '^502' "$1: a proxy that answers something else"
}
through gateway 93.184.216.34
like "$(grep '"proxy_deny"' "$STATE/audit.jsonl" | head -n 1)" '"decision":"deny".*"host":"evil.test".*"address":"93.184.216.34","proxy_status":403' "the record"
way=("${NO_VETH[@]}")
through loopback 93.184.216.34
way=()

# --- the rules come first ---
rm -f "$LIVE/net/seen"
egress_profile '["web.example.test:443"]' 'upstream_proxy: http://proxy.example.test:3128'
like "$(web https://web.example.test/n)" 'path=/n' "a proxy by its name, on a private address"
check "which is what the name server is asked for" asked proxy.example.test
expect_rc 6 "a name that is not listed" curl_in http://other.example.test/
expect_rc 7 "a port that is not" curl_in http://web.example.test:8080/
check_not "the proxy never hears of either" connected '^proxy CONNECT (other.example.test|web.example.test:8080)'
expect_rc 6 "the proxy has no name inside" curl_in http://proxy.example.test:3128/
expect_rc 35 "TLS for another name" curl_in --connect-to evil.test:443:web.example.test:443 https://evil.test/
expect_rc 7 "nor is it reached by its address" curl_in http://10.9.9.9:3128/
egress_profile '["nowhere.example.test:443", "web.example.test"]'
like "$(web http://web.example.test/d)" 'path=/d' "without a proxy it is as ever (control)"
check "and the name server is asked" asked web.example.test

# --- credentials ---
egress_profile '["web.example.test"]' 'upstream_proxy: {url: "http://93.184.216.34:3129", credentials: PROXY_LOGIN}'
expect_rc 125 "a variable that is not set" ab -- true
like "$(cat "$T/err")" "egress.yaml:9:[0-9]+: 'upstream_proxy': the variable 'PROXY_LOGIN' must hold USER:PASSWORD.* is not set" "is named"
like "$(PROXY_LOGIN='user:pass word:' web http://web.example.test/c)" 'path=/c' "the right ones"
like "$(PROXY_LOGIN='user:wrong' web -o /dev/null -w '%{http_code}' http://web.example.test/c)" '^403.*status 407: it wants other credentials' "the wrong ones"
expect_out "" "programs do not see them" env PROXY_LOGIN='user:pass word:' "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'env | grep -i login; true'
check_not "nor does the log" grep -q 'pass word\|dXNlc' "$STATE/audit.jsonl"

# --- no proxy ---
egress_profile '["web.example.test"]' 'upstream_proxy: http://93.184.216.34:3999'
like "$(web -o /dev/null -w '%{http_code}' http://web.example.test/)" '^502' "a proxy that is not there"
like "$(tail -n 3 "$STATE/audit.jsonl")" '"code":"proxy_unreached"' "has a code of its own"
no_sandbox_left "no process is left"
done_testing
