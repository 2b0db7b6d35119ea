#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each exit status of the man page, by the example that stands beside it there.
. "$(dirname "$0")/lib.sh" || exit 1
live_setup() { # SOURCE
	cp "$1/man/agentbox.1" "$LIVE/page"
}
as_callers
awk '/^\.Sh EXIT STATUS/ { on = 1 } /^\.Sh EXAMPLES/ { on = 0 } on' "$LIVE/page" >"$T/section"
awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { exit } on' "$T/section" >"$WS/p.yaml"
check "the section has a profile" test -s "$WS/p.yaml"
# STATUS COMMAND LINE, one a line; - where there is no example.
awk '
	/^\.It / { if (status) print status, line == "" ? "-" : line; status = $2; line = "" }
	/^\.Dl / { sub(/^\.Dl /, ""); line = $0 }
	/^\.El/ { print status, line == "" ? "-" : line; exit }' "$T/section" >"$T/examples"
is "$(cut -d' ' -f1 "$T/examples" | tr '\n' ' ')" "any 120 121 122 123 124 125 126 127 " "all are there"
agentbox() {
	local verb=$1
	shift
	"$AGENTBOX" "$verb" --state "$STATE" "$@"
}
expect_rc 0 "the profile works (control)" agentbox run -p p.yaml -- true
tried=0
while read -r status line; do
	# What no example can reach is not used in this version, and the page says so.
	if [ "$line" = - ]; then
		is "$(awk -v s="$status" '$0 == ".It " s { on = 1; next } /^\.It / { on = 0 } on' \
			"$T/section" | grep -c 'not used in this version')" 1 "$status is not used"
		continue
	fi
	tried=$((tried + 1))
	rc=0
	(eval "$line") >"$T/out" 2>"$T/err" </dev/null || rc=$?
	[ "$status" != any ] || status=3
	is "$rc" "$status" "$line"
	case $status in
	12[0-2] | 12[4-7]) like "$(cat "$T/err")" "^agentbox: [^"$'\n'"]+$" "says why in one line" ;;
	esac
done <"$T/examples"
check "examples were run" test "$tried" -ge 8
done_testing
