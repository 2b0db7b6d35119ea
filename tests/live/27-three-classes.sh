#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The short form as it is published, with run_command and its commands added: what is allowed, what
# the policy denies (and then nothing is built, R016), what the sandbox has not got, and the control:
# the same sandbox with a policy that grants it.
. "${0%/*}/lib.sh"
as_callers
D=$T/data
mkdir -p "$D/workspace/alice" "$D/reports" "$D/elsewhere"
echo notes >"$D/workspace/alice/notes.txt"
echo q3 >"$D/reports/q3.md"
echo e >"$D/elsewhere/e"
base_profile
ab --json -- true >"$T/json"
COMMANDS='allowed_commands: [cat, sh]'
if [ "$(json_get "$T/json" "o['mechanisms']['landlock']")" = none ]; then
	note "without Landlock there is no list of commands"
	COMMANDS=
fi
short() { # NAME ROOTS-OF-ALICE ROOTS-OF-BOB
	profile "$1" <<-YAML
		sandbox:
		  runtime: subprocess
		  $COMMANDS
		  allowed_roots: ["$D/workspace/alice", "$D/reports"]
		  allow_network: false
		  max_output_bytes: 65536
		  timeout_seconds: 30
		permissions:
		  default_deny: true
		  policy_model: list_acl
		  agents:
		    alice:
		      allowed_actions: [read_file, write_file, run_command]
		      allowed_roots: [$2]
		    bob:
		      allowed_actions: [read_file, run_command]
		      allowed_roots: [$3]
		    carol:
		      allowed_actions: [read_file]
		      allowed_roots: [$2]
	YAML
}
short three "\"$D/workspace/alice\"" "\"$D/reports\""
N=$D/workspace/alice/notes.txt
c() {
	"$AGENTBOX" check -p "$P" "$@"
}

# --- allowed
expect_rc 0 "alice may read her notes" c -a alice read_file "$N"
expect_out notes "and does" ab -a alice -- cat "$N"
expect_out "" "and writes there" ab -a alice -- sh -c "echo more >$D/workspace/alice/new"
check "which the host sees" test -e "$D/workspace/alice/new"

# --- a policy denial
expect_rc 120 "bob may not" c -a bob read_file "$N"
is "$(cat "$T/out")" "deny: no matching rule" "and is told no more"
expect_rc 1 "for his programs it does not exist" ab -a bob -- cat "$N"
like "$(cat "$T/err")" "No such file" "which they say"
expect_out q3 "while he reads what he may (control)" ab -a bob -- cat "$D/reports/q3.md"
expect_rc 120 "carol may run nothing at all" ab -a carol -- cat "$N"
if command -v strace >/dev/null && strace -o "$T/trace" true 2>/dev/null; then
	calls() { # AGENT: the namespaces that the launcher asks for
		strace -f -e trace=clone,clone3,unshare,fork,vfork -o "$T/trace" "$AGENTBOX" run \
			--state "$STATE" -p "$P" -a "$1" -- cat "$N" >/dev/null 2>&1
		grep -c 'CLONE_NEW' "$T/trace"
	}
	is "$(calls carol)" 0 "a policy denial builds no namespace"
	unlike "$(calls alice)" "^0$" "an allowed run does (control)"
	strace -f -e trace=clone,clone3,fork,vfork -o "$T/trace" "$AGENTBOX" run --state "$STATE" \
		-p "$P" -a carol -- cat "$N" >/dev/null 2>&1
	is "$(grep -c 'clone\|fork' "$T/trace")" 0 "and starts no process"
else
	skip "what the launcher asks of the kernel" "no strace here"
fi

# --- wider than the sandbox
short wider "\"$D/workspace/alice\", \"$D/elsewhere\"" "\"$D/reports\""
expect_rc 121 "what policy allows and the sandbox has not" c -a alice read_file "$D/elsewhere/e"
"$AGENTBOX" check --json -p "$P" -a alice read_file "$D/elsewhere/e" >"$T/j"
json_is "$T/j" 'o["layer"] == "sandbox" and o["code"] == "sandbox_deny"' "is the sandbox's denial"
expect_rc "1|125" "programs do not find it" ab -a alice -- cat "$D/elsewhere/e"
expect_rc 0 "the rest is as before (control)" c -a alice read_file "$N"

# --- the control: nothing but the policy differs
short control "\"$D/workspace/alice\"" "\"$D/reports\", \"$D/workspace/alice\""
expect_rc 0 "where policy grants it, bob may" c -a bob read_file "$N"
expect_out notes "and does" ab -a bob -- cat "$N"
expect_rc "1|2" "but writes nothing there" ab -a bob -- sh -c "echo x >$D/workspace/alice/x"
done_testing
