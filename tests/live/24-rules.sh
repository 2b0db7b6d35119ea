#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules: globs, and the five-rule policy whose catch-all must leave no dot path open. What nothing
# backs for programs is answered by check and refused by run, beside the same profile without it.
. "${0%/*}/lib.sh"
live_setup() { # SOURCE
	cp -r "$1/tests/table" "$LIVE/table"
}
as_callers
for d in workspace/src workspace/.git reports; do
	mkdir -p "$T/d/$d"
done
for f in workspace/.env workspace/notes.txt workspace/src/main.c workspace/src/.env reports/q3.md; do
	echo "$f" >"$T/d/$f"
done
c() {
	"$AGENTBOX" check -p "$P" "$@"
}

# --- five rules (R020): a table of requests, through check --batch
profile five <"$LIVE/profiles/ordered-rules.yaml"
expect_rc 0 "the five rules give each documented answer" \
	c -w "$T/d" --batch "$LIVE/table/ordered-rules.tsv"
is "$(grep -c . "$T/out")" "$(grep -c '^[^#]' "$LIVE/table/ordered-rules.tsv")" "a line for each"
like "$(cat "$T/out")" $'interrupt\tinterrupt\ta\twrite_file\t/reports/q3.md' "decision, code, request"
sed 's/interrupt$/allow/' "$LIVE/table/ordered-rules.tsv" >"$T/wrong.tsv"
expect_rc 1 "a table that expects otherwise does not hold" c -w "$T/d" --batch "$T/wrong.tsv"
like "$(cat "$T/err")" "wrong.tsv:6: got interrupt \(interrupt\), expected allow" "which is said with its line"
printf 'a\tread_file\t/workspace/x\na\twrite_file\t/reports/x\n' >"$T/plain.tsv"
expect_rc 122 "without expectations the strictest answer" c -w "$T/d" --batch "$T/plain.tsv"
expect_rc 0 "from standard input" c -w "$T/d" --batch - <<<$'a\tread_file\t/workspace/x'
"$AGENTBOX" check -p "$P" -w "$T/d" --json --batch "$T/plain.tsv" | sed -n 2p >"$T/j"
json_is "$T/j" '(o["line"] == 2 and o["expected"] is None and o["decision"] == "interrupt" and
	o["principal"] == "a" and o["resource"] == "/reports/x")' "one object for each line"
for bad in $'\tread_file\t/x' $',a\tread_file\t/x' $'a,\tread_file\t/x' $'a,,a\tread_file\t/x' $'a\tread_file' $'a\tread_file\t/x\tmaybe' $'a\tread_file\t/x\tdeny\tno=1' \
	$'a\tread_file\t/x\tdeny\t\tx' $'a\trun_command\t  '; do
	expect_rc 125 "a line that cannot be read" c -w "$T/d" --batch - <<<"$bad"
	like "$(cat "$T/err")" "stdin:1:1: " "with its place"
done
expect_rc 125 "a table that is not there" c -w "$T/d" --batch "$T/none"
expect_rc 125 "a table and a request" c -w "$T/d" --batch "$T/plain.tsv" read_file /x

# --- globs (R022), R023 is in the table of broken profiles
profile globs <<YAML
sandbox: {roots: [{path: "$T/d/workspace", at: /workspace, mode: rw}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [read], paths: ["/**/.env"], mode: deny}
        - {operations: [read], paths: ["/workspace/{src,lib}/*.[ch]", "/workspace/n*"], mode: allow}
        - {operations: [read], paths: ["/workspace/docs/**/*.md"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
expect_rc 0 "alternatives, star and set" c read_file /workspace/src/main.c
expect_rc 120 "another ending" c read_file /workspace/src/main.o
expect_rc 120 "deeper down" c read_file /workspace/src/x/main.c
expect_rc 0 "a star at the end" c read_file /workspace/notes.txt
expect_rc 120 "in another case" c read_file /workspace/Notes.txt
globs=$P
for f in src/.env .env; do
	expect_rc 120 "'**' reaches dot paths: $f" c read_file "/workspace/$f"
done
mkdir -p "$T/d/workspace/docs/a/.b"
expect_rc 0 "any depth, dot names too" c read_file /workspace/docs/a/.b/c.md
expect_rc 0 "none at all" c read_file /workspace/docs/c.md
expect_rc 120 "another root of the same prefix" c read_file /workspace/docs2/c.md

# --- what no mount stands for yet
expect_rc 125 "a run with such rules is refused" ab -- true
like "$(cat "$T/err")" "globs.yaml:7:11: '/workspace/.*' is finer than the root '/workspace'.*'check' answers" \
	"at the rule, and says why"
check_not "and leaves no record" test -e "$STATE"
sed '/\.env\|docs/d; s#"/workspace/{.*#"/work{space,}/**"], mode: allow}#' "$globs" >"$T/whole.yaml"
P=$T/whole.yaml
expect_out workspace/notes.txt "the same with a pattern that covers the root runs (control)" \
	ab -- cat /workspace/notes.txt

# --- who asks (R005, R012 to R014, R032)
mkdir -p "$T/d/w" "$T/d/r" "$T/d/p/17" "$T/d/p/18"
echo 17 >"$T/d/p/17/n"
echo 18 >"$T/d/p/18/n"
echo w >"$T/d/w/f"
echo r >"$T/d/r/f"
profile who <<YAML
sandbox:
  roots:
    - {path: "$T/d/w", at: /w}
    - {path: "$T/d/r", at: /r, optional: true}
    - {path: "$T/d/p/17", at: /p/17}
    - {path: "$T/d/p/18", at: /p/18}
permissions:
  context: [env, input]
  roles: {reader: {rules: [{operations: [read], paths: [/r/**], mode: allow}]}}
  agents:
    alice:
      roles: [reader]
      rules:
        - {operations: [execute], commands: ["sh *"], mode: deny, when: {input: untrusted}}
        - {operations: [execute], commands: [id], mode: interrupt}
        - {operations: [execute], commands: ["*"], mode: allow}
        - {operations: [read, write], paths: [/w/**], mode: allow}
    bob:
      rules:
        - {operations: [read], paths: [/w/**], mode: allow}
        - {operations: [execute], commands: ["cat *", "sh *"], mode: allow}
    child: {parent: alice, rules: [{operations: [read], paths: ["/**"], mode: allow},
      {operations: [execute], commands: ["*"], mode: allow}]}
    grown: {rules: [{operations: [read], paths: ["/**"], mode: allow},
      {operations: [execute], commands: ["*"], mode: allow}]}
    worker:
      rules:
        - {operations: [read], paths: ['/p/\${instance}/**'], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
    dev:
      rules:
        - {operations: [read], paths: [/w/**], mode: allow, when: {env: dev}}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
asks() { # STATUS DESCRIPTION ARGS...: the same of check and run, which reads the file
	local want=$1 desc=$2 file=$3
	shift 3
	expect_rc "$want" "check: $desc" c "$@" read_file "$file"
	if [ "$want" = 0 ]; then
		expect_rc 0 "run: $desc" ab "$@" -- cat "$file"
	else
		expect_rc "1|120|121" "run: $desc" ab "$@" -- cat "$file"
		unlike "$(cat "$T/out")" . "and prints nothing of it"
	fi
}
asks 0 "alice reads" /w/f -a alice
asks 0 "by a role" /r/f -a alice
asks 120 "bob has no such role" /r/f -a bob
asks 0 "bob reads" /w/f -a bob
asks 0 "alice for bob" /w/f -a alice --on-behalf-of bob
asks 120 "not what bob may not" /r/f -a alice --on-behalf-of bob
asks 120 "nor alice for nobody declared" /w/f -a alice --on-behalf-of eve
asks 0 "a child within its parent" /r/f -a child
asks 120 "but no further" /p/17/n -a child
asks 0 "where the same rules lead without a parent" /p/17/n -a grown
each() { # AGENT: what of the four it reads in one run
	ab -a "$1" --context input=own -- sh -c 'cat /w/f /r/f /p/17/n /p/18/n; true' 2>/dev/null | tr '\n' ' '
}
is "$(each child)" "w r " "a child's run has the paths of its parent (R042)"
is "$(each grown)" "w r 17 18 " "without one it has all (control)"
is "$(each alice)" "w r " "as the parent itself"
expect_rc 122 "a child's command waits where its parent's does" ab -a child --context input=own -- id
expect_rc 0 "without a parent it runs (control)" ab -a grown --context input=own -- id
expect_rc 120 "and is denied where its parent's is" ab -a child --context input=untrusted -- sh -c true
expect_rc 0 "without a parent it runs too (control)" ab -a grown --context input=untrusted -- sh -c true
asks 0 "an instance in its own place" /p/17/n -a worker/17
asks 120 "not in another's" /p/18/n -a worker/17
asks 0 "whose it is" /p/18/n -a worker/18
asks 120 "without an instance nowhere" /p/17/n -a worker
asks 0 "with its label" /w/f -a dev --context env=dev
asks 120 "with another" /w/f -a dev --context env=prod
asks 120 "without" /w/f -a dev
expect_rc 125 "a label that is not declared" c -a dev --context evn=dev read_file /w/f
like "$(cat "$T/err")" "no 'evn' \(did you mean 'env'\?\)" "which is said"
expect_rc 125 "one that is given twice" c -a dev --context env=dev --context env=dev read_file /w/f
expect_rc 120 "a shell for untrusted input (R041)" ab -a alice --context input=untrusted -- sh -c true
expect_rc 120 "and where nobody says what input it is" ab -a alice -- sh -c true
expect_rc 0 "for trusted input (control)" ab -a alice --context input=own -- sh -c true
expect_rc 120 "the environment names nobody (R014)" env AGENTBOX_AGENT=alice "$AGENTBOX" run \
	--state "$STATE" -p "$P" -- true
"$AGENTBOX" check --json -p "$P" -a alice --on-behalf-of bob --on-behalf-of worker/17 \
	--context env=dev read_file /x >"$T/j"
json_is "$T/j" '(o["delegation"] == ["bob", "worker/17", "alice"] and o["principal"] == "alice" and
	o["context"] == {"env": "dev"})' "the chain and the labels in the answer (R013)"
printf '%s\t%s\t%s\t%s\t%s\n' alice read_file /r/f allow '' bob,alice read_file /r/f deny '' \
	worker/17 read_file /p/17/n allow '' worker/17,worker/18 read_file /p/17/n deny '' \
	eve,alice read_file /w/f deny '' dev read_file /w/f allow env=dev dev read_file /w/f deny '' \
	bob run_command 'cat /w/f' allow '' bob run_command 'id -u' deny '' >"$T/who.tsv"
expect_rc 0 "chains, instances and labels in a table" c --batch "$T/who.tsv"
ab -a alice --on-behalf-of bob --context env=dev -- cat /w/f >"$T/out"
is "$(cat "$T/out")" w "a run on behalf of another"
tail -n 3 "$STATE/audit.jsonl" >"$T/tail"
is "$(grep -c '"delegation":\["bob","alice"\]' "$T/tail")" 3 "the chain is in each of its records"
is "$(grep -c '"context":{"env":"dev"}' "$T/tail")" 1 "and the labels in its decision"

# A chain has a bound: each principal is one more set of rules.
long=()
for _ in {1..31}; do long+=(--on-behalf-of bob); done
expect_rc 0 "a chain of 32" c -a alice "${long[@]}" read_file /w/f
expect_rc 120 "of 33" c -a alice "${long[@]}" --on-behalf-of bob read_file /w/f
is "$(cat "$T/out")" "deny: too many principals in one chain" "which is said"
expect_rc 120 "a run of 33" ab -a alice "${long[@]}" --on-behalf-of bob -- cat /w/f
printf 'bob,%.0s' {1..50000} >"$T/long.tsv"
printf 'alice\tread_file\t/w/f\tdeny\n' >>"$T/long.tsv"
expect_rc 0 "of 50,000, in a table" c --batch "$T/long.tsv"

# --- interrupt: 122, and the id that the log has
expect_rc 122 "a command that waits for a person" ab -a alice -- id
id=$(sed -n 's/.*request \(r[0-9a-f]*\): .*/\1/p' "$T/err")
like "$id" "^r[0-9a-f]{32}\$" "the id of the request is printed"
like "$(tail -n 1 "$STATE/audit.jsonl")" "\"request_id\":\"$id\"" "and is in the log"
expect_rc 120 "for bob it is denied: the strictest counts" ab -a alice --on-behalf-of bob -- id

# --- hosts: decided, and refused where nothing enforces them
profile hosts <<YAML
sandbox: {roots: [{path: "$T/d/w", at: /w}], network: host}
permissions:
  agents:
    me:
      rules:
        - {operations: [connect], hosts: ["bad.example.org:*"], mode: deny}
        - {operations: [connect], hosts: ["github.com:443", "*.example.org:8000-8080", example.com], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
for h in github.com:443 GitHub.com. a.b.example.org:8080 example.com:80 example.com; do
	expect_rc 0 "$h" c net_connect "$h"
done
for h in github.com:22 example.org:8000 a.example.org:443 bad.example.org:8080 evilgithub.com:443 \
	140.82.121.4:443 example.com:8080; do
	expect_rc 120 "not $h" c net_connect "$h"
done
for h in '' : github.com:0 github.com:99999 https://github.com 'a b' 1.2.3; do
	expect_rc 120 "no host: '$h'" c net_connect "$h"
done
"$AGENTBOX" check --json -p "$P" net_connect a..b >"$T/j"
json_is "$T/j" 'o["code"] == "invalid_host"' "which has a code of its own"
expect_rc 125 "a run of that agent is refused" ab -- true
like "$(cat "$T/err")" "hosts.yaml:6:11: host 'bad.example.org:\*': nothing enforces it" "at the rule"

# --- deleting (R028, R029): what check says; no file is touched
mkdir -p "$T/d/del/dir/sub" "$T/d/del/clean" "$T/d/del/logs"
touch "$T/d/del/dir/first" "$T/d/del/dir/keep" "$T/d/del/notes.txt" "$T/d/del/x.log"
profile delete <<YAML
sandbox: {roots: [{path: "$T/d/del", at: /w, mode: rw}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [write], paths: [/w/dir/keep, "/w/*.log"], mode: deny}
        - {operations: [write], paths: ["/w/**"], mode: allow}
        - {operations: [write], paths: ["/w/late/x"], mode: deny}
        - {operations: [read, write], paths: ["/**"], mode: deny}
YAML
expect_rc 0 "a directory of which all is allowed" c delete /w/clean
expect_rc 120 "one that holds a denied name" c delete /w/dir
expect_rc 0 "a plain file in it" c delete /w/dir/first
expect_rc 120 "the denied name itself" c delete /w/dir/keep
expect_rc 0 "a sibling of a denied glob" c delete /w/notes.txt
expect_rc 120 "what the glob denies" c delete /w/x.log
expect_rc 0 "a directory beside it" c delete /w/logs
mkdir "$T/d/del/late"
expect_rc 120 "a deny of something in it counts after the allow too" c delete /w/late
expect_rc 120 "the whole root holds denied names" c delete /w
check "and everything is still there" test -e "$T/d/del/dir/keep"

# The same geometry for programs (R029): what check calls a denial, rm(1) does not remove.
rm -rf "$T/d/del"
mkdir -p "$T/d/del"/{dir/sub,clean/deep,logs,anc/sub,late}
touch "$T/d/del"/{dir/first,dir/keep,notes.txt,x.log,clean/deep/f,logs/f,anc/sub/f,anc/g,late/x,late/y}
profile delete-live <<YAML
sandbox: {roots: [{path: "$T/d/del", at: /w, mode: rw}, {path: "$T/bin", mode: ro}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [write], paths: [/w/dir/keep, "/w/anc/**"], mode: deny}
        - {operations: [write], paths: ["/w/*.log"], mode: deny, absent: report}
        - {operations: [write], paths: ["/w/late/x"], mode: deny}
        - {operations: [read, write], paths: ["/w/**"], mode: allow}
        - {operations: [read], paths: ["$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
while read -r decided path why; do
	rc=0
	c delete "/w/$path" >"$T/out" 2>&1 || rc=$?
	is "$rc" "$decided" "delete $path: $why"
	ab -- rm -rf "/w/$path" >"$T/out" 2>&1
	[ -e "$T/d/del/$path" ] && there=120 || there=0
	is "$there" "$decided" "rm $path: the same"
done <<'ROWS'
120 dir a deny of something in it
0 dir/sub a directory beside that
120 dir/keep what is denied
120 anc a deny of all of it
120 anc/sub a deny of a directory above
120 anc/sub/f and what is in there
120 x.log what a glob denies
0 notes.txt a sibling of the glob
0 logs a directory whose name resembles it
120 late a deny that stands last among the denials
0 late/y a plain file beside what is denied
0 clean a directory of which all is allowed
ROWS
is "$(cd "$T/d/del" && find . -type f | sort | tr '\n' ' ')" "./anc/g ./anc/sub/f ./dir/keep ./late/x ./x.log " \
	"the files that are denied are there, and no other"
expect_rc 120 "the whole root" c delete /w
mkdir "$T/d/del/free"
for path in dir dir/keep anc x.log late; do
	inside N "$path is not moved away either" rename "/w/$path" /w/moved
done
inside Y "what is allowed is (control)" rename /w/free /w/moved
done_testing
