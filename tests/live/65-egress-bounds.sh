#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a network by name takes of its host, at most: connections, memory, descriptors. And what is
# said where there are too few of these.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
LIVE_TIMEOUT=280
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "the bounds of a network by name" "servers of its own need root"
	done_testing
fi
# A sanitizer has shadows of its own.
scale=1
! grep -qa __asan_init "$AGENTBOX" || scale=16
relay_memory() { # MOST NAME
	find_relays
	rss=$(awk '/^VmRSS:/ { print $2 }' "/proc/$relay/status")
	check "$2 ($rss kB)" test "$rss" -lt $(($1 * scale))
}
end_it() {
	kill "$sup"
	wait "$sup" 2>/dev/null
	no_sandbox_left "no process is left of it"
}

# --- descriptors: each message says what, and what to do ---
egress_profile '["web.example.test:80,443,7002,7005"]'
few() { # FILES
	prlimit --nofile="$1:$1" "$AGENTBOX" run --state "$STATE" -p "$P" -- curl -sS http://web.example.test/few
}
least=$(few 100 2>&1 | sed -n 's/.*takes \([0-9]*\) open files at least.*/\1/p')
like "$least" '^[0-9]+$' "the number is told"
expect_rc 125 "one descriptor too few" few $((least - 1))
like "$(cat "$T/err")" "takes $least open files at least, and the limit is $((least - 1)): raise it [(]ulimit -Hn" "is told as that"
like "$(few "$least" 2>&1)" "path=/few" "just enough"
for n in 8 12 16 20 24 28 32 48; do
	expect_rc 125 "$n descriptors" few "$n"
	like "$(cat "$T/err")" "[Oo]pen files.*ulimit" "are said to be too few"
done
is "$(prlimit --nofile=1024:1024 "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'ulimit -n')" 1024 "the command has what it would have"

# --- connections ---
if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 4096 ]; then
	skip "1024 connections" "the limit of open files is $(ulimit -Hn)"
	done_testing
fi
sed -i 's/^  network:/  limits: {open_files: 3000}\n&/' "$P"
ab_start -- python3 -I "$LIVE/lib/egress-client.py" cap 1024 300 >"$T/cap"
wait_for grep -q . "$T/cap" || fail "1024 connections are begun"
is "$(cat "$T/cap")" "1024 bye" "1024 connections live at a time; one more waits until one of them ends"
relay_memory 32768 "little memory is taken by them"
end_it
ab_start -- python3 -I "$LIVE/lib/egress-client.py" blocked 200 >"$T/blocked"
wait_for grep -q 200 "$T/blocked" || fail "200 connections are blocked"
relay_memory 98304 "and bounded by those that take nothing"
used=$(awk '{ print $14 + $15 }' "/proc/$relay/stat")
sleep 1
used=$(($(awk '{ print $14 + $15 }' "/proc/$relay/stat") - used))
check "which cost no time ($used ticks in 1 s)" test "$used" -lt 25
end_it
# 1024 descriptors are for half as many connections.
least=$(((1024 - least + 2) / 2))
expect_out "$least bye" "so many descriptors, so many connections" prlimit --nofile=1024:1024 \
	"$AGENTBOX" run --state "$STATE" -p "$P" -- python3 -I "$LIVE/lib/egress-client.py" cap "$least"
done_testing
