#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The audit's files and other sinks: a chain over all files, each sink all records, or nothing runs.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
audited() { # AUDIT BLOCK
	base_profile
	echo "audit: $1" >>"$P"
}
records() { # FILE: events
	py -c 'import json, sys
print(*(json.loads(l)["event"] for l in open(sys.argv[1])))' "$1" 2>&1
}
lasts() { # the numbers in the names of the files put aside
	(cd "$STATE" && ls audit-*.jsonl 2>/dev/null | wc -l)
}

# --- files
long=$(printf 'x%.0s' {1..8000})
audited '{rotate: 64K}'
expect_rc 0 "the first run" ab -- true
"$AGENTBOX" audit show --state "$STATE" --follow --json >"$T/followed" 2>"$T/ferr" &
follower=$!
for i in 1 2 3 4 5 6; do
	ab -- true "$long" >/dev/null 2>&1
done
is "$(lasts)" 2 "the log has grown over two bounds"
is "$(find "$STATE" -name 'audit*.jsonl' ! -perm 600)" "" "each file is the owner's alone"
expect_rc 0 "and verifies" "$AGENTBOX" audit verify --state "$STATE"
like "$(cat "$T/out")" "^ok: 23 records, " "all of it"
is "$("$AGENTBOX" audit show --state "$STATE" --json --event outcome | wc -l)" 7 "show goes over all files"
followed() {
	[ "$(wc -l <"$T/followed")" = 23 ]
}
check "so does --follow" wait_for followed
kill "$follower"
wait "$follower" 2>/dev/null
is "$(py -c 'import json, sys
print([json.loads(l)["seq"] for l in open(sys.argv[1])] == list(range(1, 24)))' "$T/followed")" True "each record once, in order"
head=$("$AGENTBOX" audit head --state "$STATE")
first=$(cd "$STATE" && ls audit-*.jsonl | head -n 1)
old=$("$AGENTBOX" audit head "$STATE/$first")
expect_rc 0 "a head of the first file" "$AGENTBOX" audit verify --state "$STATE" --head "$old"
mv "$STATE/$first" "$T/archive"
expect_rc 1 "without its first file" "$AGENTBOX" audit verify --state "$STATE"
expect_rc 0 "from where that ended" "$AGENTBOX" audit verify --state "$STATE" --from "$old" --head "$head"
expect_rc 1 "from elsewhere" "$AGENTBOX" audit verify --state "$STATE" --from "$head"
expect_rc 0 "the first file by itself" "$AGENTBOX" audit verify "$T/archive"
second=$(cd "$STATE" && ls audit-*.jsonl | head -n 1)
expect_rc 0 "the second too" "$AGENTBOX" audit verify "$STATE/$second"
cp "$STATE/$second" "$T/good"
sed -i '3s/"me"/"xx"/' "$STATE/$second"
expect_rc 1 "an edit in a file put aside" "$AGENTBOX" audit verify --state "$STATE" --from "$old"
like "$(cat "$T/err")" "$second:[34]: " "is told, with its place"
cp "$T/good" "$STATE/$second"
rm -rf "$STATE"
for ((i = 0; i < 16; i++)); do
	ab -- true "$long" >/dev/null 2>"$T/crowd$i" || : >"$T/crowd-bad$i" &
done
wait
is "$(ls "$T"/crowd-bad* 2>/dev/null | wc -l)" 0 "16 runs at once, over the bound"
expect_rc 0 "verify" "$AGENTBOX" audit verify --state "$STATE"
is "$("$AGENTBOX" audit show --state "$STATE" --json --event outcome | wc -l)" 16 "and lose no record"

# --- sinks
rm -rf "$STATE"
audited '{to: [file, "fd:7"]}'
expect_rc 3 "a descriptor beside the file" ab -- sh -c 'exit 3' 7>"$T/sink"
is "$(cat "$T/sink")" "$(cat "$STATE/audit.jsonl")" "takes the same lines"
expect_rc 125 "one that the caller has not opened" ab -- touch "$WS/ran"
like "$(cat "$T/err")" "descriptor 7" "is named"
check_not "and nothing ran" test -e "$WS/ran"
expect_rc 125 "one that takes nothing" ab -- touch "$WS/ran" 7>/dev/full
check_not "nothing ran there" test -e "$WS/ran"
expect_rc 0 "one that takes all (control)" ab -- touch "$WS/ran" 7>/dev/null
check "it ran" test -e "$WS/ran"
rm "$WS/ran"
exec 8> >(:)
wait "$!"
expect_rc 125 "one that nobody reads" ab -- touch "$WS/ran" 7>&8
exec 8>&-
check_not "nothing ran there either" test -e "$WS/ran"
# shellcheck disable=SC2016 # for the shell inside
expect_rc 0 "it is not handed on" ab -- sh -c '! [ -e /proc/self/fd/7 ]' 7>"$T/sink"
expect_rc 120 "a denial" ab -a stranger -- true 7>"$T/sink"
is "$(records "$T/sink")" "decision" "is told there"
expect_rc 0 "the log verifies" "$AGENTBOX" audit verify --state "$STATE"
# One that fails after the command began: the log has the outcome, and so have the others.
mkfifo "$T/fifo"
late() { # ARGS...: descriptor 7 goes to a reader that leaves after two records
	rm -f "$WS/go"
	{ { read -r _ && read -r _; } <"$T/fifo"; : >"$WS/go"; } &
	ab "$@" -- sh -c 'until [ -e go ]; do sleep 0.02; done; exit 3' 7>"$T/fifo" 8>"$T/other"
	local rc=$?
	wait $!
	return $rc
}
rm -rf "$STATE"
audited '{to: [file, "fd:7", "fd:8"]}'
expect_rc 3 "a descriptor that nobody reads any more when the command ends" late
like "$(cat "$T/err")" "the outcome is in the audit log, and not in all .* descriptor 7: " "is told, and not as a loss"
is "$(records "$STATE/audit.jsonl")" "decision start outcome" "the log has the outcome"
is "$(records "$T/other")" "decision start outcome" "another descriptor has it too"
late --json >"$T/j" 2>/dev/null
json_is "$T/j" '(o["audit"]["unsent"] is True and "lost" not in o["audit"] and o["audit"]["seq"] == 6 and o["exit_code"] == 3)' \
	"nor is it one in the result"
expect_rc 0 "the next run" ab --json -- true 7>/dev/null 8>/dev/null
json_is "$T/out" '"unsent" not in o["audit"] and "lost" not in o["audit"]' "has nothing to tell (control)"
is "$(records "$STATE/audit.jsonl")" "$(echo {1,2,3}' decision start outcome' | sed 's/[123] //g')" "and no loss to record"
audited '{to: ["fd:7"]}'
rm -rf "$STATE"
late --json >"$T/j" 2>/dev/null 8>&-
json_is "$T/j" 'o["audit"]["lost"] is True and "unsent" not in o["audit"]' "where nothing else is kept, it is lost"
rm "$WS/go"
base_profile
expect_rc 0 "--audit-fd" ab --audit-fd 9 -- true 9>"$T/sink"
is "$(records "$T/sink")" "decision start outcome" "the same"
expect_rc 125 "--audit-fd that is not open" ab --audit-fd 9 -- touch "$WS/ran"
check_not "nothing ran without it" test -e "$WS/ran"
for bad in 0 1 -1 x 9x ''; do
	expect_rc 125 "--audit-fd '$bad'" ab --audit-fd "$bad" -- true 9>/dev/null
done
rm -rf "$STATE"
audited '{to: [stderr]}'
expect_rc 0 "standard error alone" ab -- sh -c 'echo out; echo err >&2'
is "$(cat "$T/out")" "out" "the output is the command's"
grep -v '^err$' "$T/err" >"$T/lines"
is "$(records "$T/lines")" "decision start outcome" "the records come there"
check_not "no log is kept" test -e "$STATE"
expect_rc 0 "what came there verifies" "$AGENTBOX" audit verify "$T/lines"
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- true >"$T/j" 2>"$T/lines"
json_is "$T/j" 'o["audit"]["seq"] == 3' "the result has its head"
expect_rc 0 "which verifies" "$AGENTBOX" audit verify "$T/lines" --head "$(json_get "$T/j" '"%d:%s" % (o["audit"]["seq"], o["audit"]["sha256"])')"
ab -- true $'\e[31m\x7f' >/dev/null 2>"$T/lines"
is "$(LC_ALL=C tr -d '\n\040-\176' <"$T/lines" | wc -c)" 0 "no byte that a terminal obeys"
done_testing
