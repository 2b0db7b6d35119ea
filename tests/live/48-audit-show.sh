#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# agentbox audit show: what is asked for and nothing else, safe to look at.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
profile two <<-YAML
	sandbox:
	  roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}]
	permissions:
	  agents:
	    alice:
	      rules:
	        - {operations: [execute], commands: ["git push *"], mode: interrupt}
	        - {operations: [execute], commands: ["*"], mode: allow}
	        - {operations: [read, write], paths: ["/**"], mode: allow}
	    worker: {rules: [{operations: [execute], commands: ["true"], mode: allow}]}
YAML
show() {
	"$AGENTBOX" audit show --state "$STATE" "$@"
}
# shows EXPRESSION DESCRIPTION OPTION...: over r, the records that are shown
shows() {
	local expression=$1 desc=$2 rc=0
	shift 2
	show --json "$@" >"$T/shown" 2>"$T/err" || rc=$?
	py -c 'import json, sys
json.dump({"r": [json.loads(l) for l in open(sys.argv[1])], "rc": int(sys.argv[2])}, open(sys.argv[3], "w"))' \
		"$T/shown" "$rc" "$T/j"
	json_is "$T/j" "(lambda r: ($expression))(o[\"r\"]) and o[\"rc\"] == 0" "$desc"
}

expect_rc 125 "no log yet" show
like "$(cat "$T/err")" "state" "is said"
check_not "and none is made" test -e "$STATE"
expect_rc 3 "a run" ab -a alice -- sh -c 'exit 3'
sleep 0.01
between=$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)
sleep 0.01
expect_rc 120 "a denial" ab -a worker/17 -- false
expect_rc 120 "one on another's behalf" ab -a worker --on-behalf-of alice -- false
expect_rc 122 "one that waits" ab -a alice -- git push origin
expect_rc 120 "a stranger's" ab -a $'str\e[31mang\u202eer\n' -- true

shows 'len(r) == 7 and [x["seq"] for x in r] == list(range(1, 8))' "all of it, in order"
shows "r == [json.loads(l) for l in open('$STATE/audit.jsonl')]" "as it stands in the log"
shows '[x["event"] for x in r] == ["start"]' "--event" --event start
shows '[x["layer"] for x in r] == ["sandbox"] * 2' "--layer" --layer sandbox
shows '[x["decision"] for x in r] == ["deny"] * 3' "--decision" --decision deny
shows '[x["agent_id"][:3] for x in r] == ["str"]' "--code" --code identity
shows 'len(r) == 7' "--action" --action run_command
shows 'r == []' "--action: another" --action read_file
shows '{x["agent_id"] for x in r} == {"worker/17", "worker"} and len(r) == 2' "--agent with a pattern" -a 'worker*'
shows 'sorted(x["agent_id"] for x in r) == ["alice"] * 4 + ["worker"]' "--agent: on its behalf too" --agent alice
shows '[x["resource"]["argv"][1] for x in r] == ["push"]' "--resource" --resource 'git*'
shows 'r == []' "--resource: all of the text" --resource 'push'
id=$(head -n 1 "$STATE/audit.jsonl" | py -c 'import json, sys; print(json.loads(sys.stdin.read())["request_id"])')
shows 'len(r) == 3' "--request" --request "$id"
shows 'len(r) == 3' "--request: the beginning of it" --request "${id:0:12}"
shows 'r == []' "--request: another" --request "${id:0:12}x"
shows '[x["seq"] for x in r] == [1, 2, 3]' "--until" --until "$between"
shows '[x["seq"] for x in r] == [4, 5, 6, 7]' "--since" --since "$between"
shows 'len(r) == 7' "--since: how long ago" --since 1h
shows 'r == []' "--until: how long ago" --until 1h
shows 'r == []' "--since: a day" --since 2999-01-31
shows 'len(r) == 7' "--until: a day" --until 2999-01-31
shows '[x["seq"] for x in r] == [6, 7]' "--last" -n 2
shows '[x["seq"] for x in r] == [5]' "--last, of those asked for" --last 1 --agent worker
shows 'len(r) == 1 and r[0]["agent_id"] == "alice"' "several at once" -a alice --decision interrupt --since 1h
for bad in "--decision denied" "--event outcom" "--layer x" "--action read" "--since yesterday" "--until 2026-13" \
	"--since 10" "--last 0" "--last x" "--last -1"; do
	# shellcheck disable=SC2086 # two words
	expect_rc 125 "$bad" show $bad
	like "$(cat "$T/err")" "^agentbox: .*${bad##* }" "is said"
	is "$(cat "$T/out")" "" "and nothing shown"
done
like "$(show --event outcom 2>&1)" "did you mean 'outcome'" "the nearest word"
cp "$STATE/audit.jsonl" "$T/copy.jsonl"
is "$("$AGENTBOX" audit show --json "$T/copy.jsonl")" "$(show --json)" "a file by name"
expect_rc 125 "one that is not there" "$AGENTBOX" audit show "$T/absent.jsonl"
expect_rc 125 "--follow is not for a file" "$AGENTBOX" audit show --follow "$T/copy.jsonl"

# --- for people
show >"$T/table"
like "$(head -n 1 "$T/table")" "^TIME .* AGENT .* WHY$" "a head"
is "$(wc -l <"$T/table")" 8 "a line for each record"
like "$(cat "$T/table")" $'\n'"[0-9: -]+ ${id:0:9} +alice +exited 3 +run_command +sh -c 'exit 3'"$'\n' "the end of a run"
like "$(cat "$T/table")" "worker/17 +deny +run_command +false +\[acl_deny: .*\]" "a denial, with its code"
like "$(cat "$T/table")" "alice>worker +deny" "a chain"
like "$(cat "$T/table")" "interrupt +run_command +git push origin +\[.*two\.yaml:7\]" "the rule"
# What a terminal would obey must not reach it, in neither form.
like "$(tail -n 1 "$T/table")" 'str\\x1b\[31mang\\xe2\\x80\\xaeer\\x0a' "control characters are escaped"
is "$(LC_ALL=C tr -d '\n\040-\176' <"$T/table" | wc -c)" 0 "every byte can be printed"
ab -a alice -- printf '%s' $'\e]0;x\a' $'\x7f\xc2\x9b\xff' "$(printf 'long%0300d' 1)" >/dev/null
is "$(show --json | LC_ALL=C tr -d '\n\040-\176' | wc -c)" 0 "as JSON too"
shows 'r[0]["resource"]["argv"][2] == "\x1b]0;x\x07" and r[0]["resource"]["argv"][3] == {"b64": "f8Kb/w=="}' \
	"without loss" --last 3
is "$(show --last 1 | LC_ALL=C tr -d '\n\040-\176' | wc -c)" 0 "nor in the table"
like "$(show --last 1)" "000\.\.\." "where long texts are cut"
printf 'no record\n' >>"$T/copy.jsonl"
expect_rc 0 "a line that is no record" "$AGENTBOX" audit show "$T/copy.jsonl"
like "$(cat "$T/err")" "1 lines are no records" "is counted"
is "$(wc -l <"$T/out")" 8 "and passed over"

# --- as it is written
"$AGENTBOX" audit show --state "$STATE" --json --follow --last 1 >"$T/followed" 2>"$T/ferr" &
follower=$!
followed() { # COUNT
	[ "$(wc -l <"$T/followed")" = "$1" ]
}
check "--follow begins with what there is" wait_for followed 1
ab -a alice -- true
check "and goes on with what is written" wait_for followed 4
mv "$STATE/audit.jsonl" "$STATE/audit.jsonl.1"
ab -a alice -- true
check "in the file that takes its place too" wait_for followed 7
is "$(py -c 'import json, sys
print(*(json.loads(l)["event"] for l in open(sys.argv[1])))' "$T/followed")" \
	"outcome decision start outcome decision start outcome" "each record once"
kill "$follower"
wait "$follower" 2>/dev/null
is "$(cat "$T/ferr")" "" "without a complaint"
# shellcheck disable=SC2034 # read to the end of the first line alone
(show --follow --json; echo "$?" >"$T/status") | read -r line
check "--follow ends when nobody reads" wait_for test -s "$T/status"
done_testing
