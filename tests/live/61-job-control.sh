#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Job control on a terminal: ^Z, fg, bg, suspend and resume, inside and outside. The cases are in
# terminal.py. P01, P03, P05, P08.
# shellcheck disable=SC2034 # for lib.sh
LIVE_TIMEOUT=280
. "${0%/*}/lib.sh"
as_callers

if [ -z "$PYTHON" ]; then
	skip "terminals" "no python3"
	done_testing
fi
"$PYTHON" "$LIVE/lib/terminal.py" "$AGENTBOX" "$PROBE" "$P" "$WS" "$STATE" jobs
rc=$?
[ "$rc" -le 1 ] || fail "it ended early, with status $rc"
LIVE_FAILED=$((LIVE_FAILED + rc))
no_sandbox_left "no sandbox is left"
done_testing
