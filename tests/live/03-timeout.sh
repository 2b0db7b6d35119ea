#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The end of the command and the end of its time end the whole tree and close the pipes.
# P14, P17, P23, P25.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

# --- at the end of the command
start=$(now_ms)
out=$(ab -- sh -c "setsid sleep 300 & echo done" 2>/dev/null | cat)
took=$(($(now_ms) - start))
is "$out" "done" "a background child does not keep the output"
is "$((took < EVER_MS ? 0 : took))" 0 "the reader sees the end at once"
no_sandbox_left "the background child is gone"
rm -f "$WS/up"
start=$(now_ms)
out=$(ab -- "$PROBE" daemonize 300 "$WS/up" 2>/dev/null | cat)
is "$out" ok "a daemon that ignores TERM was started"
check "it was really there" test -e "$WS/up"
is "$(($(now_ms) - start < EVER_MS))" 1 "and did not keep the output"
no_sandbox_left "it is gone"

# --- at the end of its time
rm -f "$WS/up"
start=$(now_ms)
ab --timeout 3s -- sh -c "$PROBE daemonize 300 $WS/up; sleep 300" 2>"$T/err" | cat >"$T/out"
rc=${PIPESTATUS[0]}
took=$(($(now_ms) - start))
is "$rc" 124 "a timeout with a daemon is 124"
is "$((took >= 2900 && took < EVER_MS ? 0 : took))" 0 "in time"
check "the daemon was there" test -e "$WS/up"
no_sandbox_left "nothing of it is left"

# Long enough for a command to set its traps, whatever else the machine does. The default of the grace
# time, and for the others one that is shorter.
grace=1000
[ "$CALLER" != user ] || grace=5000
base_profile "limits: {timeout: 2s$([ "$CALLER" = user ] || echo ", grace: 1s")}"
start=$(now_ms)
ab -- sh -c 'trap "" TERM HUP INT; while :; do sleep 0.1; done' >"$T/out" 2>"$T/err"
rc=$?
took=$(($(now_ms) - start))
is "$rc" 124 "a command that ignores TERM is 124"
is "$((took >= 1900 + grace && took < EVER_MS ? 0 : took))" 0 "at the end of its grace time ($grace ms)"
no_sandbox_left "and gone"
base_profile "limits: {timeout: 2s}"
ab -- sh -c 'trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done' >"$T/out" 2>"$T/err"
is $? 124 "a command that ends with 0 in its grace time is still 124"
is "$(cat "$T/out")" bye "its last words arrive"
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done' >"$T/j" 2>/dev/null
json_is "$T/j" 'o["status"] == "limit" and o["limit"] == "timeout" and o["rc"] == 124 and o["exit_code"] == 0' \
	"the result says both"
expect_rc 0 "a command that is in time (control)" ab -- true
# The signal is for the process group. What has left it is asked by another one, and says that it is there.
base_profile "limits: {timeout: $((2 * ${AGENTBOX_SLOWER:-1}))s, grace: ${EVER}s}"
start=$(now_ms)
# shellcheck disable=SC2016 # for the shell inside
ab -- sh -c '
	sh -c "trap \"echo child; >child\" TERM; >ready; while :; do sleep 0.05; done" &
	setsid sh -c "trap \"echo other\" TERM; trap \"echo asked; >asked\" USR1; echo \$\$ >pid; while :; do sleep 0.05; done" &
	until [ -e ready ] && [ -s pid ]; do sleep 0.05; done
	trap "echo main; kill -USR1 $(cat pid)" TERM
	until [ -e child ] && [ -e asked ]; do sleep 0.05; done
	[ "$0" != late ] || sleep 6
	echo late' "$([ "$CALLER" != user ] || echo late)" >"$T/out" 2>"$T/err"
is "$?" 124 "a group that catches TERM"
took=$(($(now_ms) - start))
is "$(sort "$T/out" | xargs)" "asked child late main" "its members got it, who has left it did not"
# More than the default of the grace time.
[ "$CALLER" != user ] || is "$((took >= 7900 ? 0 : took))" 0 "and had the grace time of the profile"
base_profile "limits: {timeout: 2s}"
expect_rc 124 "a command that stops itself gains nothing" ab --timeout 1s -- sh -c 'kill -STOP $$; sleep 300'
expect_rc 0 "one that is continued goes on (control)" ab -- sh -c '(sleep 0.2; kill -CONT $$) & kill -STOP $$'
expect_rc 124 "--timeout may lower" ab --timeout 100ms -- sleep 300
start=$(now_ms)
ab --timeout 1h -- sleep 300 >"$T/out" 2>"$T/err"
rc=$?
is "$([ $rc = 124 ] || [ $rc = 125 ] && echo kept)" kept "--timeout may not raise"
is "$(($(now_ms) - start < EVER_MS))" 1 "and did not"
base_profile

# --- the timer is there while output floods and while stdin waits
start=$(now_ms)
ab --timeout 500ms -- yes 2>/dev/null | head -c 1000 >/dev/null
is "$(($(now_ms) - start < EVER_MS))" 1 "a flood into a closed pipe ends"
ab --timeout 500ms -- yes >/dev/null 2>&1
is $? 124 "a flood is stopped"
mkfifo "$T/never"
sleep 600 >"$T/never" &
keep=$!
expect_rc 124 "so is a command that waits for input" ab -i --timeout 500ms -- cat <"$T/never"
kill "$keep"
rm "$T/never"

# --- many short orphans, many runs
base_profile "limits: {timeout: $((2 * EVER))s}"
expect_rc 9 "2000 orphans, and the command's own status" ab -- sh -c "$PROBE orphans 2000 >/dev/null && exit 9"
# shellcheck disable=SC2016 # for the shell inside
out=$(ab -- sh -c '"$0" orphans 2000 >/dev/null || echo failed; n=0
	zombies() { cat /proc/[0-9]*/status 2>/dev/null | grep -c "^State:.Z"; }
	while [ "$(zombies)" != 0 ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.1; done; zombies' "$PROBE" 2>/dev/null)
is "$out" 0 "init collects them"
base_profile
for ((i = 0; i < 25; i++)); do
	ab --timeout 50ms -- sh -c 'for i in 1 2 3 4; do sleep 50 & done; wait' >/dev/null 2>&1
	[ $? = 124 ] || { fail "run $i of the short ones is 124"; break; }
done
no_sandbox_left "25 timed-out runs left no process"

# --- the caller's zombies (P21): the launcher waits for all that it made
py - "$AGENTBOX" "$STATE" "$P" <<'PY' >"$T/out" 2>&1
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)          # PR_SET_CHILD_SUBREAPER
for i in range(20):
    subprocess.run([sys.argv[1], "run", "--state", sys.argv[2], "-p", sys.argv[3], "--", "true"])
left = 0
try:
    while os.waitpid(-1, os.WNOHANG)[0]:
        left += 1
except ChildProcessError:
    pass
print(left, "children came to a caller that adopts orphans")
sys.exit(left != 0)
PY
is $? 0 "no process is left for the caller to collect"
done_testing
