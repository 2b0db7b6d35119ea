#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Signals to agentbox reach the command; odd dispositions, children and groups of the caller do
# not confuse it. P16, P20, P22.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

start() { # CMD...: $sup is agentbox, the command has written $WS/up
	rm -f "$WS/up"
	: >"$T/out"
	ab_start "${ABOPT[@]}" -- "$@" >"$T/out" 2>"$T/err"
	wait_for test -e "$WS/up" || fail "the command starts"
}

for s in TERM HUP USR1 USR2; do
	start sh -c "trap 'echo got-$s; exit 3' $s; touch up; while :; do sleep 0.05; done"
	kill "-$s" "$sup"
	wait "$sup"
	is "$?:$(cat "$T/out")" "3:got-$s" "$s reaches a command that has a trap"
done
# A background job of this shell ignores INT and QUIT: python starts one that does not.
cat >"$T/int.py" <<'PY'
import os, signal, subprocess, sys, time
up, sig, cmd = sys.argv[1], getattr(signal, sys.argv[2]), sys.argv[3:]
if os.path.exists(up):
    os.unlink(up)
p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, start_new_session=True,
                     preexec_fn=lambda: (signal.signal(signal.SIGINT, signal.SIG_DFL),
                                         signal.signal(signal.SIGQUIT, signal.SIG_DFL)))
end = time.time() + 60
while not os.path.exists(up) and time.time() < end:
    time.sleep(0.02)
p.send_signal(sig)
print("status", p.wait(60), flush=True)
PY
out=$(py "$T/int.py" "$WS/up" SIGINT "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c "trap 'echo got-INT; exit 3' INT; touch up; while :; do sleep 0.05; done")
like "$out" 'got-INT' "INT reaches a command that has a trap"
like "$out" 'status (3|-2)$' "and agentbox ends with its status, or by the signal itself"
out=$(py "$T/int.py" "$WS/up" SIGINT "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c "touch up; exec sleep 600")
like "$out" 'status (130|-2)$' "INT ends a command without one"
out=$(py "$T/int.py" "$WS/up" SIGQUIT "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c "trap 'echo got-QUIT; exit 3' QUIT; touch up; while :; do sleep 0.05; done")
like "$out" 'got-QUIT' "QUIT reaches a command that has a trap"
no_sandbox_left "after INT and QUIT nothing is left"

for s in TERM HUP; do
	start sh -c 'touch up; exec sleep 600'
	kill "-$s" "$sup"
	wait "$sup"
	rc=$?
	is "$rc" $((128 + $(kill -l $s))) "$s ends a command without a trap"
done
start sh -c 'trap "" TERM HUP INT; touch up; while :; do sleep 0.1; done'
t=$(now_ms)
kill -TERM "$sup"
wait "$sup"
is "$(($(now_ms) - t < EVER_MS))" 1 "a command that ignores TERM ends after the grace time"
no_sandbox_left "and nothing is left"
start sh -c "$PROBE daemonize 300 $WS/up"'; trap "exit 0" TERM; while :; do sleep 0.1; done'
kill -TERM "$sup"
wait "$sup"
no_sandbox_left "daemons end with it"
start sh -c 'touch up; exec sleep 600'
kill -9 "$sup"
wait "$sup" 2>/dev/null
no_sandbox_left "KILL of the supervisor ends everything"
start sh -c "$PROBE daemonize 300 $WS/up; exec sleep 600"
kill -9 "$sup"
wait "$sup" 2>/dev/null
no_sandbox_left "daemons too"

# KILL from the parent's side: the parent dies, agentbox does not have to, unless asked.
if "$AGENTBOX" run --help | grep -q die-with-parent; then
	rm -f "$WS/up"
	bash -c "'$AGENTBOX' run --state '$STATE' -p '$P' --die-with-parent -- sh -c 'touch up; exec sleep 600' & wait" &
	parent=$!
	wait_for test -e "$WS/up" || fail "--die-with-parent: the command starts"
	kill -9 "$parent"
	wait "$parent" 2>/dev/null
	no_sandbox_left "--die-with-parent"
else
	note "--die-with-parent is not in this version"
fi

# --- callers' odd states (P22)
(trap '' CHLD PIPE; exec "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'exit 5')
is $? 5 "a caller that ignores CHLD and PIPE"
out=$(trap '' CHLD PIPE HUP USR1 TERM; exec "$AGENTBOX" run --state "$STATE" -p "$P" -- grep -E '^Sig(Ign|Blk):' /proc/self/status)
is "$(tr -d '\t' <<<"$out" | sort | tr '\n' ' ')" "SigBlk:0000000000000000 SigIgn:0000000000000000 " "the command's dispositions and mask are reset"
py - "$AGENTBOX" "$STATE" "$P" <<'PY' >"$T/out" 2>&1
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 32)))
p = os.spawnv(os.P_WAIT, sys.argv[1], [sys.argv[1], "run", "--state", sys.argv[2], "-p", sys.argv[3], "--timeout", "60s", "--",
    "sh", "-c", "grep -q '^SigBlk:.*[1-9a-f]' /proc/self/status && exit 1; kill -TERM $$; sleep 120"])
print(p)
sys.exit(p != 143)
PY
is $? 0 "a caller that blocks every signal"
bash -c "exec '$AGENTBOX' run --state '$STATE' -p '$P' -- sh -c 'sleep 0.3; exit 6' < <(true)" 2>/dev/null
is $? 6 "exec'ed over a shell that has children"
bash -c "sleep 0.1 & exec '$AGENTBOX' run --state '$STATE' -p '$P' -- sh -c 'sleep 0.3; exit 6'"
is $? 6 "one of which ends during the run"
bash -c "sleep 600 & echo \$! >'$T/stranger'; exec '$AGENTBOX' run --state '$STATE' -p '$P' -- sh -c 'exit 6'" >/dev/null
is $? 6 "or outlives it"
check "a stranger is left alone" kill -0 "$(cat "$T/stranger")"
kill "$(cat "$T/stranger")"
setsid -w "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'exit 7'
is $? 7 "as a session leader"
py - "$AGENTBOX" "$STATE" "$P" <<'PY' >"$T/out" 2>&1
import os, sys
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.execv(sys.argv[1], [sys.argv[1], "run", "--state", sys.argv[2], "-p", sys.argv[3], "--", "sh", "-c", "exit 8"])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 8)
PY
is $? 0 "as a process-group leader"
check "a signal of the command to its group does not leave the sandbox" sh -c "$AGENTBOX run --state $STATE -p $P -- sh -c 'kill -TERM 0'; test \$? = 143"
check "nor one to everybody" sh -c "$AGENTBOX run --state $STATE -p $P -- sh -c 'trap : TERM; kill -TERM -1; exit 0'"

# A thread of the caller's that ends is not the caller, but for --die-with-parent (man page).
cat >"$T/thread.py" <<'PY'
import os, subprocess, sys, threading, time
up, cmd, go, p = sys.argv[1], sys.argv[2:], sys.argv[1] + ".go", []
for f in up, go:
    if os.path.exists(f):
        os.unlink(f)
def start():
    p.append(subprocess.Popen(cmd))
    end = time.monotonic() + 60
    while not os.path.exists(up) and time.monotonic() < end:
        time.sleep(0.02)
t = threading.Thread(target=start)
t.start()
t.join()
# The thread is gone from the kernel too, not just from Python.
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.02)
open(go, "w").close()
print("status", p[0].wait(60), flush=True)
PY
waits='touch up; while ! test -e up.go; do sleep 0.05; done; exit 9'
out=$(py "$T/thread.py" "$WS/up" "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c "$waits")
is "$out" "status 9" "a run outlives the thread that started it"
out=$(py "$T/thread.py" "$WS/up" "$AGENTBOX" run --state "$STATE" -p "$P" --die-with-parent -- sh -c 'touch up; exec sleep 1000')
is "$out" "status -9" "with --die-with-parent it does not"

# --- in a container without an init (P21): agentbox as pid 1, or below a pid 1 that reaps nothing;
# /proc is the outer one, whose numbers are others
contained=(unshare -pf)
[ "$EUID" = 0 ] || contained=(unshare -rpf)
if "${contained[@]}" true 2>/dev/null; then
	expect_rc 5 "as pid 1" "${contained[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'exit 5'
	is "$(cat "$T/err")" "" "with the identity that it has elsewhere"
	expect_rc 6 "with a daemon left inside" "${contained[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- \
		sh -c "$PROBE daemonize 300 $WS/daemon; exit 6"
	no_sandbox_left "which is gone"
	# The kernel gives pid 1 no signal that it has neither a handler for nor blocked.
	for sig in TERM HUP; do
		"${contained[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- \
			sh -c "trap 'touch got.$sig; exit 7' $sig; touch up.$sig; while :; do sleep 0.05; done" 2>"$T/err" &
		pid=$!
		wait_for test -e "$WS/up.$sig"
		pkill "-$sig" -P "$pid"
		wait "$pid"
		is "$?" 7 "$sig to agentbox as pid 1"
		check "reaches the command" test -e "$WS/got.$sig"
	done
	# shellcheck disable=SC2016 # for the shell inside
	out=$("${contained[@]}" --mount-proc sh -c 'i=0; while [ $i -lt 20 ]; do "$@" || exit; i=$((i + 1)); done
		grep -h "^State:.Z" /proc/[0-9]*/status | wc -l' sh "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'sleep 1000 & :')
	is "$out" 0 "20 runs below a pid 1 that reaps nothing leave no zombie"
	no_sandbox_left "nothing is left"
else
	note "no pid namespace for this caller"
fi

# --- a storm of signals during start and copy (P16)
head -c 20000000 /dev/urandom >"$T/big"
want=$(sha256sum <"$T/big")
"$AGENTBOX" run --state "$STATE" -p "$P" -i -- cat <"$T/big" >"$T/copy" 2>"$T/err" &
pid=$!
while kill -WINCH "$pid" 2>/dev/null; do :; done
wait "$pid"
is "$?:$(sha256sum <"$T/copy")" "0:$want" "a copy during a storm of WINCH is whole"
py - "$AGENTBOX" "$STATE" "$P" <<'PY' >"$T/out" 2>&1
import os, signal, subprocess, sys, time
bad = 0
for i in range(30):
    p = subprocess.Popen([sys.argv[1], "run", "--state", sys.argv[2], "-p", sys.argv[3], "--", "sh", "-c", "exit 4"])
    while p.poll() is None:
        os.kill(p.pid, signal.SIGWINCH)
        os.kill(p.pid, signal.SIGCONT)
    bad += p.returncode != 4
    if p.returncode != 4:
        print(i, p.returncode)
sys.exit(bad != 0)
PY
is $? 0 "30 starts during a storm"
no_sandbox_left "nothing is left"
done_testing
