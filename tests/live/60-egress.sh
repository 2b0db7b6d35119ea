#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Network by name: what is allowed works without anything being set up inside, and what is not
# leaves no trace outside, not even a question to the host's name server.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
as_callers

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "network by name" "servers of its own need root"
	done_testing
fi
egress_profile '["web.example.test", "*.wild.example.test:443", "dead.example.test", "203.0.114.0/24:8080"]'

# --- what is allowed ---
like "$(curl_in http://web.example.test/x 2>&1)" 'host=web.example.test path=/x' "HTTP"
like "$(curl_in https://web.example.test/y 2>&1)" 'host=web.example.test path=/y' "HTTPS"
like "$(curl_in https://WEB.example.TEST./z 2>&1)" 'path=/z' "upper case and a dot at the end"
like "$(curl_in https://a.wild.example.test/ 2>&1)" 'path=/' "a name below a suffix"
like "$(curl_in https://b.c.wild.example.test/ 2>&1)" "SSL|certificate|path=/" "and one two labels below"
check "its name was asked for outside" asked web.example.test
like "$(ab -- python3 -c 'import urllib.request as u; print(u.urlopen("http://web.example.test/py").read())' 2>&1)" 'path=/py' "python"
like "$(curl_in http://203.0.114.5:8080/ip 2>&1)" 'path=/ip' "an address of an allowed network"
expect_out 198.19.1.0 "the resolver inside" ab -- python3 -c 'import socket; print(socket.gethostbyname("web.example.test"))'
expect_out "nameserver 198.18.0.1" "its resolv.conf" ab -- head -n 1 /etc/resolv.conf
expect_rc 0 "a proxy of the caller's does not arrive" env http_proxy=http://192.0.2.1:1 \
	"$AGENTBOX" run --state "$STATE" -p "$P" --env http_proxy -- sh -c 'test -z "${http_proxy:-}"'

# --- what is not ---
expect_rc 6 "a name that is not listed" curl_in http://evil.test/
like "$(cat "$T/err")" "agentbox: network: denied evil.test \(1×\)" "is said at the end"
expect_rc 6 "data in a name" curl_in http://secret.evil.test/
expect_rc 6 "the suffix itself" curl_in https://wild.example.test/
expect_rc 6 "a name with another ending" curl_in http://web.example.test.evil.test/
for name in evil.test secret.evil.test wild.example.test web.example.test.evil.test; do
	check_not "the name server outside never heard of $name" asked "$name"
done
expect_rc 7 "an address that is not listed" curl_in http://203.0.113.5/
expect_rc 7 "a port that nobody allows" curl_in http://web.example.test:8081/
expect_rc 35 "another port of an allowed network" curl_in https://203.0.114.5/
expect_rc 7 "an address of the net" curl_in http://93.184.216.34/
check_not "never got there" connected '443 .* at 203'
like "$(curl_in -o /dev/null -w '%{http_code}' http://a.wild.example.test/ 2>&1)" '^403' "HTTP where TLS alone is allowed"
expect_rc 35 "TLS for another name" curl_in --connect-to evil.test:443:web.example.test:443 https://evil.test/
like "$(cat "$T/err")" "access denied" "is told so by an alert"
like "$(curl_in -o /dev/null -w '%{http_code}' -H 'Host: evil.test' http://web.example.test/ 2>&1)" '^403' "HTTP for another host"
expect_rc 35 "TLS without a name" curl_in -k --connect-to 203.0.113.9:443:web.example.test:443 https://203.0.113.9/
like "$(curl_in -o /dev/null -w '%{http_code}' http://dead.example.test/ 2>&1)" '^502' "a host that does not answer"

# --- the same act, allowed ---
egress_profile '["evil.test"]'
like "$(curl_in http://evil.test/ 2>&1)" 'host=evil.test' "the very name, allowed"
check "and the name server was asked" asked evil.test
egress_profile '[{host: web.example.test, tls: off}, {host: "evil.test:80", tls: raw}]'
like "$(curl_in -k --connect-to evil.test:443:web.example.test:443 https://evil.test/o 2>&1)" 'path=/o' "tls: off, another name in TLS"
like "$(curl_in -o /dev/null -w '%{http_code}' -H 'Host: x.test' http://web.example.test/ 2>&1)" '^403' "but not in HTTP"
like "$(curl_in -H 'Host: x.test' http://evil.test/ 2>&1)" 'host=x.test' "tls: raw, in HTTP too"
egress_profile '["web.example.test", "*.example.test:7007"]' 'deny: [evil.test, "git.example.test"]'
expect_rc 6 "deny beats allow" curl_in http://git.example.test:7007/
check_not "and nobody was asked" asked git.example.test
egress_profile '["web.example.test"]' 'deny: ["93.184.216.0/24"]'
unlike "$(curl_in http://web.example.test/in 2>&1)" 'path=/in' "a denied network, by a name that leads there"
egress_profile '["web.example.test"]' 'deny: ["93.184.217.0/24"]'
# Not stopped: sending what can be read inside to a host that is allowed
like "$(curl_in http://web.example.test/in 2>&1)" 'path=/in' "another network (control)"
egress_profile '["web.example.test", "evil.test", "git.example.test"]'
sed -i "s|me: allow|me: {rules: [{operations: [execute], commands: ['*'], mode: allow}, {operations: [read], paths: [/ca.pem], mode: allow}, {operations: [connect], hosts: ['git.example.test'], mode: interrupt}, {operations: [connect], hosts: ['web.example.test:80', '*.example.test'], mode: allow}]}|" "$P"
like "$(curl_in http://web.example.test/rule 2>&1)" 'path=/rule' "the agent's rules: what both allow"
expect_rc 6 "the agent's rules: a host that they do not name" curl_in http://evil.test/rule
like "$(cat "$T/err")" "denied evil.test \(1×\): denied by the agent's rules" "is told apart"
expect_rc 6 "the agent's rules: one that a person would have to approve" curl_in http://git.example.test/
like "$(cat "$T/err")" "denied git.example.test \(1×\): denied for now: a person must approve it" "and is said so"
expect_rc 6 "the agent's rules: a host that the sandbox does not list" curl_in http://a.wild.example.test/
like "$(cat "$T/err")" "denied a.wild.example.test \(1×\)$" "is told apart from both"
for name in evil.test:acl_deny git.example.test:interrupt a.wild.example.test:not_listed; do
	ab --json -- curl -sS "http://${name%:*}/" >"$T/json" 2>/dev/null
	json_is "$T/json" "[(d['resource'], d['code']) for d in o['denials']] == [('${name%:*}', '${name#*:}')]" "the result says ${name#*:}"
	json_is "$T/json" "o['output'].strip() == 'curl: (6) Could not resolve host: ${name%:*}'" "and inside there is no such name"
	like "$(grep '"event":"name"' "$STATE/audit.jsonl" | tail -n 1)" '"code":"'"${name#*:}"'".*"host":"'"${name%:*}"'"' "as the record says ${name#*:}"
done
egress_profile '[]'
expect_rc 6 "an empty list is no network" curl_in http://web.example.test/

# --- the record ---
egress_profile '["web.example.test"]'
curl_in -o /dev/null http://web.example.test/rec 2>/dev/null
curl_in -o /dev/null http://evil.test/rec 2>/dev/null
tail -n 12 "$STATE/audit.jsonl" >"$T/tail"
like "$(grep '"connection"' "$T/tail")" '"host":"web.example.test".*"port":80.*"address":"93.184.216.34"' "a connection is recorded"
like "$(grep '"connection"' "$T/tail")" '"bytes_in":[1-9]' "with its bytes"
like "$(grep '"name"' "$T/tail")" '"decision":"deny".*"host":"evil.test"' "a name that was refused too"
expect_rc 0 "the chain holds" "$AGENTBOX" audit verify --state "$STATE"
ab --json -- curl -s http://evil.test/ >"$T/json" 2>/dev/null
json_is "$T/json" 'o["denials"][0]["resource"] == "evil.test" and o["mechanisms"]["network"] == "named"' "and in the result"
expect_rc 6 "--quiet says nothing" ab -q -- curl -sS http://evil.test/
unlike "$(cat "$T/err")" "agentbox" "of it"
no_sandbox_left "no process is left"
done_testing
