#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The audit: what is written, that nothing runs without it, and that it survives tears and
# crowds. DESIGN 9.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
log() {
	echo "$STATE"/*.jsonl
}
verify() {
	"$AGENTBOX" audit verify "$(log)"
}

# log_is EXPRESSION DESCRIPTION: over r, the list of records
log_is() {
	local out
	if out=$(py - "$(log)" "$1" 2>&1 <<'PY'
import json, sys
r = [json.loads(l) for l in open(sys.argv[1])]
def of(i):
    return [x for x in r if x["request_id"] == i]
if not eval(sys.argv[2]):
    print("false:", sys.argv[2])
    for x in r[-4:]:
        print(json.dumps(x))
    sys.exit(1)
PY
	); then pass "$2"; else
		fail "$2"
		diag <<<"$out"
	fi
}

expect_rc 5 "a run" ab -- sh -c 'exit 5'
is "$(stat -c %a "$(log)")" 600 "the log is the owner's alone"
is "$(stat -c %a "$STATE")" 700 "so is its directory"
log_is '[x["event"] for x in r] == ["decision", "start", "outcome"]' "decision, start, outcome"
log_is 'len({x["request_id"] for x in r}) == 1' "of one request"
log_is '[x["seq"] for x in r] == [1, 2, 3]' "numbered"
log_is 'r[0]["decision"] == "allow" and r[0]["agent_id"] == "me" and r[0]["action"] == "run_command"' "who and what"
log_is '"exit 5" in json.dumps(r) and r[-1].get("exit_code", r[-1].get("rc")) == 5' "argv and the end"
"$AGENTBOX" lint --hashes "$P" >"$T/h" 2>/dev/null
for k in sandbox_sha256 permissions_sha256; do
	log_is "r[0]['$k'] == r[2]['$k'] == '$(json_get "$T/h" "o['$k']")' and len(r[0]['$k']) == 64" "$k of the profile, in decision and outcome"
done
log_is 'r[0]["sandbox_sha256"] != r[0]["permissions_sha256"] and r[0]["sha256"]' "each its own"
log_is 'all(k in r[0] for k in ("v", "seq", "ts", "event", "layer", "decision", "code", "request_id", "agent_id", "delegation", "action", "resource", "reason", "rule", "session"))' "every common field"
expect_rc 0 "it verifies" verify
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- true >"$T/j" 2>/dev/null
log_is 'len(r) == 6' "a second run adds three"
is "$(json_get "$T/j" 'o["audit"]["seq"]')" 6 "the result carries the number of the head"
is "$(json_get "$T/j" 'o["audit"]["sha256"]')" "$(tail -n 1 "$(log)" | tr -d '\n' | sha256sum | cut -c1-64)" "and its hash"
head=$("$AGENTBOX" audit head --state "$STATE" 2>/dev/null)
like "$head" "$(json_get "$T/j" 'o["audit"]["sha256"]')" "audit head says the same"
is "$(json_get "$T/j" 'o["request_id"]')" "$(tail -n 1 "$(log)" | py -c 'import json, sys; print(json.loads(sys.stdin.read())["request_id"])')" "the result and the records share the request id"

# --- a denial
expect_rc 120 "a denied run" ab -a stranger -- touch "$WS/ran"
check_not "did not run" test -e "$WS/ran"
log_is 'len(r) == 7 and r[-1]["event"] == "decision" and r[-1]["decision"] == "deny" and r[-1]["code"] == "identity"' "has a decision and nothing else"
expect_rc 121 "one that the sandbox refuses" ab --workdir "$T/home" -- touch "$WS/ran"
log_is 'r[-1]["event"] != "start" and not any(x["event"] == "start" for x in of(r[-1]["request_id"]))' "has no start"
expect_rc 0 "it verifies" verify

# --- secrets are not in it
base_profile "env: {pass: [SECRET_ONE], set: {TWO: hush-two}}"
SECRET_ONE=hush-one ab -- true
is "$(grep -c hush "$(log)")" 0 "no value of the environment is recorded"
base_profile

# --- not writable: nothing runs
for s in "$T/notadir/x" /proc/agentbox-state "$T/link-state" "$T/open-state"; do
	: >"$T/notadir"
	ln -sfn "$T/home" "$T/link-state"
	mkdir -p "$T/open-state"
	chmod 777 "$T/open-state"
	expect_rc 125 "state $(basename "$s")" "$AGENTBOX" run --state "$s" -p "$P" -- touch "$WS/ran"
	check_not "nothing ran" test -e "$WS/ran"
done
mkdir "$T/state3"
chmod 700 "$T/state3"
ln -s "$T/home/evil" "$T/state3/$(basename "$(log)")"
expect_rc 125 "a log that is a link" "$AGENTBOX" run --state "$T/state3" -p "$P" -- touch "$WS/ran"
like "$(cat "$T/err")" "audit.jsonl' is a symbolic link; move it away" "is told with what to do"
check_not "nothing ran" test -e "$WS/ran"
check_not "and its target was not made" test -e "$T/home/evil"
mkdir -m 700 "$T/state4"
ln -s /dev/null "$T/state4/audit.lost"
expect_rc 125 "so is the file for what is lost" "$AGENTBOX" run --state "$T/state4" -p "$P" -- touch "$WS/ran"
like "$(cat "$T/err")" "audit.lost' is a symbolic link; move it away" "and told"
if [ "$CALLER" = user ]; then
	chmod 500 "$STATE"
	chmod 400 "$(log)"
	expect_rc 125 "a log without the right to write" ab -- touch "$WS/ran"
	check_not "nothing ran" test -e "$WS/ran"
	chmod 700 "$STATE"
	chmod 600 "$(log)"
fi
(ulimit -f 1; trap '' XFSZ; for i in 1 2 3 4; do ab -- true; done) >/dev/null 2>&1
expect_rc 0 "a log at the file size limit (control)" ab -- true
check "verifies" verify
n=$(wc -l <"$(log)")
(ulimit -f $(( $(stat -c %s "$(log)") / 1024 )); trap '' XFSZ; ab -- touch "$WS/ran") >"$T/out" 2>"$T/err"
is $? 125 "a log that cannot grow"
check_not "nothing ran" test -e "$WS/ran"
expect_rc 0 "the next run works" ab -- true
expect_rc 0 "and it verifies" verify

# --- torn tails
for cut in 1 7 60; do
	size=$(stat -c %s "$(log)")
	truncate -s $((size - cut)) "$(log)"
	expect_rc 0 "a run after a tear of $cut bytes" ab -- true
	expect_rc 0 "it verifies" verify
	log_ok=$(py - "$(log)" <<'PY'
import json, sys
ev = []
for l in open(sys.argv[1], errors="replace"):
    try:
        ev.append(json.loads(l)["event"])
    except ValueError:
        ev.append("torn")
print("recovered" in ev)
PY
)
	is "$log_ok" True "and says recovered"
done

# --- tampering is found
cp "$(log)" "$T/good"
head=$("$AGENTBOX" audit head --state "$STATE" 2>/dev/null)
cp -r "$STATE" "$T/copy"
f=$T/copy/$(basename "$(log)")
sed -i '2s/allow\|start/other/' "$f"
cmp -s "$f" "$T/good" && sed -i '2s/"me"/"xx"/' "$f"
expect_rc 1 "an edited line" "$AGENTBOX" audit verify "$f"
sed '2d' "$T/good" >"$f"
expect_rc 1 "a removed line" "$AGENTBOX" audit verify "$f"
cp "$T/good" "$f"
expect_rc 0 "the whole one (control)" "$AGENTBOX" audit verify "$f"
sha=$(tail -n 1 "$T/good" | tr -d '\n' | sha256sum | cut -c1-64)
seq_=$(tail -n 1 "$T/good" | py -c 'import json, sys; print(json.loads(sys.stdin.read())["seq"])')
for h in "$seq_:$sha" "$head"; do
	[ -n "$h" ] || continue
	"$AGENTBOX" audit verify "$f" --head "$h" >"$T/out" 2>&1
	rc=$?
	is "$rc" 0 "with its head ${h:0:20}"
	sed '$d' "$T/good" >"$f.short"
	"$AGENTBOX" audit verify "$f.short" --head "$h" >"$T/out" 2>&1
	rc=$?
	is "$rc" 1 "a log cut short, against the head kept elsewhere"
done
# Not stopped: an audit log that was rewritten as a whole
"$AGENTBOX" run --state "$T/forged" -p "$P" -- true 2>/dev/null
cp "$T"/forged/*.jsonl "$f"
expect_rc 0 "another log in its place" "$AGENTBOX" audit verify "$f"
expect_rc 1 "but for a head kept elsewhere" "$AGENTBOX" audit verify "$f" --head "$head"

# --- a crowd
rm -rf "$STATE"
for ((i = 0; i < 32; i++)); do
	ab -- true >/dev/null 2>"$T/crowd$i" || : >"$T/crowd-bad$i" &
done
wait
is "$(ls "$T"/crowd-bad* 2>/dev/null | wc -l)" 0 "32 runs at once"
cat "$T"/crowd[0-9]* | head -n 3 | diag
log_is 'len(r) == 96 and len({x["request_id"] for x in r}) == 32' "lose no record"
log_is 'all([y["event"] for y in of(x["request_id"])] == ["decision", "start", "outcome"] for x in r)' "and keep the order of each"
expect_rc 0 "it verifies" verify
done_testing
