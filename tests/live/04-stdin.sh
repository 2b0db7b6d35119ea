#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# stdin is null unless asked for; then it is pumped, and never the caller's descriptor. R060,
# P11-P13.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

ran() { # DESCRIPTION: the last command did not wait for the writer
	is "$(($(now_ms) - start < EVER_MS))" 1 "$1"
}

seq 3 >"$T/in"
out=$(ab -- cat <"$T/in" 2>/dev/null)
is "$out" "" "a file is not read without -i"
out=$(ab -i -- cat <"$T/in" 2>/dev/null)
is "$out" "$(seq 3)" "and is with it"
is "$(seq 3 | ab -- cat 2>/dev/null)" "" "nor a pipe"
is "$(seq 3 | ab -i -- cat 2>/dev/null)" "$(seq 3)" "with -i it is"
like "$(seq 3 | ab -- cat 2>&1 >/dev/null)" '^agentbox: .*-i' "input that waits unread is told in one line"
is "$(ab -- true </dev/null 2>&1)" "" "and none is not"
is "$(seq 3 | ab -q -- true 2>&1)" "" "-q is quiet"
expect_out "ok 0:chr:1:3 1:pipe 2:pipe" "stdin is /dev/null" ab -- "$PROBE" fdlist
out=$(ab -i -- "$PROBE" fdlist <"$T/in" 2>/dev/null)
like "$out" '^ok 0:pipe 1:pipe ' "with -i it is a pipe, also for a file"

mkfifo "$T/fifo"
sleep 600 >"$T/fifo" &
keep=$!
start=$(now_ms)
expect_rc 0 "a fifo that never ends" timeout -s KILL 120 "$AGENTBOX" run --state "$STATE" -p "$P" -- cat <"$T/fifo"
is "$(cat "$T/out")" "" "gives nothing"
ran "and does not hang"
start=$(now_ms)
expect_rc 124 "with -i the time limit ends it" timeout -s KILL 120 "$AGENTBOX" run --state "$STATE" -p "$P" -i --timeout 500ms -- cat <"$T/fifo"
start=$(now_ms)
expect_rc 0 "a command that does not read it ends at once" timeout -s KILL 120 "$AGENTBOX" run --state "$STATE" -p "$P" -i -- true <"$T/fifo"
ran "without waiting for input"
kill "$keep"

is "$(seq 2 | ab -i -- cat /dev/stdin 2>/dev/null)" "$(seq 2)" "/dev/stdin by path"
is "$(seq 2 | ab -i -- cat /dev/fd/0 2>/dev/null)" "$(seq 2)" "/dev/fd/0 by path"
is "$(ab -i -- cat /dev/stdin </dev/null 2>/dev/null)" "" "/dev/stdin of nothing"
is "$(ab -i -- sh -c 'cat <<X
here
X
readlink /proc/self/fd/0' </dev/null 2>/dev/null | head -n 1)" here "here-documents"
is "$(ab -- bash -c 'cat <<<a; readlink /proc/self/fd/0' 2>/dev/null)" "a
/dev/null" "and stdin is null after them"
head -c 5000000 /dev/urandom >"$T/big"
is "$(ab -i -- sha256sum <"$T/big" 2>/dev/null | cut -c1-64)" "$(sha256sum <"$T/big" | cut -c1-64)" "5 MB arrive whole"
is "$(ab -i -- cat <"$T/big" 2>/dev/null | sha256sum)" "$(sha256sum <"$T/big")" "and go through whole"
is "$(ab -i -- head -c 3 <"$T/big" 2>/dev/null | wc -c)" 3 "a command that stops reading"
expect_rc 0 "and one that closes its stdin" sh -c "seq 100000 | $AGENTBOX run --state $STATE -p $P -i -- sh -c 'exec <&-; sleep 0.2'"
(exec <&-; ab -- "$PROBE" fdlist >"$T/out" 2>"$T/err")
like "$(cat "$T/out")" '^ok 0:chr:1:3 ' "a caller without a stdin"
(exec <&-; ab -i -- cat >"$T/out" 2>"$T/err")
rc=$?
is "$([ $rc = 0 ] || [ $rc = 125 ] && cat "$T/out")" "" "which gives nothing when it is asked for ($rc)"
: >"$T/closed"
(ab -- sh -c 'echo x; exit 7' >&-) 2>/dev/null
rc=$?
is "$([ $rc = 7 ] || [ $rc = 125 ] && echo sane)" sane "a caller without a stdout ($rc)"
done_testing
