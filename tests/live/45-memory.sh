#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Memory, processors and disk without a cgroup: watched by the supervisor, and said to be; what only
# a cgroup holds is refused with the reason. With one: tests/vm. P11-P16, P67, P101.
LIVE_TIMEOUT=250
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

run_json() { # ARGS...: the object in $T/j, the status in $rc
	rc=0
	"$AGENTBOX" run --json --state "$STATE" -p "$P" "$@" >"$T/j" 2>"$T/err" </dev/null || rc=$?
	return "$rc"
}
ended() { # LIMIT MECHANISM DESCRIPTION
	is "$rc" 124 "$3: 124"
	json_is "$T/j" "(o['status'], o['limit'], o['limit_detail']['mechanism'], o['mechanisms']['limits']['$1']) == ('limit', '$1', '$2', '$2')" \
		"$3: named, by the $2"
	json_is "$T/j" "o['limit_detail']['reached'] > o['limit_detail']['bound'] > 0 and 0 < o['limit_detail']['at_ms'] <= o['usage']['wall_ms']" \
		"$3: with the figure and the time"
	json_get "$T/j" '"# overshoot %d KiB, ended %d ms after the start, gone %d ms later" % ((o["limit_detail"]["reached"] - o["limit_detail"]["bound"]) >> 10, o["limit_detail"]["at_ms"], o["usage"]["wall_ms"] - o["limit_detail"]["at_ms"])'
}
M=1048576

# --- what there is here, whatever it is called
base_profile "limits: {memory: 64M}"
run_json -- true
is "$rc" 0 "a run that needs little"
how=$(json_get "$T/j" 'o["mechanisms"]["limits"]["memory"]')
"$AGENTBOX" doctor --json >"$T/d" 2>/dev/null
is "$(json_get "$T/d" 'o["limits"]["memory"]["any"]')" "$how" "doctor says the same mechanism"
json_is "$T/d" '(o["limits"]["memory"]["kernel"] is None) == (o["limits"]["memory"]["why"] is not None)' "and a reason where the kernel has none"
# Every row of doctor's is what a run with that limit has, and where there is none it is refused.
row=0
for key in 'timeout: 60s' 'cpu_time: 60s' 'cpus: 0.5' 'memory: 64M' 'processes: 50' 'open_files: 64' 'file_size: 1M' 'output: 1M' 'disk: 1G'; do
	for enforce in any kernel; do
		name=${key%%:*}
		base_profile "limits: {$key, enforce: $enforce}"
		run_json -- true
		want=$(json_get "$T/d" "o['limits']['$name']['$enforce']")
		got=$(json_get "$T/j" "o['mechanisms']['limits']['$name'] if o['mechanisms'] else None")
		is "$rc:$got" "$([ "$want" = None ] && echo 125 || echo 0):$want" "$name, enforce: $enforce: as doctor says"
		row=$((row + 1))
	done
done
is "$row" "$(json_get "$T/d" "2 * len(o['limits'])")" "these are all limits"
# Of the caller's own, the supervisor leaves at most for a leaf in it.
base_profile "limits: {memory: 64M}"
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
ab_start -- bash -c '>alive; sleep 600' >"$T/out" 2>&1
wait_for test -e "$WS/alive" || fail "a run with a limit is there"
its=$(sed -n 's/^0:://p' "/proc/$sup/cgroup")
kill "$sup"
wait "$sup"
if [ "$how" != cgroup ]; then
	is "$its" "$own" "the supervisor stays in the caller's cgroup"
else
	like "$its" "^${own%/}(/agentbox-[^/]*[.]sup)?$" "the supervisor stays below the caller's cgroup"
fi
if [ "$how" = cgroup ]; then
	note "this host gives a cgroup: the monitor is not used"
	done_testing
fi
is "$how" rlimit+monitor "memory is watched"
base_profile "limits: {memory: 64M}"
run_json -- true
json_is "$T/j" '"monitor" not in str({k: v for k, v in o["mechanisms"]["limits"].items() if k != "memory"})' "nothing else is"

# --- refused where only a monitor would do
for key in 'memory: 64M' 'disk: 1G' 'cpus: 0.5'; do
	base_profile "limits: {$key, enforce: kernel}"
	run_json -- touch "$WS/ran"
	is "$rc" 125 "enforce: kernel and $key: 125"
	json_is "$T/j" "'limits.${key%%:*}' in o['error']['message'] and 'by the kernel' in o['error']['message'] and len(o['error']['message']) > 90" "with the reason"
done
base_profile "limits: {cpus: 0.5}"
run_json -- touch "$WS/ran"
is "$rc" 125 "cpus without a cgroup: 125"
check_not "and nothing ran" test -e "$WS/ran"
base_profile "limits: {enforce: kernel, processes: 50, timeout: 60s, output: 1M}"
run_json -- true
is "$rc" 0 "enforce: kernel and what needs no monitor"

# --- memory
base_profile "limits: {memory: 64M}"
run_json -- "$PROBE" hog private $((256 * M)) 1
like "$rc" '^[1-9]' "one process alone is refused more (RLIMIT_DATA)"
json_is "$T/j" 'o["limit"] is None and "ENOMEM" in o["output"]' "and felt it"
# Ended long before they have what they want, which each of them would hold for ten minutes.
in_time() { # DESCRIPTION
	json_is "$T/j" "o['limit_detail']['reached'] < $((512 * M))" "$1: in time"
}
for kind in shared memfd; do
	beside run_json -- "$PROBE" hog $kind $((1024 * M)) 1
	ended memory rlimit+monitor "a hog of $kind memory"
	in_time "a hog of $kind memory"
	soon_beside "a hog of $kind memory"
done
beside run_json -- "$PROBE" hog private $((25 * M)) 40
ended memory rlimit+monitor "forty processes"
in_time "forty processes"
soon_beside "forty hogs"
no_sandbox_left "all are gone"
run_json -- bash -c 'head -c 128M /dev/zero >/tmp/x; sleep 600'
ended memory rlimit+monitor "the scratch counts"
# Shared by forty, and so counted once: far below the limit, though the sum of them is above.
run_json -- timeout "$EVER" "$PYTHON" -I -c '
import os, time
x = bytearray(8 << 20)
for i in range(20):
    if os.fork() == 0:
        break
time.sleep(1)'
is "$rc" 0 "what twenty processes share counts once"
json_is "$T/j" '8 << 20 < o["usage"]["memory_peak_bytes"] < 64 << 20' "and the peak is known"
# Them, their parent, and timeout.
json_is "$T/j" '20 <= o["usage"]["processes_peak"] <= 22' "and that of processes"
# In the scratch and in a process at once: below the limit only where it is counted once.
run_json -- timeout "$EVER" "$PYTHON" -I -c '
import mmap, os, time
f = os.open("/tmp/x", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 40 << 20)
x = mmap.mmap(f, 40 << 20)
for i in range(0, 40 << 20, 4096):
    x[i] = 1
time.sleep(1)'
is "$rc" 0 "what is mapped of the scratch counts once"
json_is "$T/j" '40 << 20 < o["usage"]["memory_peak_bytes"] < 64 << 20' "and it was there"
base_profile "limits: {memory: 2G}"
run_json -- bash -c "timeout 1 $PROBE hog shared $((96 * M)) 1; exit 3"
is "$rc" 3 "the same within a larger limit (control)"

# What the page says of it: memory that is mapped nowhere is not seen; a file of it is a file.
base_profile "limits: {memory: 64M}"
run_json -- bash -c "timeout 2 $PROBE hog dropped $((128 * M)) 1; exit 3"
is "$rc" 3 "what is mapped nowhere is not seen"
base_profile "limits: {memory: 64M, file_size: 1M}"
run_json -- "$PYTHON" -I -c 'import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
f = os.memfd_create("x")
for i in range(3): os.write(f, b"x" * (1 << 19))'
is "$rc" 124 "file_size bounds a memfd"
json_is "$T/j" 'o["limit"] == "file_size"' "and is named"

# Two at a time, each with its own.
base_profile "limits: {memory: 2G}"
other=$P
"$AGENTBOX" run --state "$STATE" -p "$other" -- bash -c '>begun; until [ -e over ]; do sleep 0.1; done; exit 5' 2>/dev/null &
one=$!
wait_for test -e "$WS/begun" || fail "the first of two has begun"
base_profile "limits: {memory: 64M}"
run_json -- "$PROBE" hog shared $((256 * M)) 1
ended memory rlimit+monitor "one of two"
touch "$WS/over"
rc=0
wait "$one" || rc=$?
is "$rc" 5 "the other goes on"

# --- disk: the growth of the file systems of writable roots
base_profile "limits: {disk: 64M}"
beside run_json -- bash -c 'head -c 400M /dev/zero >fill; sync fill; sleep 600'
ended disk monitor "a filler of a writable root"
soon_beside "a filler of a disk"
rm -f "$WS/fill"
# At every tick of the timer they are asked, so that little is written in between.
strace -e trace=read,fstatfs -o "$T/calls" "$AGENTBOX" run --state "$STATE" -p "$P" -- sleep 1 2>"$T/err"
is "$(awk '/^read\(.*, 8\) *= 8$/ { ticks++; due = 1 } /^fstatfs/ { asked += due; due = 0 } END { print (ticks > 9) (ticks == asked) }' \
	"$T/calls")" 11 "at every tick the file system is asked"
# Others may fill the same disk meanwhile.
for i in 1 2 3; do
	run_json -- bash -c 'head -c 100M /dev/zero >/tmp/fill; sleep 1'
	[ "$rc" != 0 ] || break
done
is "$rc" 0 "the scratch is no disk"
base_profile "limits: {disk: 100G}"
run_json -- bash -c 'head -c 100M /dev/zero >fill; rm fill; for i in 1 2 3 4; do sleep 2 & done; wait'
is "$rc" 0 "room enough (control)"
json_is "$T/j" 'o["usage"]["processes_peak"] == 5 and 0 < o["usage"]["memory_peak_bytes"] < 1 << 30' "whatever is watched, the peaks are known"
base_profile
run_json -- sleep 0.1
json_is "$T/j" '(o["usage"]["processes_peak"], o["usage"]["memory_peak_bytes"]) == (None, None)' "and null where nothing is (control)"

# Not stopped: using up the memory and the processors
base_profile "limits: {memory: 64M}"
eats='print(len(b"x" * (100 << 20)) >> 20)'
run_json -- "$PYTHON" -I -c "$eats"
json_is "$T/j" 'o["rc"] != 0' "100M are not had with a limit of 64M (control)"
base_profile
expect_out 100 "without a limit they are" ab -- "$PYTHON" -I -c "$eats"

# --- without such a limit there is no monitor
if [ "$CALLER" = nested ]; then
	note "the others trace"
elif ! command -v strace >/dev/null; then
	skip "what a run without such a limit does" "strace is not installed"
else
	base_profile
	strace -f -o "$T/calls" "$AGENTBOX" run --state "$STATE" -p "$P" -- true 2>/dev/null
	is "$(grep -c -e timerfd -e /sys/fs/cgroup -e libsystemd "$T/calls")" 0 "a plain run looks for no cgroup, loads no library for one and sets no timer"
	base_profile "limits: {memory: 64M}"
	strace -f -o "$T/calls" "$AGENTBOX" run --state "$STATE" -p "$P" -- true 2>/dev/null
	like "$(grep -c -e timerfd -e /sys/fs/cgroup "$T/calls")" '^[1-9]' "one with it does (control)"
	is "$(grep -c libsystemd "$T/calls")" 0 "and loads none either: nothing asked for a scope"
	is "$(grep -o 'timerfd_create([A-Z_]*' "$T/calls" | sort -u)" 'timerfd_create(CLOCK_MONOTONIC' "its clock stands still while the machine is suspended"
fi
done_testing
