#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Limits that the kernel holds for every caller: exact at n and n + 1, 124 when one ended the run,
# the command's own status when it only felt it. P15, P102-P104.
LIVE_TIMEOUT=250
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

run_json() { # ARGS...: the object in $T/j, the status in $rc
	rc=0
	"$AGENTBOX" run --json --state "$STATE" -p "$P" "$@" >"$T/j" 2>"$T/err" </dev/null || rc=$?
	return "$rc"
}
ended() { # LIMIT MECHANISM DESCRIPTION [WHAT PART OF THE BOUND IS ENOUGH, 1/N]
	is "$rc" 124 "$3: 124"
	json_is "$T/j" "(o['status'], o['limit'], o['limit_detail']['mechanism'], o['mechanisms']['limits']['$1']) == ('limit', '$1', '$2', '$2')" \
		"$3: named, by the $2"
	json_is "$T/j" "o['limit_detail']['reached'] >= o['limit_detail']['bound'] / ${4:-1} > 0 and 0 < o['limit_detail']['at_ms'] <= o['usage']['wall_ms']" \
		"$3: with the figure and the time"
}
# Tasks that can be there beside the one that counts: processes, and threads.
cat >"$WS/fork.py" <<'PY'
import os, sys, threading, time
most, kind, hold = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
n = 1
try:
    while n < most:
        if kind == "threads":
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        elif os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        n += 1
except (OSError, RuntimeError):
    pass
print(n, flush=True)
while hold and not os.path.exists(hold[0]):
    time.sleep(0.05)
os._exit(0)
PY
forks() { # WANT DESCRIPTION KIND
	expect_out "$1" "$2" ab -- "$PYTHON" -I "$WS/fork.py" 400 "$3"
}

# --- processes
base_profile "limits: {processes: 50}"
forks 50 "50 processes" processes
forks 50 "50 threads" threads
base_profile "limits: {processes: 51}"
forks 51 "51 processes" processes
base_profile
forks 400 "the default leaves room for 400 (control)" processes
expect_out 4097 "the default" ab -- bash -c 'ulimit -Hu'

# The same kernel uid has 1,500 tasks elsewhere; the sandbox counts its own.
base_profile "limits: {processes: 50}"
run_json -- true
json_is "$T/j" 'o["mechanisms"]["limits"]["processes"] == "rlimit"' "the mechanism"
uid=$(awk '$1 == "Uid:" { print $2 }' /proc/self/status)
[ "$CALLER" != root ] || uid=65525
other='
import threading, time, sys
threading.stack_size(65536)
for i in range(1499):
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
open(sys.argv[1], "w").close()
time.sleep(100)'
mkdir "$T/other"
if [ "$CALLER" = root ]; then
	chown "$uid" "$T/other"
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$PYTHON" -I -c "$other" "$T/other/up" &
else
	"$PYTHON" -I -c "$other" "$T/other/up" &
fi
busy=$!
wait_for test -e "$T/other/up" || fail "1,500 other tasks are there"
is "$(find /proc/$busy/task -mindepth 1 -maxdepth 1 | wc -l)" 1500 "1,500 other tasks are there"
forks 50 "50 processes beside them" processes
# Two at a time, each with a count of its own: the first has all of its when the second begins, and
# keeps them until that has ended.
ab -- "$PYTHON" -I "$WS/fork.py" 400 processes "$WS/over" >"$T/one" 2>/dev/null &
one=$!
wait_for test -s "$T/one" || fail "the first of two is full"
forks 50 "two sandboxes: one" processes
check "while the other was there" kill -0 "$one"
touch "$WS/over"
wait "$one"
is "$(cat "$T/one")" 50 "two sandboxes: the other"
kill "$busy"
wait "$busy" 2>/dev/null
# A user namespace within counts for those around it as well.
if [ "$CALLER" = user ]; then
	base_profile "limits: {processes: 50}
nested_sandboxes: true"
	expect_out 50 "50 processes in user namespaces of its own" ab -- unshare -Ur unshare -Ur "$PYTHON" -I "$WS/fork.py" 400 processes
fi

# A fork bomb ends with its time, and the host can start programs meanwhile.
base_profile "limits: {processes: 100, timeout: $((2 * ${AGENTBOX_SLOWER:-1}))s, grace: 100ms}"
rm -f "$WS/up"
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- bash -c 'touch up; f() { f | f & }; f; while :; do f; done' >"$T/j" 2>/dev/null &
bomb=$!
wait_for test -e "$WS/up" || fail "the fork bomb was started"
start=$(now_ms)
check "a program of the host starts beside a fork bomb" /bin/true
took=$(($(now_ms) - start))
is "$((took < SOON_MS ? 0 : took))" 0 "and soon"
# One program for all processes: a slow machine would look at each by itself for longer than it lasts.
count() {
	if [ "${LIVE_IS_PRIVATE:-0}" = 1 ]; then
		cat /proc/self/status /proc/[0-9]*/status 2>/dev/null |
			awk '/^NSpid:/ { if (own == 0) own = NF; n += NF > own } END { print n + 0 }'
	else
		sandbox_pids | wc -l
	fi
}
most=0 looks=0
while [ "$looks" -lt 5 ] && kill -0 "$bomb" 2>/dev/null; do
	n=$(count)
	[ "$n" -le 1 ] || looks=$((looks + 1))
	[ "$n" -le "$most" ] || most=$n
done
rc=0
wait "$bomb" || rc=$?
ended timeout supervisor "a fork bomb"
json_is "$T/j" 'o["mechanisms"]["limits"]["processes"] == "rlimit"' "and its processes by the kernel"
is "$((most > 1 && most <= 101 ? 0 : most))" 0 "it never had more than its 100"
no_sandbox_left "and nothing of it is left"

# --- open files, file size
base_profile "limits: {open_files: 64, file_size: 1M}"
opened='
import os
n = 0
try:
    while n < 500:
        n = os.open("/dev/null", 0) + 1
except OSError as e:
    pass
print(n)'
expect_out 64 "64 open files" ab -- "$PYTHON" -I -c "$opened"
expect_rc 0 "a file of the size" ab -- bash -c "head -c 1M /dev/zero >full"
is "$(stat -c %s "$WS/full")" 1048576 "it is there"
run_json -- bash -c "sleep 0.05; exec head -c 1048577 /dev/zero >more"
ended file_size rlimit "a byte more"
is "$(stat -c %s "$WS/more")" 1048576 "and was not written"
run_json -- bash -c "head -c 1048577 /dev/zero >more; exit 7"
is "$rc" 7 "a child that felt it"
json_is "$T/j" 'o["limit"] is None and o["limit_detail"] is None' "is no end by a limit"
run_json -- bash -c "sleep 0.05; exec truncate -s 10G sparse"
is "$(stat -c %s "$WS/sparse" 2>/dev/null || echo 0)" 0 "a sparse file of 10 GB"
ended file_size rlimit "and its end"
base_profile
expect_out 500 "more open files (control)" ab -- "$PYTHON" -I -c "$opened"
expect_out 1024 "the default of open files" ab -- bash -c 'ulimit -Hn'
expect_rc 0 "a larger file (control)" ab -- bash -c "head -c 1048577 /dev/zero >more; truncate -s 10G sparse"
rm -f "$WS/sparse"
# A caller that is bound more tightly stays so.
expect_out 200 "the caller's own limit" bash -c "ulimit -n 200; exec \"\$@\"" - "$AGENTBOX" run --state "$STATE" -p "$P" -- bash -c 'ulimit -Hn'

# --- processor time
base_profile "limits: {cpu_time: 1s}"
run_json -- bash -c 'while :; do :; done'
ended cpu_time rlimit "a spinner" 2
json_is "$T/j" 'o["signal"] == 24' "by SIGXCPU"
run_json -- bash -c 'trap "" XCPU; while :; do :; done'
ended cpu_time rlimit "one that ignores the signal" 2
json_is "$T/j" 'o["signal"] == 9 and o["usage"]["cpu_ms"] >= 1000' "is killed"
run_json -- bash -c 'bash -c "while :; do :; done"; echo went on'
is "$rc" 0 "a child that died of it"
json_is "$T/j" '"went on" in o["output"] and o["limit"] is None' "is no end by a limit"
run_json -- bash -c 'kill -XCPU $$'
is "$rc" 152 "the signal alone is no limit"
json_is "$T/j" 'o["status"] == "signaled" and o["limit"] is None' "and named none"
run_json -- sleep 1.5
is "$rc" 0 "sleeping is no processor time"

# --- output
base_profile "limits: {output: 1M, on_output_limit: kill}"
beside run_json -- bash -c 'sleep 0.1; exec yes'
ended output supervisor "yes"
soon_beside "yes"
json_is "$T/j" 'len(o["output"]) == 1048576 and o["omitted_bytes"] == o["output_bytes"] - 1048576 > 0' "what fits arrived"
ab -- yes 2>"$T/err" | cat >"$T/out"
is "${PIPESTATUS[0]}:$(stat -c %s "$T/out")" 124:1048576 "streamed"
like "$(cat "$T/err")" 'limits\.output' "the notice names the limit"
run_json -- "$PROBE" spew 1048576
is "$rc" 0 "one that just fits"
base_profile "limits: {output: 1M, on_output_limit: drain}"
run_json -- "$PROBE" spew 3000000
is "$rc" 0 "drained"
json_is "$T/j" 'o["truncated"] and o["omitted_bytes"] == 3000000 - 1048576 and o["limit"] is None and o["limits_felt"] == ["output"]' "counted, and felt"

ab -- bash -c "$PROBE spew 1000000000; touch spewed; sleep 600" >/dev/null 2>&1 &
sup=$!
wait_for test -e "$WS/spewed" || fail "1 GB was written"
sup=$(pgrep -P "$sup" -x agentbox 2>/dev/null || echo "$sup")
hwm=$(awk '/^VmHWM/ { print $2 }' "/proc/$sup/status")
kill "$sup"
wait
is "$((hwm > 0 && hwm < 4096 ? 0 : hwm))" 0 "1 GB went through less than 4 MB of memory (KiB: $hwm)"

# --- usage
base_profile
run_json -- bash -c 'head -c 3M /dev/zero >/tmp/x; head -c 1M /dev/zero >/dev/shm/y; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
json_is "$T/j" '4 << 20 <= o["usage"]["scratch_bytes"] < 5 << 20 and o["usage"]["scratch_files"] >= 2' "the scratch in use"
json_is "$T/j" 'o["usage"]["cpu_ms"] == o["usage"]["cpu_user_ms"] + o["usage"]["cpu_sys_ms"] > 0' "processor time"

run_json -- "$PYTHON" -I -c 'import time; x = bytearray(64 << 20); time.sleep(1)'
json_is "$T/j" 'o["usage"]["wall_ms"] >= o["usage"]["cpu_ms"] + 900 and o["usage"]["max_rss_bytes"] >= 64 << 20' "time that passed, and the largest process"
json_is "$T/j" '(o["usage"]["memory_peak_bytes"], o["usage"]["processes_peak"], o["usage"]["throttled_ms"], o["output_bytes"], o["omitted_bytes"]) == (None, None, 0, 0, 0)' \
	"what nothing counted is null"

# --- kernel uid 0, which the kernel holds to no number of processes: watched
if [ "$CALLER" = root ]; then
	one() { # ARGS...: root of a user namespace with one id
		rc=0
		unshare -Ur "$AGENTBOX" run --json --state "$T/state-one" -p "$P" -- "$@" >"$T/j" 2>"$T/err" </dev/null || rc=$?
	}
	base_profile "limits: {processes: 30}"
	one bash -c 'for ((i = 0; i < 60; i++)); do sleep 600 & done; wait'
	ended processes monitor "processes of kernel uid 0"
	json_is "$T/j" 'o["usage"]["processes_peak"] == o["limit_detail"]["reached"] > 30' "with the peak"
	one bash -c 'for ((i = 0; i < 9; i++)); do sleep 2 & done; wait'
	is "$rc" 0 "fewer (control)"
	json_is "$T/j" '2 <= o["usage"]["processes_peak"] <= 30 and o["limit"] is None' "and their peak"
	no_sandbox_left "nothing of them is left"
fi

# --- the scratch, in bytes and in files
base_profile "scratch: {size: 16M, files: 100}"
beside run_json -- bash -c 'dd if=/dev/zero of=/tmp/f bs=1M count=64 2>&1; echo left'
soon_beside "a filler of the scratch"
json_is "$T/j" '"No space left" in o["output"] and "left" in o["output"] and o["rc"] == 0' "a filler of bytes meets ENOSPC"
run_json -- bash -c 'for ((i = 0; i < 200; i++)); do : >/dev/shm/$i || break; done; echo $i'
json_is "$T/j" '"No space left" in o["output"] and 80 < int(o["output"].split()[-1]) < 100' "a filler of files too"
base_profile
run_json -- bash -c 'dd if=/dev/zero of=/tmp/f bs=1M count=64 2>&1 && for ((i = 0; i < 200; i++)); do : >/dev/shm/$i || exit 9; done'
is "$rc" 0 "by default there is room for both (control)"

# --- what a package runs when it is installed is bound as everything else is
if [ "$CALLER" != user ]; then
	note "once is enough"
elif ! command -v npm >/dev/null; then
	skip "the script of a package" "npm is not installed"
else
	mkdir lib app
	cat >lib/post.sh <<-SH
		"$PYTHON" -I "$WS/fork.py" 400 processes >"$WS/count"
		head -c 2000000 /dev/zero >"$WS/large"
		echo "\$HOME" >"$WS/home"
		"$PYTHON" -I -c 'import errno, socket
		try: socket.create_connection(("192.0.2.1", 80), 5)
		except OSError as e: print(errno.errorcode[e.errno])' >"$WS/connect"
		:
	SH
	echo '{"name": "lib", "version": "1.0.0", "scripts": {"postinstall": "sh post.sh"}}' >lib/package.json
	echo '{"name": "app", "version": "1.0.0"}' >app/package.json
	base_profile "limits: {processes: 60, file_size: 1M}"
	expect_rc 0 "npm installs a package" ab --workdir "$WS/app" -- npm install --offline --no-audit --no-fund --foreground-scripts --install-links "$WS/lib"
	is "$(($(cat count) > 1 && $(cat count) < 60))" 1 "its script has no more than the processes of all ($(cat count))"
	is "$(stat -c %s large):$(cat home):$(cat connect)" 1048576:/home/agent:ENETUNREACH "nor a larger file, nor another home, nor a network"
	is "$(ls -A "$T/home")" "" "and the host's home is what it was"
fi

# --- many runs that end by their time, four at once. Alone in a pid namespace, every process there
# is is counted.
timed_out() { # RUNS OF EACH OF FOUR, MILLISECONDS: each tells when all four of its processes are there
	local i j four=()
	rm -f there
	for j in 1 2 3 4; do
		for ((i = 0; i < $1; i++)); do
			ab --timeout "$2ms" -- bash -c 'trap "" TERM; for i in 1 2 3 4; do sleep 50 & done; echo >>there; wait' >/dev/null 2>&1
			echo $?
		done >"$T/rc.$j" &
		four+=($!)
	done
	wait "${four[@]}"
	there=$(cat there 2>/dev/null | wc -l)
}
if [ "$CALLER" != nested ]; then
	base_profile "limits: {grace: 10ms}"
	as_before() {
		now=(/proc/[0-9]*)
		[ "${now[*]}" = "${before[*]}" ]
	}
	before=(/proc/[0-9]*)
	# A time in which most get there, however slow this is.
	for ((ms = 40; ms < EVER_MS; ms *= 2)); do
		timed_out 1 "$ms"
		[ "$there" != 4 ] || break
	done
	timed_out 75 "$ms"
	is "$(sort "$T"/rc.[1-4] | uniq -c | xargs)" "300 124" "300 runs end by their time"
	is "$((there >= 100 && there <= 300 ? 0 : there))" 0 "most of them with all their processes ($there, in $ms ms)"
	no_sandbox_left "they left no process"
	if [ "$LIVE_IS_PRIVATE" = 1 ]; then
		wait_for as_before
		is "${now[*]}" "${before[*]}" "every process of this pid namespace is what it was before them"
		sleep 600 &
		check_not "one more is seen (control)" as_before
		kill $!
		wait $! 2>/dev/null
	fi
fi
done_testing
