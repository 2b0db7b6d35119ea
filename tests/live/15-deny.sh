#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who is denied, how, and that a denial makes no process and no namespace. R005, R006, R014,
# R016, R019; check and run agree.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
mkdir -p "$T/data/alice" "$T/data/bob"
echo n >"$T/data/alice/n"
profile two <<YAML
version: 1
sandbox:
  roots: ["$T/data/alice", "$T/data/bob", {path: "$T/bin", mode: ro}]
permissions:
  policy_model: rules
  agents:
    alice:
      rules:
        - {operations: [read, write], paths: ["$T/data/alice/**"], mode: allow}
        - {operations: [read], paths: ["$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
    bob:
      rules:
        - {operations: [read], paths: ["$T/data/bob/**"], mode: allow}
    carol:
      rules:
        - {operations: [execute], commands: ["git *", "true"], mode: allow}
    dora:
      rules:
        - {operations: [execute], commands: ["true"], mode: interrupt}
YAML
c() {
	XDG_STATE_HOME=$T "$AGENTBOX" check -p "$P" "$@"
}
expect_rc 0 "alice reads (control)" c -a alice read_file "$T/data/alice/n"
expect_rc 120 "a role or unknown name is nobody" c -a admin read_file "$T/data/alice/n"
expect_rc 120 "a prefix of an id is nobody" c -a ali read_file "$T/data/alice/n"
expect_rc 120 "ids are case-sensitive" c -a Alice read_file "$T/data/alice/n"
expect_rc 120 "an empty id is nobody" c -a '' read_file "$T/data/alice/n"
expect_rc 120 "an action in the wrong case" c -a alice Read_File "$T/data/alice/n"
expect_rc 120 "an unknown action" c -a alice frobnicate "$T/data/alice/n"
expect_rc 120 "an action that is not listed" c -a bob write_file "$T/data/bob/n"
expect_rc 0 "one that is (control)" c -a bob read_file "$T/data/bob/n"
expect_rc 120 "a path that no rule matches" c -a alice read_file /outside/x
expect_rc 120 "another agent's" c -a alice read_file "$T/data/bob/n"
expect_rc 120 "a sibling with the same prefix" c -a alice read_file "$T/data/alice2/n"
for p in "$T/data/bob/../alice/n" "$T/data/alice/./n" "$T/data//alice/n" "$T/data/alice/../../bob"; do
	expect_rc 120 "a path that is not canonical: ${p#"$T"}" c -a alice read_file "$p"
done
c --json -a alice read_file "$T/data/alice/../n" >"$T/j" 2>/dev/null
json_is "$T/j" 'o["decision"] == "deny" and o["code"] == "invalid_path"' "is invalid_path"
c --json -a alice read_file /outside/x >"$T/j" 2>/dev/null
json_is "$T/j" 'o["decision"] == "deny" and "no matching rule" in o["reason"]' "a default denial says so"
c --json -a alice read_file "$T/data/alice/n" >"$T/j" 2>/dev/null
json_is "$T/j" 'set(o) >= {"principal", "action", "resource", "context", "delegation", "decision", "code", "reason"} and o["decision"] == "allow"' "check --json has every field"
expect_rc 120 "none named and several declared" c read_file "$T/data/alice/n"

export AGENTBOX_AGENT=alice USER=alice LOGNAME=alice
expect_rc 120 "the environment names nobody" ab -- true
(exec -a alice "$AGENTBOX" run --state "$STATE" -p "$P" -- true) >"$T/out" 2>"$T/err"
is $? 120 "argv[0] neither"
expect_rc 0 "--agent does (control)" ab -a alice -- true
expect_rc 120 "run: bob may not execute" ab -a bob -- cat "$T/data/alice/n"
unlike "$(cat "$T/out" "$T/err")" "$P:|rules" "the caller's reason has no rule text"
expect_rc 0 "run: carol may start true" ab -a carol -- true
expect_rc 120 "run: carol may not start sh" ab -a carol -- sh -c true
expect_rc 120 "run: nor -c" ab -a carol -c true
expect_rc 120 "run: nor a true of her own" ab -a carol -- "$T/bin/true"
expect_rc 122 "run: dora's needs an approval" ab -a dora -- true
expect_rc 122 "check says the same" c -a dora run_command true
expect_rc 120 "run: an --agent that nobody is" ab -a nobody -- true
expect_rc 125 "run: two --agent" ab -a alice -a carol -- true
like "$(cat "$T/err")" "'--agent' is given twice" "are told"

# --- no process and no namespace on a denial (R016)
count() { # ARGS...: namespaces asked for
	ASAN_OPTIONS=detect_leaks=0 "$INJECT" --trace -- "$AGENTBOX" run --state "$STATE" -p "$P" "$@" 2>&1 >/dev/null |
		grep -cE '^[0-9]+ (clone3?|fork|vfork|unshare|setns)\('
}
if [ -n "${INJECT:-}" ] && ASAN_OPTIONS=detect_leaks=0 "$INJECT" --trace -- true >/dev/null 2>&1; then
	is "$(count -a bob -- cat "$T/data/alice/n")" 0 "a denial makes no process and no namespace"
	is "$(count -a stranger -- true)" 0 "nor does an unknown agent"
	is "$(count -a dora -- true)" 0 "nor a request that waits"
	is "$(($(count -a alice -- true) > 0))" 1 "a run does (control)"
else
	skip "a denial makes no process" "no system call tracer for this machine"
fi

# --- profiles that would weaken the default
for bad in 'default_deny: false, agents: {me: allow}' 'default_deny: no, agents: {me: allow}' \
	'agents: {me: allow, me: allow}' 'agents: {me: Allow}' \
	'agents: {me: {rules: [{operations: [Read], paths: ["/x"], mode: allow}]}}' \
	'agents: {me: {rules: [{operations: [read], paths: ["x"], mode: allow}]}}' \
	'agents: {me: {rules: [{operations: [read], paths: ["/x/../y"], mode: allow}]}}'; do
	profile bad <<<"sandbox: {roots: [{path: \"$WS\", mode: rw}]}
permissions: {$bad}"
	expect_rc 125 "permissions: {$bad}" ab -- touch "$WS/ran"
	check_not "nothing ran" test -e "$WS/ran"
done
profile nobody <<<"sandbox: {roots: [{path: \"$WS\", mode: rw}]}
permissions: {agents: {}}"
expect_rc '120|125' "no agent at all" ab -- touch "$WS/ran"
check_not "nothing ran" test -e "$WS/ran"
profile empty <<<"sandbox: {roots: [{path: \"$WS\", mode: rw}]}
permissions: {agents: {me: {rules: []}}}"
expect_rc 120 "an agent without rules has nothing" ab -- touch "$WS/ran"
check_not "nothing ran" test -e "$WS/ran"
no_sandbox_left "nothing is left"
done_testing
