#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# agentbox tool: the decision of `check`, then the work in a sandbox that shows what it was about.
# Each denial beside the same act allowed (R016, R025, R031, R123, R124, R166).
. "${0%/*}/lib.sh"
as_callers
D=$T/data
mkdir -p "$D/workspace/alice/sub" "$D/reports" "$D/elsewhere"
printf 'one\ntwo\nthree\n' >"$D/workspace/alice/notes.txt"
echo q3 >"$D/reports/q3.md"
echo e >"$D/elsewhere/e"
t() {
	"$AGENTBOX" tool --state "$STATE" -p "$P" "$@"
}
last() { # EXPRESSION over the last records of the log, newest first
	tail -n 4 "$STATE"/audit.jsonl 2>/dev/null | tac |
		py -c 'import json, sys
r = [json.loads(l) for l in sys.stdin]
print(eval(sys.argv[1]))' "$1"
}

# --- three classes and the control, on the short form as it is published
short() { # NAME ROOTS-OF-ALICE ROOTS-OF-BOB
	profile "$1" <<-YAML
		sandbox:
		  runtime: subprocess
		  allowed_commands: [cat, ls, python3]
		  allowed_roots: ["$D/workspace/alice", "$D/reports"]
		  allow_network: false
		  max_output_bytes: 65536
		  timeout_seconds: 30
		permissions:
		  default_deny: true
		  policy_model: list_acl
		  agents:
		    alice:
		      allowed_actions: [read_file, write_file]
		      allowed_roots: [$2]
		    bob:
		      allowed_actions: [read_file]
		      allowed_roots: [$3]
	YAML
}
short three "\"$D/workspace/alice\"" "\"$D/reports\""
N=$D/workspace/alice/notes.txt
expect_out "$(cat "$N")" "alice reads her notes" t -a alice read "$N"
is "$(last '[x["event"] for x in r[:3]]')" "['outcome', 'start', 'decision']" \
	"a decision, a start and an outcome are written"
is "$(last 'r[2]["action"], r[2]["resource"] == "'"$N"'", r[0]["exit_code"]')" \
	"('read_file', True, 0)" "of the action and the path"
expect_rc 120 "bob does not" t -a bob read "$N"
is "$(cat "$T/out")$(cat "$T/err")" "agentbox: denied: no matching rule" "and is told no more"
is "$(last 'r[0]["event"], r[0]["decision"], r[0]["code"], r[0]["action"]')" \
	"('decision', 'deny', 'acl_deny', 'read_file')" "the denial is written"
expect_out q3 "while he reads what he may (control)" t -a bob read "$D/reports/q3.md"
expect_rc 120 "he writes nowhere" t -a bob write "$D/reports/new" <<<x
check_not "so nothing is there" test -e "$D/reports/new"
expect_rc 0 "where alice may, she does (control)" t -a alice write "$D/workspace/alice/new" <<<x
is "$(cat "$D/workspace/alice/new")" x "and it is there"
if command -v strace >/dev/null && strace -o "$T/trace" true 2>/dev/null; then
	traced() { # AGENT
		strace -f -e trace=clone,clone3,unshare,fork,vfork -o "$T/trace" "$AGENTBOX" tool \
			--state "$STATE" -p "$P" -a "$1" read "$N" >/dev/null 2>&1
	}
	traced bob
	is "$(grep -c 'CLONE_NEW' "$T/trace")" 0 "a policy denial builds no namespace"
	is "$(grep -c 'clone\|fork' "$T/trace")" 0 "and starts no process"
	traced alice
	unlike "$(grep -c 'CLONE_NEW' "$T/trace")" "^0$" "an allowed one does (control)"
	strace -f -e trace=execve -o "$T/trace" "$AGENTBOX" tool --state "$STATE" -p "$P" -a alice \
		read "$N" >/dev/null 2>&1
	is "$(grep -c 'execve(' "$T/trace")" 1 "in which nothing is executed"
else
	skip "what the launcher asks of the kernel" "no strace here"
fi
short wider "\"$D/workspace/alice\", \"$D/elsewhere\"" "\"$D/reports\""
expect_rc 121 "what policy allows and the sandbox has not" t -a alice read "$D/elsewhere/e"
is "$(cat "$T/err")" "agentbox: denied: outside what the sandbox grants" "is the sandbox's denial"
is "$(last 'r[0]["event"], r[0]["layer"], r[0]["code"]')" "('decision', 'sandbox', 'sandbox_deny')" \
	"in the log too"
t --json -a alice read "$D/elsewhere/e" >"$T/j"
json_is "$T/j" '(o["rc"] == 121 and o["status"] == "denied" and o["decision"]["layer"] == "sandbox" and
	not o["started"] and o["output"] == "")' "and in the result"
expect_rc 0 "the rest is as before (control)" t -a alice read "$N"
short control "\"$D/workspace/alice\"" "\"$D/reports\", \"$D/workspace/alice\""
expect_out "$(cat "$N")" "where policy grants it, bob reads it" t -a bob read "$N"
expect_rc 120 "but he writes nothing there" t -a bob write "$N" <<<x
expect_rc 120 "and names are not what he may ask for" t -a bob ls "$D/workspace/alice"

# --- five rules: the six answers, and what a matcher that skips dot paths leaves open
mkdir -p "$T/d/workspace/sub" "$T/d/reports" "$T/d/secrets"
for f in workspace/.env workspace/notes.txt reports/q3.md secrets/key secrets/.token; do
	echo "$f" >"$T/d/$f"
done
before=$(tree_of "$T/d")
profile five <"$LIVE/profiles/ordered-rules.yaml"
f() {
	"$AGENTBOX" tool --state "$STATE" -p "$P" -w "$T/d" -a a "$@"
}
expect_out workspace/notes.txt "1: reads /workspace" f read /workspace/notes.txt
expect_rc 120 "2: not .env there" f read /workspace/.env
expect_out reports/q3.md "3: reads /reports" f read /reports/q3.md
expect_rc 122 "4: writing to /reports waits for a person" f write /reports/q3.md <<<x
like "$(cat "$T/err")" "^agentbox: waiting for approval: request r[0-9a-f]{32}: " "who is given its number"
is "$(last 'r[0]["event"], r[0]["decision"]')" "('decision', 'interrupt')" "as the log has it"
expect_rc 120 "5: not /secrets" f read /secrets/key
is "$(tree_of "$T/d")" "$before" "all that changes nothing"
expect_rc 0 "6: writes to /workspace" f write /workspace/notes.txt <<<new
is "$(cat "$T/d/workspace/notes.txt")" new "which the host sees"
for p in /secrets/.token /root/.ssh/id_rsa; do
	expect_rc 120 "not $p" f read $p
done
expect_rc 120 "not /outside/.bashrc" f write /outside/.bashrc <<<x
expect_rc 120 "nor hooks of git" f write /workspace/.git/hooks/pre-commit <<<x
is "$(f ls /workspace)" "$(printf 'notes.txt\nsub/')" "a list leaves out what may not be read"
is "$(last 'r[0]["listed"], r[0]["hidden"]')" "(2, 1)" "which only the log counts"
echo x >"$T/d/workspace/.envrc"
is "$(f ls /workspace)" "$(printf '.envrc\nnotes.txt\nsub/')" "and nothing else (control)"

# --- one root, everything allowed
profile all <<YAML
sandbox:
  roots: [{path: "$WS", at: /ws, mode: rw}, {path: "$D/reports", at: /ro, mode: ro}]
permissions: {agents: {me: allow}}
YAML
# traversal and neighbours (R123), virtual paths in messages (R124)
echo i >"$WS/i"
for p in /wsX/i /ws/../ro/q3.md /ws/./i /ws//i i ./i ''; do
	expect_rc "120|121" "no such path of a request: '$p'" t read "$p"
done
expect_out i "by its canonical name (control)" t read /ws/i
expect_out i "or from a directory that is given" t read --workdir /ws i
expect_rc 120 "where nothing walks up either" t read --workdir /ws ../ro/q3.md
expect_rc 1 "what is not there" t read /ws/nope
is "$(cat "$T/err")" "agentbox: /ws/nope: No such file or directory" "is told by its virtual path"
is "$(last 'r[0]["event"], r[0]["status"], r[1]["decision"]')" "('outcome', 'failed', 'allow')" \
	"and has its outcome"
expect_rc 1 "nor in a directory that is not there" t write /ws/no/such <<<x
is "$(cat "$T/err")" "agentbox: /ws/no/such: No such file or directory" "the same"
mkdir "$WS/dir"
expect_rc 1 "a directory is not read" t read /ws/dir
like "$(cat "$T/err")" "/ws/dir: Is a directory" "which is said"
expect_rc 1 "nor written over" t write /ws/dir <<<x
expect_rc 1 "and a file is not listed" t ls /ws/i
for p in read:/ws/nope:file_not_found read:/ws/dir:is_directory ls:/ws/i:not_directory; do
	IFS=: read -r verb path code <<<"$p"
	t --json "$verb" "$path" >"$T/j" 2>/dev/null
	json_is "$T/j" "o['error']['code'] == '$code' and o['rc'] == 1" "in JSON: $code"
done
mkdir -p "$WS/dir/a/b"
mkfifo "$WS/pipe" "$WS/dir/a/b/pipe"
expect_rc 120 "a pipe that a run would cover" t read /ws/pipe
expect_rc 1 "one deeper down is no file, and is not waited for" t read /ws/dir/a/b/pipe
like "$(cat "$T/err")" "/ws/dir/a/b/pipe is no regular file" "which is said"
expect_rc 121 "a read-only root is not written" t write /ro/q3.md <<<x
expect_rc 121 "nor is the scratch, which is gone with the run" t write /tmp/x <<<x
expect_rc 0 "a writable one is (control)" t write /ws/x <<<x

# links: judged by where they lead, and followed no more
ln -s i "$WS/inner"
ln -s "$T/secret" "$WS/out"
ln -s nowhere "$WS/dangling"
echo s >"$T/secret"
expect_out i "a link within the root" t read /ws/inner
expect_rc 121 "one that leads out of it" t read /ws/out
expect_rc 121 "and is not written through" t write /ws/out <<<x
expect_rc 121 "one that leads nowhere" t write /ws/dangling <<<x
is "$(cat "$T/secret")" s "what it names is as it was"
expect_rc 0 "a link to a file is written through" t write /ws/inner <<<j
is "$(cat "$WS/i")$(readlink "$WS/inner")" ji "and stays a link"

# the base, as a run has it
expect_out "$(ab -- cat /etc/passwd)" "files of the sandbox's own are read as programs see them" \
	t read /etc/passwd
unlike "$(t read /etc/passwd)" "daemon" "not the host's"
check "those of the system too" sh -c '"$0" tool --state "$1" -p "$2" read /usr/bin/env | cmp - /usr/bin/env' \
	"$AGENTBOX" "$STATE" "$P"
like "$(t ls /usr)" "bin/.*share/" "and its directories are listed"
expect_rc 121 "but not written" t write /usr/bin/agentbox-none <<<x
expect_rc 121 "nor is what the kernel makes" t read /proc/self/status

# another name of what may not be read
echo s >"$WS/.env"
ln "$WS/.env" "$WS/env-by-another-name"
expect_rc 120 "a hard link to a hidden file" t read /ws/env-by-another-name
rm "$WS/.env"
expect_rc 0 "without the other name (control)" t read /ws/env-by-another-name
rm "$WS/env-by-another-name"
profile links <<YAML
sandbox:
  roots: [{path: "$WS", at: /ws, mode: rw}]
permissions:
  agents:
    me:
      rules:
        - {operations: [read, write], paths: [/ws/sub/secret], mode: deny}
        - {operations: [read, write], paths: [/ws/**], mode: allow}
    part: {rules: [{operations: [read, write], paths: ["/ws/.git/**", "/ws/sub/**"], mode: allow}]}
YAML
mkdir -p "$WS/sub" "$WS/.git/hooks"
echo s >"$WS/sub/secret"
ln "$WS/sub/secret" "$WS/alias"
expect_rc 120 "one to what a rule denies" t -a me read /ws/alias
expect_rc 120 "or writes" t -a me write /ws/alias <<<x
rm "$WS/sub/secret"
expect_rc 0 "without it (control)" t -a me read /ws/alias
printf '[core]\n' >"$WS/.git/config"
echo 'ref: refs/heads/x' >"$WS/.git/HEAD"
mkdir -p "$WS/.git/objects" "$WS/.git/refs"
for f in config hooks/pre-commit; do
	expect_rc 120 "who has a part of a root does not write to .git/$f" t -a part write /ws/.git/$f <<<x
done
expect_rc 0 "but to other files of that part (control)" t -a part write /ws/.git/description <<<x
rm -rf "$WS/.git" "$WS/sub" "$WS/alias"
P=$T/all.yaml

# a name that changes all the time: the other file is never read, nor written
mkdir "$WS/race"
echo mine >"$WS/race/mine"
ln -s "$T/secret" "$WS/race/link"
echo secret >"$T/secret"
ln "$WS/race/mine" "$WS/race/f"
(while [ -e "$WS/race/mine" ]; do
	mv -T "$WS/race/link" "$WS/race/f" 2>/dev/null
	ln -s "$T/secret" "$WS/race/link" 2>/dev/null
	ln -f "$WS/race/mine" "$WS/race/f2" 2>/dev/null
	mv -T "$WS/race/f2" "$WS/race/f" 2>/dev/null
	sleep "0.0$((RANDOM % 3))"
done) &
racer=$!
for n in {1..40}; do
	t read /ws/race/f 2>>"$T/race-err"
	t write /ws/race/f <<<mine 2>>"$T/race-err"
done >"$T/race-out"
rm "$WS/race/mine"
wait "$racer"
is "$(grep -vx mine "$T/race-out")$(cat "$T/secret")" secret "what a name led to when it was judged is what is met"
rm -f "$WS/race/f"
expect_rc 0 "when it stands still (control)" t write /ws/race/f <<<mine
is "$(t read /ws/race/f)" mine "it is met"
rm -rf "$WS/race"

# bytes: every one, and the names of lines
head -c 300000 /dev/urandom >"$WS/blob"
t read /ws/blob >"$T/blob"
check "every byte arrives" cmp "$WS/blob" "$T/blob"
check "and goes in" sh -c '"$0" tool --state "$1" -p "$2" write /ws/blob2 <"$3"' \
	"$AGENTBOX" "$STATE" "$P" "$T/blob"
check "the same" cmp "$WS/blob" "$WS/blob2"
expect_rc 0 "an empty file is made" t write /ws/empty </dev/null
is "$(stat -c '%s %a' "$WS/empty")" "0 644" "of mode 644"
seq 1 1000 >"$WS/lines"
is "$(t read /ws/lines --offset 10 --limit 2)" "$(printf '11\n12')" "two lines from the middle"
is "$(t read /ws/lines --limit 0)" "" "none"
is "$(t read /ws/lines --offset 999)" 1000 "the last"
is "$(t read /ws/lines --offset 1000)" "" "past the end"
printf 'a\nb' >"$WS/open-end"
is "$(t read /ws/open-end --offset 1)" b "a last line without an end"
t --json read /ws/blob2 >"$T/j"
json_is "$T/j" '(o["encoding"] == "base64" and len(base64.b64decode(o["output"])) == 300000 and
	not o["truncated"] and o["trust"] == "untrusted")' "in JSON what is no text"

# bounds: at the limit and past it
sed 's/^permissions/  limits: {output: 1K, file_size: 1K}\n&/' "$P" >"$T/bound.yaml"
P=$T/bound.yaml
head -c 1024 "$WS/blob" >"$WS/k"
head -c 1025 "$WS/blob" >"$WS/k1"
expect_rc 0 "as many bytes as the profile allows" t read /ws/k
is "$(wc -c <"$T/out") $(cat "$T/err")" "1024 " "come without a word"
expect_rc 0 "one more" t read /ws/k1
is "$(wc -c <"$T/out")" 1024 "is left out"
like "$(cat "$T/err")" "/ws/k1: cut after 1024 bytes of a file of 1025" "which is said"
t --json read /ws/k1 >"$T/j" 2>/dev/null
json_is "$T/j" 'o["truncated"] and o["output_bytes"] == 1024 and o["work"]["size"] == 1025' "also in JSON"
expect_rc 0 "a file of that size is written" t write /ws/k2 <"$WS/k"
expect_rc 124 "a larger one is not" t write /ws/k2 <"$WS/k1"
check "and what was there is as it was" cmp "$WS/k" "$WS/k2"
P=$T/all.yaml
expect_rc 124 "the time is limited" t --timeout 300ms write /ws/late < <(sleep 20)
check_not "and nothing of it is left" test -e "$WS/late"

# writing: whole or not at all, and the file that was there keeps what it was
echo old >"$WS/w"
chmod 640 "$WS/w"
exec 8<"$WS/w"
expect_rc 0 "a file is written over" t write /ws/w <<<new
is "$(cat "$WS/w")$(stat -c %a "$WS/w")" new640 "and keeps its mode"
is "$(cat <&8)" old "who had it open has the old one still"
exec 8<&-
ln "$WS/w" "$WS/w2"
expect_rc 0 "one of two names is written" t write /ws/w <<<both
is "$(cat "$WS/w2")$(stat -c %h "$WS/w")" both2 "and they stay one file"
echo longer-than-that >"$WS/w"
expect_rc 0 "which is shorter afterwards" t write /ws/w <<<b
is "$(cat "$WS/w2")" b "too"
mkdir "$WS/shut"
echo o >"$WS/shut/f"
profile file-root <<YAML
sandbox: {roots: [{path: "$WS/shut/f", at: /f, mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "a root that is one file" t write /f <<<in-place
is "$(cat "$WS/shut/f")" in-place "is written in its place"
P=$T/all.yaml
if [ "$CALLER" = user ]; then
	chmod 400 "$WS/shut/f"
	expect_rc 1 "a file that its owner may not write" t write /ws/shut/f <<<x
	like "$(cat "$T/err")" "/ws/shut/f: Permission denied" "is not replaced either"
	chmod 600 "$WS/shut/f"
	chmod 500 "$WS/shut"
	expect_rc 0 "in a directory that takes no name" t write /ws/shut/f <<<y
	is "$(cat "$WS/shut/f")" y "it is written in its place"
	expect_rc 1 "but a new one is not made" t write /ws/shut/g <<<x
	chmod 700 "$WS/shut"
fi
is "$(find "$WS" -name '.agentbox*')" "" "nothing of ours is left"

# lists: for people, for programs, for both
P=$T/all.yaml
rm -rf "${WS:?}"/*
mkdir "$WS/d"
echo 12345 >"$WS/f"
ln -s f "$WS/l"
printf 'x' >"$WS/"$'new\nline'
chmod 600 "$WS/f"
is "$(t ls /ws)" "$(printf 'd/\nf\nl\nnew\\x0aline')" "names, escaped"
is "$(t ls -0 /ws | tr '\0\n' ':;')" "d:f:l:new;line:" "names as they are"
t ls --json /ws >"$T/j"
json_is "$T/j" '[(e["name"], e["type"]) for e in o["entries"]] == [("d", "directory"), ("f", "file"),
	("l", "link"), ("new\nline", "file")]' "types"
json_is "$T/j" '(o["entries"][1]["size"] == 6 and o["entries"][1]["mode"] == "0600" and
	o["entries"][1]["mtime"] == '"$(stat -c %Y "$WS/f")"' and "output" not in o)' "and the rest"
is "$(t ls /ws/d)" "" "none in an empty directory"
echo x >"$WS/.env"
echo x >"$WS/.env.example"
is "$(t ls /ws | head -n 1)" .env.example "protected names are not there"
like "$(t ls /)" "ro/.*ws/" "the top shows the roots"
expect_rc 121 "what has no place in it does not" t ls /srv/none
for n in $(seq 1 700); do : >"$WS/d/$n"; done
is "$(t ls /ws/d | wc -l)" 700 "many names"
expect_rc 0 "past the limit" "$AGENTBOX" tool --state "$STATE" -p "$T/bound.yaml" ls /ws/d
like "$(cat "$T/err")" "/ws/d: there is more than fits into 1024 bytes" "the list is cut, which is said"
unlike "$(wc -l <"$T/out")" "^(0|700)$" "and is a part"

# the records go where those of a run go
expect_rc 0 "--audit-fd" t --audit-fd 9 read /ws/f 9>"$T/sink"
is "$(grep -c '"action":"read_file"' "$T/sink")" 3 "takes the three records too"
expect_rc 125 "one that is not open: nothing is read" t --audit-fd 9 read /ws/f
is "$(cat "$T/out")" "" "nothing at all"

# wrong usage
expect_rc 125 "no path" t read
expect_rc 125 "two paths" t read /ws/f /ws/f
expect_rc 125 "an unknown tool" t reed /ws/f
like "$(cat "$T/err")" "did you mean 'read'" "with the nearest one"
expect_rc 125 "lines of a list" t ls --limit 3 /ws
expect_rc 125 "NULs of a file" t read -0 /ws/f
expect_rc 125 "no number" t read --limit -1 /ws/f
expect_rc 125 "another profile than the one expected" t --expect-sha256 "$(printf '%064d' 0)" read /ws/f
expect_rc 120 "an agent that nobody declared" t -a you read /ws/f
expect_rc 0 "the right one (control)" t -a me read /ws/f
no_sandbox_left "no process is left"
done_testing
