#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The verbs that look at a profile and run nothing: test, lint, profiles.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
profile tested <<-YAML
	params:
	  data: {type: path}
	sandbox:
	  roots: [{path: "\${data}", at: /data}]
	permissions:
	  agents:
	    reader: {rules: [{operations: [read], paths: ["/data/**"], mode: allow}]}
	    none: {rules: []}
	tests:
	  - {agent: reader, action: read_file, resource: /data/x, decision: allow}
	  - {agent: reader, action: write_file, resource: /data/x, decision: deny, code: acl_deny}
	  - {agent: nobody, action: read_file, resource: "/data/# SKIP", decision: deny, code: identity}
YAML
expect_rc 0 "tests that hold" "$AGENTBOX" test "$P"
like "$(cat "$T/out")" "^ok 1 - $P:10: reader read_file /data/x: allow" "TAP: a line for each"
like "$(cat "$T/out")" $'\n1\.\.3$' "TAP: the plan"
unlike "$(cat "$T/out")" "[^\\]# SKIP" "TAP: a resource is no directive"
expect_rc 0 "with the parameter" "$AGENTBOX" test --param "data=$WS" "$P"
expect_rc 125 "with one that is not declared" "$AGENTBOX" test -w "$WS" "$P"
sed 's/mode: allow/mode: deny/' "$P" >"$T/failing.yaml"
expect_rc 1 "one that does not hold" "$AGENTBOX" test "$T/failing.yaml"
like "$(cat "$T/out")" $'\n'?"not ok 1 - .*failing.yaml:10: " "is told"
like "$(cat "$T/out")" "failing.yaml:10:5: got deny \(acl_deny\): denied by a rule, at .*failing.yaml:7" "with what came and by which rule"
like "$(cat "$T/out")" $'\n'"ok 2 - " "the others go on"
expect_rc 1 "as JSON" "$AGENTBOX" test --json "$P" "$T/failing.yaml"
json_is "$T/out" '(o["version"], o["ok"], o["passed"], o["failed"], len(o["tests"])) == (1, False, 5, 1, 6)' "counts"
json_is "$T/out" '[t["ok"] for t in o["tests"]] == [True] * 3 + [False] + [True] * 2 and o["tests"][3]["rule"].endswith("failing.yaml:7")' "each test"
sed '/^tests:/,$d' "$P" >"$T/untested.yaml"
expect_rc 1 "a profile without tests proves nothing" "$AGENTBOX" test "$T/untested.yaml"
like "$(cat "$T/out")" "not ok 1 - .*it has no tests" "and says so"
expect_rc 125 "no profile" "$AGENTBOX" test
expect_rc 125 "one that is not there" "$AGENTBOX" test "$T/absent.yaml"
expect_rc 0 "help" "$AGENTBOX" test --help
# Whose tests a run reads and does not need.
sed 's/agent: reader/agnt: reader/' "$P" >"$T/misspelt.yaml"
expect_rc 125 "a misspelt key of a test" "$AGENTBOX" check -p "$T/misspelt.yaml" --param "data=$WS" -a reader read_file /data/x
expect_rc 0 "the same, spelt well (control)" "$AGENTBOX" check -p "$P" --param "data=$WS" -a reader ls /data
expect_rc 125 "profiles takes no word" "$AGENTBOX" profiles x

# --- lint
for p in $("$AGENTBOX" profiles); do
	expect_out "" "lint: nothing about the shipped $p" "$AGENTBOX" lint "$p"
	is "$(cat "$T/err")" "" "lint: $p: no warning either"
done
profile wrong <<-YAML
	sandbox:
	  roots: ["$WS"]
	  commands: [git, sh]
	permissions:
	  agents:
	    me:
	      rules:
	        - {operations: [read], paths: ["$WS/**"], mode: allow}
	        - {operations: [read], paths: ["$WS/**"], mode: deny}
YAML
expect_rc 0 "lint: warnings alone" "$AGENTBOX" lint "$P"
like "$(cat "$T/err")" "agentbox: $P:3:19: warning: 'sh' lets 'sh' start" "lint: with their place"
like "$(cat "$T/err")" "wrong\.yaml:9:11: warning: .*shadowed by the allow rule at line 8" "lint: both lines of a shadowed rule"
expect_rc 0 "lint: as JSON" "$AGENTBOX" lint --json "$P"
json_is "$T/out" 'o["ok"] and o["profiles"][0]["error"] is None and [(w["check"], w["line"]) for w in o["profiles"][0]["warnings"]] == [("shell", 3), ("shadowed", 9)]' "lint: each of them"
sed 's/sandbox:/sandbx:/' "$P" >"$T/broken.yaml"
expect_rc 125 "lint: one broken and one whole" "$AGENTBOX" lint "$T/broken.yaml" "$P"
like "$(cat "$T/err")" "broken\.yaml:1:1: unknown key 'sandbx'" "lint: the broken one"
like "$(cat "$T/err")" "wrong\.yaml:3:19: warning" "lint: and the other"
expect_rc 125 "lint: the same as JSON" "$AGENTBOX" lint --json "$T/broken.yaml" "$P"
json_is "$T/out" 'not o["ok"] and (o["profiles"][0]["error"]["line"], o["profiles"][0]["error"]["col"]) == (1, 1) and len(o["profiles"][1]["warnings"]) == 2' "lint: both"
expect_rc 125 "lint: one that is not there" "$AGENTBOX" lint "$T/absent.yaml"
expect_rc 125 "lint: no profile" "$AGENTBOX" lint
expect_rc 125 "lint: too many ways to print" "$AGENTBOX" lint --dump --hashes "$P"

# --- lint --from-deepagents
import() { # JSON: the profile becomes P, with its roots below $T/i
	local rc=0
	printf '%s' "$1" >"$T/rules.json"
	P=$T/imported.yaml
	"$AGENTBOX" lint --from-deepagents "$T/rules.json" >"$P" 2>"$T/err" || rc=$?
	sed -i -E "s#path: \"(/[a-z]+)\", optional: true#path: \"$T/i\1\", at: \"\1\"#" "$P"
	return "$rc"
}
mkdir -p "$T"/i/{workspace,reports,data,w,v}
import '[{"operations": ["read", "write"], "paths": ["/workspace/.env", "/secrets/**"], "mode": "deny"},
	{"operations": ["write"], "paths": ["/reports/**"], "mode": "interrupt"},
	{"operations": ["read"], "paths": ["/workspace/**", "/reports/**"]},
	{"operations": ["write"], "paths": ["/workspace/**"], "mode": "allow"},
	{"operations": ["read", "write"], "paths": ["/**"], "mode": "deny"}]'
is $? 0 "import: a list of rules"
like "$(cat "$T/err")" "allowed there and is denied in this profile" "import: the turned default is said"
expect_rc 0 "import: the profile loads" "$AGENTBOX" lint "$P"
is "$(cat "$T/err")" "" "import: and has no warning"
while read -r rc action path; do
	expect_rc "$rc" "import: $action $path" "$AGENTBOX" check -p "$P" "$action" "$path"
done <<-'ROWS'
	0 read_file /workspace/a
	0 write_file /workspace/a
	120 read_file /workspace/.env
	120 write_file /secrets/x
	122 write_file /reports/q
	0 read_file /reports/q
	120 read_file /elsewhere/x
	120 read_file /secrets/.token
	120 read_file /root/.ssh/id_rsa
	120 write_file /outside/.bashrc
ROWS
import '{"permissions": [{"operations": ["write"], "paths": ["/**"], "mode": "deny"}]}'
is $? 0 "import: rules as permissions"
like "$(cat "$T/err")" "allows a path, so nothing is granted" "import: and that none allows anything"
expect_rc 120 "import: what they left open is denied" "$AGENTBOX" check -p "$P" read_file /workspace/a
import '{"allowed_paths": ["/workspace/", "/data"]}'
expect_rc 0 "import: allowed_paths" "$AGENTBOX" check -p "$P" write_file /workspace/a
expect_rc 120 "import: and not beside them" "$AGENTBOX" check -p "$P" write_file /workspace2/a
import '{"agents": {"alice": {"allowed_paths": ["/w"], "allowed_actions": ["read_file"]}, "bob": {"allowed_paths": ["/v"]}}}'
expect_rc 0 "import: several agents" "$AGENTBOX" check -p "$P" -a alice read_file /w/x
expect_rc 120 "import: each its actions" "$AGENTBOX" check -p "$P" -a alice write_file /w/x
expect_rc 120 "import: each its paths" "$AGENTBOX" check -p "$P" -a bob read_file /w/x
# refused JSON MESSAGE
refused() {
	import "$1"
	is "$?:$(cat "$P")" "125:" "import: refused, and nothing printed"
	like "$(cat "$T/err")" "rules\.json: ?$2" "import: $2"
}
refused '[{"operations": ["read"], "paths": ["/a"]}, {"operations": ["read"], "paths": ["w/**"]}]' "rule 2: .*must start with '/'"
refused '[{"operations": ["read"], "paths": ["/a/../b"]}]' "rule 1: .*'\.\.'"
refused '[{"operations": ["execute"], "paths": ["/a"]}]' "rule 1: .*not 'execute'"
refused '[{"operations": ["read"], "paths": ["/a"], "mode": "ask"}]' "rule 1: 'mode'"
refused '[{"operations": ["read"], "paths": ["/a"], "effect": "deny"}]' "rule 1: unknown key 'effect'"
refused '[{"operations": ["read"], "paths": []}]' "rule 1: 'paths' must be a list"
refused '[]' "there is no rule"
refused '{"rules": []}' "neither a list"
refused '{"allowed_paths": ["/a"], "denied_paths": ["/b"]}' ".*unknown key 'denied_paths'"
refused '{"agents": {"a": {"allowed_paths": ["/a"], "allowed_actions": ["fly"]}}}' "agent 'a': .*fly"
refused '[{"operations": ["read"], "paths": ["/a"]}' "1:[0-9]+: no JSON"
refused '[{"operations": ["read"], "paths": ["/a\nx: y"]}]' "rule 1: "
expect_rc 125 "import: no such file" "$AGENTBOX" lint --from-deepagents "$T/absent.json"
expect_rc 125 "import: beside a profile" "$AGENTBOX" lint --from-deepagents "$T/rules.json" default

# --- lint --hashes and --dump
expect_rc 125 "hashes: not without the values that a run has" "$AGENTBOX" lint --hashes default
expect_rc 0 "hashes" "$AGENTBOX" lint --hashes -w "$WS" review
cp "$T/out" "$T/hashes"
json_is "$T/hashes" 'o["sandbox_sha256"] != o["permissions_sha256"] and [f["file"] for f in o["files"]] == ["builtin:" + n for n in ("review", "agent", "build", "default")]' "hashes: of blocks and files"
expect_rc 0 "hashes: a run has the same" "$AGENTBOX" run --state "$STATE" -p review -w "$WS" --json -- true
for h in sha256 sandbox_sha256 permissions_sha256; do
	is "$(json_get "$T/out" "o['profile']['$h']")" "$(json_get "$T/hashes" "o['$h']")" "hashes: $h"
done
expect_rc 0 "hashes: and --expect-sha256 takes it" "$AGENTBOX" run --state "$STATE" -p review -w "$WS" \
	--expect-sha256 "$(json_get "$T/hashes" 'o["sha256"]')" -- true
"$AGENTBOX" lint --dump -w "$WS" review >"$T/dumped.yaml"
expect_rc 0 "dump: is a profile" "$AGENTBOX" lint --hashes "$T/dumped.yaml"
for h in sandbox_sha256 permissions_sha256; do
	is "$(json_get "$T/out" "o['$h']")" "$(json_get "$T/hashes" "o['$h']")" "dump: with the same $h"
done
"$AGENTBOX" lint --dump review >"$T/open.yaml"
while read -r rc name; do
	name=$(printf %b "$name")
	mkdir -p "$T/odd/$name"
	expect_rc "$rc" "dump: a value with $(printf %q "$name")" "$AGENTBOX" lint --dump -w "$T/odd/$name" default
	cp "$T/out" "$T/odd.yaml"
	if [ "$rc" = 0 ]; then
		expect_rc 0 "dump: is a profile" "$AGENTBOX" lint --hashes "$T/odd.yaml"
	else
		is "$(cat "$T/out")" "" "dump: nothing is printed"
		like "$(cat "$T/err")" "not UTF-8, or control characters" "dump: and why"
		is "$(LC_ALL=C tr -d '\n\040-\176' <"$T/err" | wc -c)" 0 "dump: without a byte that a terminal obeys"
	fi
done <<-'ROWS'
	0 a_b
	0 a\nb
	0 \xc3\xa9
	125 a\xffb
	125 a\x1b[31m
	125 a\xe2\x80\xaeb
ROWS
# Left to the parameter a tab is fine; written out it would be refused where it is read.
mkdir -p "$T/odd/a	b/sub"
printf 'version: 1\nparams: {dir: {type: path, required: true}}\nsandbox: {roots: [{path: "%s", at: /w}]}\npermissions: {agents: {a: allow}}\n' '${dir}' >"$T/tab.yaml"
expect_rc 0 "dump: a tab in a parameter" "$AGENTBOX" lint --dump --param dir="$T/odd/a	b" "$T/tab.yaml"
cp "$T/out" "$T/odd.yaml"
expect_rc 0 "dump: is a profile" "$AGENTBOX" lint --hashes "$T/odd.yaml"
sed 's|"${dir}"|".${dir}/sub"|' "$T/tab.yaml" >"$T/tab-below.yaml"
expect_rc 125 "dump: a tab that must be written out" "$AGENTBOX" lint --dump --param dir="$T/odd/a	b" "$T/tab-below.yaml"
is "$(cat "$T/out")" "" "dump: nothing is printed"
like "$(cat "$T/err")" "control characters" "dump: and why"
expect_rc 125 "dump: without the value it is asked for" "$AGENTBOX" lint --hashes "$T/open.yaml"
expect_rc 0 "dump: and is taken" "$AGENTBOX" lint --hashes -w "$WS" "$T/open.yaml"
is "$(json_get "$T/out" 'o["sandbox_sha256"]')" "$(json_get "$T/hashes" 'o["sandbox_sha256"]')" "dump: with the same sandbox"
done_testing
