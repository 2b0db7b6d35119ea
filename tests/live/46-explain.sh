#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What explain says of a path is what a run meets there.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
mkdir -p "$WS/.git/hooks" "$T/read" "$T/none"
echo secret >"$WS/.env"
echo '[core]' >"$WS/.git/config"
echo text >"$WS/plain"
echo text >"$T/read/file"
profile tree <<-YAML
	sandbox:
	  roots:
	    - {path: "$WS", mode: rw}
	    - "$T/read"
	    - {path: "$T/none", at: /none}
	    - {path: "$T/absent", optional: true}
	    - {path: "$T/bin", mode: ro}
	permissions:
	  agents:
	    one:
	      rules:
	        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
	        - {operations: [read], paths: ["$T/**"], mode: allow}
	        - {operations: [execute], commands: ["*"], mode: allow}
	    two: {rules: []}
YAML
expect_rc 0 "explain as JSON" "$AGENTBOX" explain -p "$P" -a one --json
cp "$T/out" "$T/said"
json_is "$T/said" 'o["version"] == 1 and o["agent"] == "one" and o["network"] == "none" and o["commands"] is None' "whose it is"
row() { # PATH KEY
	json_get "$T/said" "[r['$2'] for r in o['view'] if r['path'] == '$1']"
}
is "$(row "$WS" access)" "['rw']" "a root that may be written"
like "$(row "$WS" source)" "tree\.yaml:12'" "by its rule"
is "$(row "$T/read" access)" "['ro']" "one that may be read"
like "$(row "$T/read" source)" "tree\.yaml:13'" "by its rule"
is "$(row /none access)" "['none']" "one that no rule grants"
is "$(row /none source)" "['no matching rule']" "and why"
is "$(row "$T/absent" mechanism)" "['not mounted']" "one that is not there"
is "$(row "$WS/.env" access)" "['hidden']" "a hidden name"
is "$(row "$WS/.env" limit)" "['open for a moment when the host replaces the file']" "and what its mask is worth"
is "$(row "$WS/.git/config" access)" "['frozen']" "a frozen one"
is "$(row /usr access)" "['ro']" "the base"
is "$(row /tmp source)" "['scratch']" "the scratch"
json_is "$T/said" '[(r["line"], r["mode"], r["mechanism"]) for r in o["rules"]] == [(12, "allow", "mounts"), (13, "allow", "mounts"), (14, "allow", "decision on the request")]' "each rule and what backs it"
check_not "nothing is logged" test -e "$STATE"
ABOPT=(-a one)
inside Y "rw is written" write "$WS/plain" more
inside N "ro is not" write "$T/read/file" more
inside Y "but read" read "$T/read/file"
inside N "none is not there" read /none
inside Y "frozen is read" read "$WS/.git/config"
inside N "and not written" write "$WS/.git/config" more
is "$(ab -a one -- cat "$WS/.env" 2>/dev/null)" "" "hidden is not read"
inside Y "the scratch is written" write /tmp/new text
inside N "the base is not" write /usr/new text
expect_rc 0 "another agent" "$AGENTBOX" explain -p "$P" -a two --json
cp "$T/out" "$T/said"
is "$(row "$WS" access)" "['none']" "has nothing"
json_is "$T/said" 'o["rules"] == []' "by no rule"

# --- what backs each rule that is stricter
profile strict <<-YAML
	sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}]}
	permissions:
	  agents:
	    me:
	      rules:
	        - {operations: [read], paths: ["$WS/plain"], mode: deny}
	        - {operations: [read], paths: [/bin/ls], mode: deny}
	        - {operations: [read], paths: [/nowhere], mode: deny}
	        - {operations: [write], paths: ["$WS/later"], mode: deny, absent: report}
	        - {operations: [read], paths: ["$T/bin/**"], mode: deny}
	        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
	        - {operations: [execute], commands: ["*"], mode: allow}
	        - {operations: [read], paths: ["/**"], mode: deny}
YAML
expect_rc 0 "explain: rules that are stricter" "$AGENTBOX" explain -p "$P" --json
cp "$T/out" "$T/said"
json_is "$T/said" '[(r["line"], r["mechanism"], r["limit"]) for r in o["rules"] if r["mode"] == "deny"] == [(6, "mounts", "of a file a mask, open for a moment when the host replaces the file"), (7, "mounts", None), (8, "nothing is mounted there", None), (9, "nothing is mounted there", "what programs make there is told after the run"), (10, "mounts", None), (13, "mounts", "hides nothing of the base")]' "what stands for each"
like "$(row "$WS/plain" source)" "strict\.yaml:6'" "the mask is told by its rule"
like "$(row /usr/bin/ls source)" "strict\.yaml:7'" "the one behind a link too"
expect_rc 0 "and so it is" ab -- sh -c '! grep -q text "$1/plain" && ! test -s /bin/ls && ! test -e /nowhere && ! test -e "$2" && echo x >"$1/later" && test -s /bin/cat' - "$WS" "$T/bin"
rm -f "$WS/later"
P=$T/tree.yaml

# --- as text
expect_rc 0 "explain" "$AGENTBOX" explain -p "$P" -a one
like "$(cat "$T/out")" "^agent one of $P"$'\n' "text: whose it is"
like "$(cat "$T/out")" $'\n'" +\.env +hidden +protect +mask \(open for a moment when the host replaces the file\)"$'\n' "text: a name below its root"
like "$(cat "$T/out")" "tree\.yaml:14 allow run_command: \*: by decision on the request" "text: a rule"
esc=$(printf 'a\033[31m.env')
touch "$WS/$esc"
sed 's/^sandbox:/sandbox:\n  protect: {hide: ["a*.env"]}/' "$P" >"$T/escaped.yaml"
expect_rc 0 "a name that would write to the terminal" "$AGENTBOX" explain -p "$T/escaped.yaml" -a one
like "$(cat "$T/out")" 'a\\x1b\[31m\.env +hidden' "text: is escaped"
rm -f "$WS/$esc"
expect_rc 120 "an agent that is not there" "$AGENTBOX" explain -p "$P" -a three
like "$(cat "$T/err")" "agents with -a: one, two" "is told which are"
expect_rc 125 "no profile" "$AGENTBOX" explain
expect_rc 125 "a word" "$AGENTBOX" explain -p "$P" -a one "$WS"

# --- a network by name
sed 's/^sandbox:/sandbox:\n  network: {allow: ["example.org:443"], deny: ["a.example.org"]}/' "$P" >"$T/named.yaml"
expect_rc 0 "hosts that no rule allows" "$AGENTBOX" explain -p "$T/named.yaml" -a one --json
json_is "$T/out" 'o["network"] == "none" and o["hosts"] is None' "give no network"
sed -i 's/^\(.*\)- {operations: \[execute\].*/&\n\1- {operations: [connect], hosts: ["*"], mode: allow}/' "$T/named.yaml"
expect_rc 0 "hosts that a rule allows" "$AGENTBOX" explain -p "$T/named.yaml" -a one --json
json_is "$T/out" 'o["network"] == "named" and o["hosts"] == ["example.org:443"]' "are named"
expect_rc 0 "as text" "$AGENTBOX" explain -p "$T/named.yaml" -a one
like "$(cat "$T/out")" "network: by name .*: example\.org:443; but not a\.example\.org" "text: the hosts"
# --- one request, by the log
profile asked <<-YAML
	sandbox:
	  roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}]
	permissions:
	  agents:
	    one:
	      rules:
	        - {operations: [execute], commands: ["git push *"], mode: interrupt}
	        - {operations: [execute], commands: ["false"], mode: deny}
	        - {operations: [execute], commands: ["*"], mode: allow}
	        - {operations: [read, write], paths: ["/**"], mode: allow}
	    two: {rules: []}
YAML
last_id() {
	tail -n 1 "$STATE/audit.jsonl" | py -c 'import json, sys; print(json.loads(sys.stdin.read())["request_id"])'
}
# told STATUS COMMAND-OF-RUN... -- PATTERN...: each a line of what explain says of that run
told() {
	local want=$1 run=() id
	shift
	while [ "$1" != == ]; do
		run+=("$1")
		shift
	done
	shift
	expect_rc "$want" "a run: ${run[*]}" ab "${run[@]}"
	id=$(last_id)
	expect_rc 0 "explained" "$AGENTBOX" explain --state "$STATE" "$id"
	cp "$T/out" "$T/told"
	while [ $# -gt 0 ]; do
		like $'\n'"$(cat "$T/told")"$'\n' $'\n'"$1"$'\n' "says: $1"
		shift
	done
	"$AGENTBOX" explain --state "$STATE" "${id:0:16}" --json >"$T/j"
}
told 3 -a one -c 'exit 3' == "request: r[0-9a-f]{32}" "reached policy: yes" "decision: allow .*" "rule: .*asked\.yaml:9" \
	"started: /.*" "exit code: 3" "layer: none"
json_is "$T/j" 'o["layer"] == "none" and o["outcome"]["exit_code"] == 3 and o["start"] and o["reached_policy"]' "as JSON"
told 120 -a one -- false == "decision: deny \(acl_deny: .*" "rule: .*asked\.yaml:8" "started: no" "layer: policy" "to change: the rule .*"
json_is "$T/j" 'o["layer"] == "policy" and o["start"] is None and o["decision"]["code"] == "acl_deny"' "as JSON"
told 120 -a two --on-behalf-of one -- true == "agent: two, on behalf of one" "rule: none" "layer: policy"
told 120 -a three -- true == "agent: three" "decision: deny \(identity: .*" "layer: identity" "to change: give one of .*"
told 122 -a one -- git push origin == "asked for: run_command git push origin" "rule: .*asked\.yaml:7" "layer: policy"
told 121 -a one --workdir "$T/home" -- true == "reached policy: yes" "started: no" "layer: (sandbox|host)" "to change: .*"
told 124 -a one --timeout 100ms -- sleep 120 == "limit: timeout" "layer: sandbox" "to change: sandbox\.limits.*"
told 0 -a one -- echo $'\e[31m\nlayer: forged' == "layer: none" 'asked for: .*\\x1b.*\\x0alayer: forged.*'
unlike "$(cat "$T/told")" $'\e' "nothing that a terminal obeys"
expect_rc 125 "a request that is not in the log" "$AGENTBOX" explain --state "$STATE" r0123456789
like "$(cat "$T/err")" "knows no request 'r0123456789'" "is said"
id=$(last_id)
expect_rc 125 "too little of an id" "$AGENTBOX" explain --state "$STATE" "${id:0:7}"
expect_rc 125 "an id and a profile" "$AGENTBOX" explain --state "$STATE" "$id" -p "$P"
expect_rc 125 "no log" "$AGENTBOX" explain --state "$T/none" "$id"
done_testing
