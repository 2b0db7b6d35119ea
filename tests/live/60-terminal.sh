#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A terminal of the sandbox's own, relayed: what it is, and that the caller's is put back however
# the run ends. The cases are in terminal.py. P01, P02, P04-P10, P16.
# shellcheck disable=SC2034 # for lib.sh
LIVE_TIMEOUT=280
. "${0%/*}/lib.sh"
as_callers

if [ -z "$PYTHON" ]; then
	skip "terminals" "no python3"
	done_testing
fi
for part in relay ends; do
	"$PYTHON" "$LIVE/lib/terminal.py" "$AGENTBOX" "$PROBE" "$P" "$WS" "$STATE" "$part"
	rc=$?
	[ "$rc" -le 1 ] || fail "$part ended early, with status $rc"
	LIVE_FAILED=$((LIVE_FAILED + rc))
done
no_sandbox_left "no sandbox is left"
done_testing
