#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A name in a root that leads to what is allowed and to what is not, by turns, while it is asked for:
# what was judged is what is met (R010).
. "${0%/*}/lib.sh"
as_callers
mkdir -p "$T/outside" "$WS/denied" "$WS/d" "$WS/e"
echo OUTSIDE >"$T/outside/f"
echo DENIED >"$WS/denied/f"
for d in d e; do
	echo allowed >"$WS/$d/f"
done
echo allowed >"$WS/file"
ln -s "$T/outside" "$WS/d.out"
ln -s denied "$WS/e.denied"
ln -s denied/f "$WS/file.denied"
profile swaps <<YAML
sandbox: {roots: [{path: "$WS", at: /ws, mode: rw}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [read, write], paths: ["/ws/denied/**"], mode: deny}
        - {operations: [read, write], paths: ["/ws/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
NAMES=(d/f e/f file)
guarded() { # the files that must be neither read nor written
	stat -c '%i %s %Y %n' "$T/outside/f" "$WS/denied/f"
	cat "$T/outside/f" "$WS/denied/f"
}
before=$(guarded)
c() {
	"$AGENTBOX" check -p "$P" "$@"
}
t() {
	"$AGENTBOX" tool --state "$STATE" -p "$P" "$@"
}

# --- standing still: what is to be read, and what the other end of each link is
for n in "${NAMES[@]}"; do
	expect_rc 0 "check: /ws/$n (control)" c read_file "/ws/$n"
	expect_out allowed "run: reads it" ab -- cat "/ws/$n"
	expect_out allowed "tool: reads it" t read "/ws/$n"
done
for n in d.out/f e.denied/f file.denied; do
	expect_rc '120|121' "check: not /ws/$n" c read_file "/ws/$n"
	expect_rc '1|120|121' "run: neither" ab -- cat "/ws/$n"
	expect_rc '120|121' "tool: neither" t read "/ws/$n"
	outside Y "there is something (control)" read "$WS/$n"
done

# --- swapped all the time
"$PYTHON" -I "$LIVE/lib/swap.py" 2000 "$T/swapped" "$WS/d" "$WS/d.out" "$WS/e" "$WS/e.denied" \
	"$WS/file" "$WS/file.denied" 2>"$T/swap-err" &
swapper=$!
: >"$T/read"
: >"$T/checks"
for _ in {1..8}; do
	for n in "${NAMES[@]}"; do
		c read_file "/ws/$n" >/dev/null 2>&1
		echo $? >>"$T/checks"
		ab -- cat "/ws/$n"
		t read "/ws/$n"
		# Of a file alone the new one would take the place of the link, if it is there by then.
		[ "$n" = file ] || t write "/ws/$n" <<<allowed
	done
done >>"$T/read" 2>"$T/said"
# In one sandbox, until each name was met both ways often, which is a matter of a moment.
# shellcheck disable=SC2016 # for the shell inside
ab -- sh -c 'for n in "$@"; do
	met=0 not=0 left=2000000
	while { [ $met -lt 300 ] || [ $not -lt 300 ]; } && [ $left -gt 0 ]; do
		left=$((left - 1)) text=
		{ read -r text </ws/$n; } 2>/dev/null
		case $text in
		allowed) met=$((met + 1)) ;;
		"") not=$((not + 1)) ;;
		*) echo "$text" ;;
		esac
	done
	echo "$n $((met >= 300)) $((not >= 300))"
done' sh "${NAMES[@]}" >"$T/inside" 2>"$T/err"
kill "$swapper"
wait "$swapper"
is "$? $(cat "$T/swap-err")" "0 " "the names were swapped"
is "$(($(cat "$T/swapped") >= 2000))" 1 "two thousand times and more"
is "$(sort -u "$T/read")" allowed "run and tool read what is allowed, and nothing else"
is "$(grep -vxE '0|120|121' "$T/checks")" "" "check answers"
is "$(cat "$T/inside")" "$(printf '%s 1 1\n' "${NAMES[@]}")" "a program meets what is allowed, or nothing"
unlike "$(cat "$T/said")" "OUTSIDE|DENIED" "nor do messages tell of it"
is "$(guarded)" "$before" "what was written went nowhere else"
for n in "${NAMES[@]}"; do
	expect_out allowed "standing still again: $n (control)" t read "/ws/$n"
done
unlike "$(cat "$T/said")" "Too many levels" "what happened and what to do is said in our words"
# What a start may meet that is as busy, each time: a link where the decision was on none.
told() { # CALL
	expect_rc 125 "a link that came meanwhile, as $1 tells it" "$DENY" ELOOP "$1" -- \
		"$AGENTBOX" run --state "$STATE" -p "$P" -- cat /ws/file
	like "$(cat "$T/err")" "symbolic link stands .*try again" "$1: is told as that"
	unlike "$(cat "$T/err")" "Too many levels" "$1: and not in the kernel's words"
}
if [ -n "$DENY" ]; then
	told openat2
	told open_tree
	told move_mount
else
	skip "links that come meanwhile" "no filter here"
fi
ln -s loop-b "$T/loop-a"
ln -s loop-a "$T/loop-b"
sed "s|$WS|$T/loop-a|" "$P" >"$T/loop.yaml"
expect_rc 125 "a root that is a loop of links" "$AGENTBOX" run --state "$STATE" -p "$T/loop.yaml" -- true
like "$(cat "$T/err")" "loop.yaml:1:[0-9]+: root '.*loop-a': a symbolic link stands in the way, a loop" \
	"is told with its place"
no_sandbox_left "no process is left"
done_testing
