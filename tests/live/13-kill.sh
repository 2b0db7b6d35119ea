#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# 500 starts with SIGKILL of the supervisor at a random moment leave nothing anywhere: no
# process, mount, file or directory. P14, P17-P19, P21, P23, P25, P41, P42.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

rounds=${KILL_ROUNDS:-500}
echo s >.env
mkdir -p .git/hooks
echo x >.git/config
base_profile "protect: {hide: ['*.pem']}"
ab -- true # the state directory and its files exist now
# What everybody uses holds other people's files too, unless it is this test's own.
places() {
	local d shared=()
	[ "$LIVE_IS_PRIVATE" != 1 ] || shared=(/tmp /dev/shm /run)
	for d in "${shared[@]}" "$T" "$HOME"; do
		find "$d" -mindepth 1 2>/dev/null
	done | sort -u
}
before=$(tree_of "$WS")
mounts=$(cat /proc/self/mountinfo)
files=$(places)
kill_at_random() { # STARTS WIDTH
py - "$AGENTBOX" "$STATE" "$P" "$@" <<'PY'
import os, random, signal, subprocess, sys, time
ab, state, profile, rounds, width = sys.argv[1:6]
seed = int(os.environ.get("KILL_SEED", random.randrange(1 << 30)))
random.seed(seed)
print("# seed", seed)
ended = {}
null = open(os.devnull, "r+b")
# Never-ending commands, so that whoever survives can be seen; every fifth is short.
long = [ab, "run", "--state", state, "-p", profile, "--", "sh", "-c", "setsid sleep 777 & sleep 777"]
short = [ab, "run", "--state", state, "-p", profile, "--", "true"]
# From the first moment to the last of one that nobody kills, on a machine of any speed.
times = []
for i in range(3):
    began = time.monotonic()
    subprocess.run(short, stdin=null, stdout=null, stderr=null, check=True)
    times.append(time.monotonic() - began)
whole = min(max(min(times), 0.020), 1)
pending = []
for i in range(int(rounds)):
    # Started in a session of its own: nothing but the death of the supervisor ends it.
    p = subprocess.Popen(short if i % 5 == 4 else long, stdin=null, stdout=null, stderr=null,
                         start_new_session=True)
    pending.append((time.monotonic() + random.uniform(0, whole), p))
    # Several at a time: starts and ends overlap.
    if len(pending) == int(width) or i == int(rounds) - 1:
        for at, q in sorted(pending, key=lambda x: x[0]):
            d = at - time.monotonic()
            if d > 0:
                time.sleep(d)
            q.send_signal(signal.SIGKILL)
            q.wait()
            ended[q.returncode] = ended.get(q.returncode, 0) + 1
        pending = []
print("# ended by:", ended, "within", whole)
sys.exit(ended.get(-signal.SIGKILL, 0) < int(rounds) / 2)
PY
}
kill_at_random "$rounds" 2
# Not stopped: what root, or another process of the caller's uid outside a sandbox, does to a run
is $? 0 "$rounds starts, and half of them or more were killed"
kill_at_random $((rounds / 5)) 16
is $? 0 "and $((rounds / 5)) more, 16 at the same time"
no_sandbox_left "no process is left"
if [ "$LIVE_IS_PRIVATE" = 1 ]; then
	is "$(cat /proc/[0-9]*/comm | grep -cx agentbox)" 0 "no process of agentbox is left"
	is "$(cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep -c 'sleep 77[7]')" 0 "nor of its commands"
fi
is "$(cat /proc/self/mountinfo)" "$mounts" "no mount is left"
is "$(tree_of "$WS")" "$before" "the workspace is as it was"
is "$(places)" "$files" "no file is left: home, state directory, and those that all share where they are private"
if compgen -G "$STATE/*.jsonl" >/dev/null; then
	for f in "$STATE"/*.jsonl; do
		expect_rc 0 "the audit verifies" "$AGENTBOX" audit verify "$f"
	done
	# One run before, and three that are timed for each of the two.
	all=$((rounds + rounds / 5 + 7))
	events() { # WORD
		cat "$STATE"/*.jsonl | grep -c "\"event\":\"$1\""
	}
	decided=$(events decision) started=$(events start) over=$(events outcome)
	is "$((decided < all))" 1 "some were killed before anything was decided ($decided of $all were)"
	is "$((started > over))" 1 "and some after it had started ($started started, $over to their end)"
else
	fail "there is an audit file"
fi
expect_rc 0 "and the next run works" ab -- true
expect_rc 0 "and verifies" "$AGENTBOX" audit verify "$STATE"/*.jsonl
done_testing
