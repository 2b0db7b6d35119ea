#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a developer's machine and a CI image run works inside, under the shipped profiles, with the
# same status and output as outside. The rows are in tools.py.
# P13, P63-P66, P83-P86.
# shellcheck disable=SC2034 # for lib.sh
. "${0%/*}/lib.sh"
as_callers

mkdir "$T/shipped"
echo a,1 >"$T/input.csv"
cp "$LIVE"/shipped/*.yaml "$T/shipped/"
for f in "$T"/shipped/*.yaml; do
	params=(-w "$WS")
	grep -q '^  input:' "$f" && params=(--param "input=$T/input.csv" --param "output=$WS")
	# Each decides as it is meant to; one that did not load would be 125.
	expect_rc '0|120|121' "shipped profile ${f##*/} loads" \
		"$AGENTBOX" check -p "$f" "${params[@]}" write_file "$WS/x"
	expect_rc 125 "shipped profile ${f##*/} asks for its workspace" \
		"$AGENTBOX" check -p "$f" write_file "$WS/x"
done
if [ -n "$PYTHON" ]; then
	py "$LIVE/lib/tools.py" "$AGENTBOX" "$T/shipped" "$WS" "$STATE" "$CALLER"
	rc=$?
	[ "$rc" -le 1 ] || fail "the matrix ended early, with status $rc"
	LIVE_FAILED=$((LIVE_FAILED + rc))
	no_sandbox_left "no sandbox is left"
else
	skip "the tool matrix" "no python3"
fi
done_testing
