#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is denied again and again: each request has a decision of its own, and nothing that goes on
# inside one makes more records than it may.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
as_callers
log=$STATE/audit.jsonl
log_is() { # EXPRESSION DESCRIPTION: over r, the records, and of(EVENT)
	local out
	if out=$(py - "$log" "$1" 2>&1 <<'PY'
import json, sys
lines = open(sys.argv[1], "rb").read().splitlines()
r = [json.loads(l) for l in lines]
def of(event):
    return [x for x in r if x["event"] == event]
if not eval(sys.argv[2]):
    print("false:", sys.argv[2])
    for x in r[-4:]:
        print(json.dumps(x)[:500])
    sys.exit(1)
PY
	); then pass "$2"; else
		fail "$2"
		diag <<<"$out"
	fi
}
t() {
	"$AGENTBOX" tool --state "$STATE" -p "$P" "$@"
}
profile repeats <<YAML
sandbox:
  roots: [{path: "$WS", at: /ws, mode: rw}, {path: "$T/bin", mode: ro}]
permissions:
  policy_model: rules
  agents:
    me:
      rules:
        - {operations: [execute], commands: ["id *"], mode: deny}
        - {operations: [read, write], paths: ["/ws/hidden/*"], mode: deny, absent: report}
        - {operations: [read, write], paths: ["/ws/**", "$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
mkdir "$WS/hidden"
for i in {1..300}; do : >"$WS/hidden/$i"; done

# --- the same denial, by the same caller, one after the other and at the same time
for i in {1..25}; do
	ab -- id -u || echo $? >>"$T/runs"
	t read /ws/hidden/1 || echo $? >>"$T/tools"
done >/dev/null 2>&1
for i in {1..16}; do
	(ab -- id -u || echo $? >"$T/at-once$i") 2>/dev/null &
done
wait
is "$(cat "$T"/runs "$T"/tools "$T"/at-once* | sort | uniq -c | tr -s ' ')" " 66 120" "66 denials"
log_is 'len(r) == len(of("decision")) == 66' "are 66 decisions, and nothing else"
log_is 'len({x["request_id"] for x in r}) == 66 and all(x["decision"] == "deny" and x["code"] == "acl_deny" for x in r)' \
	"each of a request of its own"
log_is '[x["action"] for x in r].count("read_file") == 25' "of both verbs"
ab -- id "$(printf "%0100000d" 0)" 2>/dev/null
log_is 'len(r) == 67 and max(map(len, lines)) < 65536' "whatever it is asked with, a line has its bound"
expect_rc 0 "the same with what is allowed (control)" ab -- true
log_is 'len(r) == 70 and r[67]["decision"] == "allow"' "has its three records"

# --- check makes no request
for i in {1..10}; do
	"$AGENTBOX" check -p "$P" read_file /ws/hidden/1
done >/dev/null 2>&1
for i in {1..2000}; do
	printf -- '-\tread_file\t/ws/hidden/%d\tdeny\n' "$i"
done >"$T/batch"
expect_rc 0 "a batch of 2,000 denials" "$AGENTBOX" check -p "$P" --batch "$T/batch"
log_is 'len(r) == 70' "leaves no record"

# --- within one request
t ls /ws/hidden >"$T/names"
is "$(wc -l <"$T/names")" 0 "300 names that the agent may not see"
log_is 'len(r) == 73 and r[-1]["hidden"] == 300' "are one number"
# shellcheck disable=SC2016 # for the shell inside
ab -q -- sh -c 'i=0; while [ $i -lt 1500 ]; do : >"/ws/.env.$i"; i=$((i + 1)); done' 2>"$T/err"
log_is '[x["event"] for x in r[-3:]] == ["decision", "start", "outcome"] and max(map(len, lines)) < 65536' \
	"1,500 protected names that appear: three records"
log_is 'r[-1]["violations"][-1]["code"] == "more" and len(r[-1]["violations"]) - 1 + r[-1]["violations"][-1]["count"] == 1500' \
	"which tell some and count all"
rm -f "$WS"/.env.*
expect_rc 0 "and it verifies" "$AGENTBOX" audit verify --state "$STATE"

# --- names, asked for by whoever spins
if [ ! -d "$LIVE/net" ]; then
	skip_without_root "a flood of names" "a network of its own needs root"
	done_testing
fi
rm -rf "$STATE"
egress_profile '["web.example.test"]'
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- python3 -c '
import socket
q = bytes.fromhex("123401000001000000000000") + b"\x04evil\x04test\x00" + b"\0\1\0\1"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("198.18.0.1", 53))
s.settimeout(60)
for i in range(1500):
    s.send(q)
    assert s.recv(512)[3] & 15 == 3
' >"$T/j" 2>"$T/err"
is "$(json_get "$T/j" 'o["exit_code"]')" 0 "1,500 questions for a name, each of them denied"
check_not "none of which the name server outside has heard" asked evil.test
log_is 'len(of("name")) + sum(x.get("skipped", 0) for x in r) == 1500' "each is recorded or counted"
log_is 'len(of("name")) <= 256 + of("outcome")[0]["usage"]["wall_ms"] // 20 + 2' "so many are recorded as may be"
json_is "$T/j" 'sum(d["count"] for d in o["denials"]) == 1500 and o["denials"][0]["resource"] == "evil.test"' \
	"and the result counts all"
curl_in http://web.example.test/ >/dev/null 2>&1
log_is 'of("connection")[-1]["decision"] == "allow"' "one that is allowed has its record (control)"
done_testing
