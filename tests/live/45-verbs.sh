#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The verbs that look at a profile and run nothing: test.
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
done_testing
