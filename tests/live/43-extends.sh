#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A profile in several files: each is trusted, hidden and hashed like the first.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
cat >"$WS/limits.yaml" <<-YAML
	hostname: pulled
	roots:
	  - {path: "$WS", mode: rw}
	  - {path: "$T/bin", mode: ro}
YAML
cat >"$WS/who.yaml" <<-YAML
	permissions: {agents: {me: allow}}
YAML
profile whole <<-YAML
	extends: [ws/who.yaml]
	sandbox_file: ws/limits.yaml
YAML
expect_out pulled "a profile in three files" ab -- hostname
inside N "a pulled in file is not read" read "$WS/who.yaml"
inside N "nor written" write "$WS/who.yaml" x
inside N "nor a block's file" read "$WS/limits.yaml"
inside N "nor renamed" rename "$WS/limits.yaml" "$WS/other.yaml"
cp "$WS/who.yaml" "$WS/plain.yaml"
inside Y "a file that nothing pulls in is read (control)" read "$WS/plain.yaml"
inside Y "and renamed" rename "$WS/plain.yaml" "$WS/other.yaml"
check "the files are as they were" grep -q "agents: {me: allow}" "$WS/who.yaml"
expect_rc 120 "check says the same of it" "$AGENTBOX" check -p "$P" read_file "$WS/who.yaml"
expect_rc 0 "and allows the other (control)" "$AGENTBOX" check -p "$P" read_file "$WS/other.yaml"

# --- one digest for all files
expect_rc 0 "a result" ab --json -- true
hash=$(json_get "$T/out" 'o["profile"]["sha256"]')
expect_rc 0 "the expected digest" ab --expect-sha256 "$hash" -- true
echo "# changed" >>"$WS/who.yaml"
expect_rc 125 "another byte in a pulled in file" ab --expect-sha256 "$hash" -- touch "$WS/ran"
like "$(cat "$T/err")" "and the files that it pulls in have SHA-256" "is told"
check_not "and runs nothing" test -e "$WS/ran"
chmod 666 "$WS/who.yaml"
expect_rc 125 "a pulled in file that others may write" ab -- touch "$WS/ran"
like "$(cat "$T/err")" "whole\.yaml:1:11: .*ws/who\.yaml can be written by others" "is told, with who names it"
check_not "and runs nothing" test -e "$WS/ran"
chmod 644 "$WS/who.yaml"
expect_rc 0 "the same, closed (control)" ab -- true

# --- a way that a program could lay anew: a link, or a directory that ".." leaves
mkdir -p "$T/far" "$WS/sub"
printf 'sandbox: {roots: ["%s", "%s"]}\npermissions: {agents: {me: allow}}\n' "$WS" "$T/bin" >"$T/far/base.yaml"
chmod 644 "$T/far/base.yaml"
ln -s "$T/far" "$WS/conf"
ln -s "$T/far" "$T/outside"
P=$T/outside/base.yaml
expect_rc 0 "by a link of the caller's elsewhere (control)" ab -- "$PROBE" write "$WS/ran" x
rm -f "$WS/ran"
P=$WS/conf/base.yaml
expect_rc 125 "by a link in a writable root" ab -- "$PROBE" write "$WS/ran" x
like "$(cat "$T/err")" "reached through a link in a writable root: name its real path" "says why"
cp "$T/far/base.yaml" "$WS/base.yaml"
P=$WS/base.yaml
expect_rc 0 "a profile in a writable root (control)" ab -- "$PROBE" write "$WS/ran" x
rm -f "$WS/ran"
P=$WS/sub/../base.yaml
expect_rc 125 "by a directory in one and back" ab -- "$PROBE" write "$WS/ran" x
like "$(cat "$T/err")" "reached through '\.\.' in a writable root" "says why"
profile way <<-YAML
	extends: ["$WS/conf/base.yaml"]
YAML
expect_rc 125 "extends by such a link" ab -- "$PROBE" write "$WS/ran" x
check "nothing ran" test ! -e "$WS/ran"
rm -rf "$WS/conf" "$WS/sub" "$WS/base.yaml"

# --- shipped ones by name, and extended
cd "$T" || exit 1
expect_rc 0 "a shipped profile by its name" "$AGENTBOX" run --state "$STATE" -p default -w "$WS" -- touch "$WS/ran"
check "runs" test -e "$WS/ran"
rm -f "$WS/ran"
expect_rc 125 "./default is a file" "$AGENTBOX" run --state "$STATE" -p ./default -w "$WS" -- true
expect_rc 125 "a misspelt name" "$AGENTBOX" run --state "$STATE" -p defaultx -w "$WS" -- true
like "$(cat "$T/err")" "did you mean the shipped 'default'" "is told"
profile least <<<'extends: [builtin:default]'
expect_rc 0 "the least profile" ab -w "$WS" -- touch "$WS/ran"
check "runs" test -e "$WS/ran"
rm -f "$WS/ran"
expect_rc 125 "without -w" ab -- true
like "$(cat "$T/err")" "builtin:default:[0-9]+:3: param 'workspace' is required: give -w" "says where it is asked for"
profile override <<-YAML
	extends: [builtin:default]
	permissions:
	  agents:
	    agent: {override: true, rules: [{operations: [read], paths: ["/**"], mode: allow}]}
YAML
expect_rc 120 "an agent that is overridden" ab -w "$WS" -- true
expect_rc 0 "may what the new rules say" "$AGENTBOX" check -p "$P" -w "$WS" read_file "$WS/x"
done_testing
