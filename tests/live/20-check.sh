#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# agentbox check: one decision with its exit status and its JSON form, each denial beside the same
# thing allowed. R004 to R009, R019. What it says is what `run` does.
. "${0%/*}/lib.sh"
as_callers
D=$T/data
mkdir -p "$D/alice/sub" "$D/alice2" "$D/bob" "$D/reports" "$T/secret"
for f in alice/notes.txt alice/.env alice/.npmrc alice2/x bob/n reports/q3.md; do
	echo "$f" >"$D/$f"
done
echo s >"$T/secret/s"
profile two <<YAML
version: 1
sandbox:
  roots:
    - {path: "$D/alice", at: /data/workspace/alice, mode: rw}
    - {path: "$D/alice2", at: /data/workspace/alice2}
    - {path: "$D/bob", at: /data/workspace/bob}
    - {path: "$D/reports", at: /data/reports, mode: ro}
  network: host
permissions:
  policy_model: rules
  agents:
    alice:
      rules:
        - {operations: [read, write], paths: ["/data/workspace/alice/**"], mode: allow}
        - {operations: [write], paths: ["/data/reports/**", "/usr/**"], mode: allow}
        - {operations: [read], paths: ["/data/reports/**", "/outside/**", "/usr/**"], mode: allow}
        - {operations: [execute], commands: ["git push *", "sh"], mode: deny}
        - {operations: [execute], commands: ["ls", "cat *", "sh -c true", "true"], mode: allow}
        - {operations: [execute], commands: ["id"], mode: interrupt}
        - {operations: [connect], hosts: ["*"], mode: allow}
    bob:
      rules:
        - {operations: [read], paths: ["/data/workspace/bob/**", "/data/reports/**"], mode: allow}
        - {operations: [read], paths: ["/data/workspace/alice2/**"], mode: interrupt}
YAML
A=/data/workspace/alice
c() {
	"$AGENTBOX" check -p "$P" "$@"
}
said() { # TEXT DESCRIPTION: what the last expect_rc printed
	is "$(cat "$T/out")" "$1" "$2"
}
decides() { # EXPRESSION DESCRIPTION ARGS...
	local expr="($1)" desc=$2
	shift 2
	"$AGENTBOX" check --json -p "$P" "$@" >"$T/j" 2>"$T/err"
	json_is "$T/j" "$expr" "$desc"
}

# --- identity (R005)
expect_rc 0 "alice reads her notes" c -a alice read_file $A/notes.txt
said "allow: allowed by a rule" "and is told so"
expect_rc 120 "admin is nobody" c -a admin read_file $A/notes.txt
said "deny: unknown agent" "and is told so"
expect_rc 120 "nobody is implied among two" c read_file $A/notes.txt
expect_rc 120 "ids are exact" c -a Alice read_file $A/notes.txt
expect_rc 125 "an id that is declared twice" "$AGENTBOX" check -p "$LIVE/profiles/dup-agent.yaml" \
	-a a read_file /x

# --- actions (R006)
for a in read_file ls glob grep download; do
	expect_rc 0 "alice: $a" c -a alice "$a" $A/notes.txt
done
for a in write_file edit_file delete upload; do
	expect_rc 0 "alice: $a" c -a alice "$a" $A/notes.txt
	expect_rc 120 "bob, who may read only: $a" c -a bob "$a" /data/workspace/bob/n
done
for a in Read_File READ_FILE read_files readfile '' 'read_file '; do
	expect_rc 120 "no action: '$a'" c -a alice "$a" $A/notes.txt
	said "deny: unknown action" "and it is told so"
done
expect_rc 120 "host tools are nobody's" c -a alice host_run anything

# --- canonical paths only (R007)
# shellcheck disable=SC2088 # meant as it stands
for p in $A/../bob/n $A/./notes.txt $A//notes.txt $A/notes.txt/ $A/.. notes.txt ./notes.txt \
	"~/notes.txt" '' //; do
	expect_rc 120 "not canonical: '$p'" c -a alice read_file "$p"
	said "deny: the path is not canonical" "and it is told so"
done
expect_rc 0 "canonical (control)" c -a alice read_file $A
expect_rc 120 "another case is another path" c -a alice read_file /data/workspace/Alice/notes.txt

# --- links (R008)
ln -s notes.txt "$D/alice/inner"
ln -s "$T/secret" "$D/alice/out"
ln -s /etc "$D/alice/etc"
ln -s ../bob/n "$D/alice/to-bob"
ln -s nowhere "$D/alice/dangling"
expect_rc 0 "a link within the root" c -a alice read_file $A/inner
expect_rc "120|121" "a link to where no root is" c -a alice read_file $A/out/s
expect_rc 120 "a link into the base that she may not read" c -a alice read_file $A/etc/passwd
expect_rc 120 "a link into another agent's root" c -a alice read_file $A/to-bob
expect_rc 0 "which bob may read (control)" c -a bob read_file /data/workspace/bob/n
expect_rc "120|121" "a dangling link" c -a alice write_file $A/dangling
expect_rc 0 "a new file (control)" c -a alice write_file $A/new

# --- by component (R009)
expect_rc 120 "a sibling with the same prefix" c -a alice read_file /data/workspace/alice2/x
expect_rc 120 "a shorter one" c -a alice read_file /data/workspace/alic
expect_rc 0 "deeper down (control)" c -a alice read_file $A/sub
expect_rc 122 "one that waits for a person" c -a bob read_file /data/workspace/alice2/x
said "interrupt: a person must approve this first" "and is told so"

# --- default deny (R019), and what the sandbox does not grant
expect_rc 120 "a path that no rule names" c -a bob read_file /outside/x
said "deny: no matching rule" "and it is told so"
expect_rc 121 "one that a rule allows, but no root holds" c -a alice read_file /outside/x
said "deny: outside what the sandbox grants" "and it is told so"
expect_rc 121 "writing in a read-only root, allowed by a rule" c -a alice write_file /data/reports/q3.md
expect_rc 0 "reading there (control)" c -a alice read_file /data/reports/q3.md
expect_rc 0 "bob too" c -a bob read_file /data/reports/q3.md
expect_rc 120 "bob does not write there" c -a bob write_file /data/reports/q3.md
expect_rc 0 "where a directory is missing the rules answer" c -a alice read_file $A/no/such/x
expect_rc 120 "for whom they deny it too" c -a bob read_file $A/no/such/x
expect_rc 121 "which is not so outside" c -a alice read_file /outside/no/such
expect_rc "120|121" "nor behind a link" c -a alice read_file $A/dangling/no/such
expect_rc 0 "the base, where a rule allows it" c -a alice read_file /usr/bin/env
expect_rc 121 "but not writing" c -a alice write_file /usr/bin/env
expect_rc 125 "a profile that allows by default" "$AGENTBOX" check \
	-p "$LIVE/profiles/default-allow.yaml" read_file /x

check_not "no check writes an audit log" test -e "$STATE"

# --- protected names
expect_rc 120 "a hidden name" c -a alice read_file $A/.env
said "deny: the path is protected" "and it is told so"
expect_rc 0 "an exception from it (control)" c -a alice read_file $A/.env.example
expect_rc 120 "a frozen one is not written" c -a alice write_file $A/.npmrc
expect_rc 0 "but read (control)" c -a alice read_file $A/.npmrc
expect_rc 0 "below the top it is any name" c -a alice read_file $A/sub/.env
ln -s secret-of-env "$D/alice/.env.link"
echo x >"$D/alice/secret-of-env"
expect_rc 120 "a hidden name that is a link" c -a alice read_file $A/.env.link
expect_rc 120 "what it leads to, by its own name" c -a alice read_file $A/secret-of-env
rm "$D/alice/.env.link"
expect_rc 0 "without the link (control)" c -a alice read_file $A/secret-of-env
two=$P
profile in-root <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
mv "$P" "$WS/p.yaml"
P=$WS/p.yaml
echo n >"$WS/n"
expect_rc 120 "the profile itself" c read_file "$WS/p.yaml"
expect_rc 0 "its neighbour (control)" c read_file "$WS/n"
expect_rc "1|2" "a run does not see it either" ab -- cat "$WS/p.yaml"
rm "$WS/p.yaml"
P=$two

# --- commands
expect_rc 0 "a command" c -a alice run_command true
expect_rc 0 "after --" c -a alice run_command -- true
expect_rc 120 "with an argument that the rule has not" c -a alice run_command true x
expect_rc 0 "any arguments" c -a alice run_command -- cat -n a b
expect_rc 0 "none of any" c -a alice run_command cat
expect_rc 120 "a command that no rule names" c -a alice run_command rm x
expect_rc 120 "a deny before the allow: its words are exact" c -a alice run_command sh
expect_rc 0 "so other words pass it" c -a alice run_command -- sh -c true
expect_rc 120 "other text does not" c -a alice run_command -- sh -c 'true;id'
expect_rc 120 "a deny of a command that is not installed" c -a alice run_command git push origin
expect_rc 122 "one that waits for a person" c -a alice run_command id
expect_rc 120 "bob runs nothing" c -a bob run_command true
expect_rc 120 "a name alone is not the command" c -a alice run_command "$A/true"
expect_rc 0 "by its path it is" c -a alice run_command "$(PATH=/usr/bin:/bin type -P true)"

# --- network
expect_rc 0 "alice connects" c -a alice net_connect example.org:443
expect_rc 120 "bob does not" c -a bob net_connect example.org:443
sed 's/network: host/network: none/' "$P" >"$T/none.yaml"
P=$T/none.yaml
expect_rc 121 "the sandbox has no network" c -a alice net_connect example.org:443
said "deny: the sandbox has no network" "and it is told so"
P=$two

# --- JSON (R004)
decides 'o["principal"] == "alice" and o["action"] == "read_file" and
	o["resource"] == "/data/workspace/alice/notes.txt" and o["context"] == {}' \
	"principal, action, resource, context" -a alice read_file $A/notes.txt
decides 'o["delegation"] == ["alice"] and o["decision"] == "allow" and o["layer"] == "policy" and
	o["code"] == "acl_allow" and o["reason"]' "an allowance" -a alice read_file $A/notes.txt
decides 'o["decision"] == "deny" and o["layer"] == "identity" and o["code"] == "identity" and
	o["principal"] == "admin"' "an unknown agent" -a admin read_file $A/notes.txt
decides 'o["principal"] is None and o["delegation"] == []' "none named" read_file $A/notes.txt
decides 'o["decision"] == "deny" and o["code"] == "invalid_path" and
	o["resource"] == "/data/workspace/alice/../x"' "a path that is not canonical" \
	-a alice read_file $A/../x
decides 'o["code"] == "protected"' "a protected name" -a alice read_file $A/.env
decides 'o["decision"] == "interrupt" and o["code"] == "interrupt"' "one that waits" \
	-a alice run_command id
decides 'o["layer"] == "sandbox" and o["code"] == "sandbox_deny"' "outside" \
	-a alice read_file /outside/x
decides 'o["resource"] == ["cat", "-n", "a"] and o["action"] == "run_command"' "a command line" \
	-a alice run_command -- cat -n a
decides 'o["action"] == "no\x1bpe"' "what is printed is what was asked" -a alice $'no\epe' x
unlike "$(cat "$T/j")" $'\e' "but nothing that a terminal acts on"
json_out=$("$AGENTBOX" check --json -p "$P" -a alice read_file /outside/y 2>&1)
unlike "$json_out" "$T|yaml" "no host path and no rule text for the caller"
no_sandbox_left "and starts nothing"
done_testing
