#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# README.md: its quick start, pasted into a terminal on a clean tree, works; so do its snippets, and
# what it says of bubblewrap is so.
# shellcheck disable=SC2034 # for lib.sh
LIVE_TIMEOUT=900
live_setup() { # SOURCE: once, by who can read it; build directories stay behind
	local f
	mkdir "$LIVE/source"
	for f in "$1"/*; do
		[ -d "$f/meson-private" ] || cp -r "$f" "$LIVE/source/"
	done
}
. "$(dirname "$0")/lib.sh" || exit 1
as_callers root user
block() { # KIND N
	awk -v kind="$1" -v want="$2" '
		!/^```/ { if (open && take) print; next }
		open { open = 0; next }
		{ open = 1; take = $0 == "```" kind && ++n == want }' "$LIVE/source/README.md"
}
# The state of root is where it is, whatever the environment says: give it one of this test's.
if [ "$EUID" = 0 ]; then
	if [ "$LIVE_IS_PRIVATE" != 1 ] || ! mount -t tmpfs tmpfs /var/lib; then
		note "no namespace of its own: root would write to the machine's audit log"
		done_testing
	fi
fi
for tool in meson ninja pkg-config cc python3 make; do
	command -v "$tool" >/dev/null || {
		skip "the quick start" "$tool is not installed"
		done_testing
	}
done
cp -r "$LIVE/source" "$T/tree"
mkdir "$T/home/my-project"
cat >"$T/home/my-project/Makefile" <<'E'
test: sum
	./sum 1 2 | grep -qx 3 && echo all tests passed
sum: sum.c
	$(CC) -O2 -o $@ $<
E
cat >"$T/home/my-project/sum.c" <<'E'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { return argc < 3 || printf("%d\n", atoi(argv[1]) + atoi(argv[2])) < 0; }
E
block sh 1 >"$T/1"
block sh 2 >"$T/2"
block sh 3 >"$T/3"
echo 'cd ~/my-project' >"$T/cd"
check "there are three blocks of shell" test -s "$T/3"
py "$LIVE/lib/paste.py" "$T/tree" "$T/1" '2 stock.csv' "$T/cd" '' "$T/2" 'all tests passed' \
	>"$T/shown" 2>&1
is $? 0 "the quick start, pasted"
tail -n 60 "$T/shown" >"$T/out"
grep -E '^(2 stock.csv|all tests|touch:|=>)' "$T/shown" >"$T/lines"
is "$(cat "$T/lines")" "touch: cannot touch '/usr/mark': Read-only file system
2 stock.csv
=> 0
=> 0
all tests passed
=> 0" "shows what it says"
[ "$LIVE_FAILED" = 0 ] || tail -n 60 "$T/shown" | diag 60
is "$(ls -A "$T/home/box" | tr '\n' ' ')" "report.txt stock.csv " "the workspace has the report"
check_not "and /usr no mark" test -e /usr/mark
is "$(ls -A "$T/home/my-project" | tr '\n' ' ')" "Makefile sum sum.c " "a project's own tests were built there"

# --- one command from the clone, with the profile of the file
printf 'apples,3\npears,4\n' >"$WS/stock.csv"
cd "$T/tree" || exit 1
expect_rc 0 "./bootstrap run: a shell" ./bootstrap run -p profiles/default.yaml -w "$WS" -- sh -c 'echo x >f'
is "$(cat "$WS/f")" x "edits the real tree"
expect_rc 0 "./bootstrap run: Python" ./bootstrap run -p profiles/default.yaml -w "$WS" -- "$PYTHON" -c '
import csv
with open("stock.csv") as stock, open("report.txt", "w") as report:
    print(sum(int(row[1]) for row in csv.reader(stock)), file=report)'
is "$(cat "$WS/report.txt")" 7 "reads a table and writes a report there"
expect_rc 1 "./bootstrap run: elsewhere" ./bootstrap run -p profiles/default.yaml -w "$WS" -- sh -c "echo x >'$T/tree/f' || exit 1"
check_not "nothing is written" test -e "$T/tree/f"
rm "$WS/f" "$WS/report.txt" "$WS/stock.csv"

# --- around a bash tool
PATH=$LIVE:$PATH
prefix=$(grep -o '`agentbox run [^`]* -c`' "$LIVE/source/README.md" | tr -d '`')
cd "$WS" || exit 1
is "$(eval "$prefix"' '\''echo "$container"; echo $((6 * 7))'\' 2>&1)" $'agentbox\n42' "a prefix: $prefix"
printf 'all:\n\t@echo "in $$container"\n' >Makefile
is "$(bash "$T/3" 2>&1)" "in agentbox" "a shell that make calls"
is "$(make -s SHELL=/bin/sh 2>&1)" "in " "outside without it (control)"
rm -f Makefile box-sh
{
	block python 1
	cat <<'E'
import sys
ws = sys.argv[1]
r = bash("echo hi; echo there >&2; exit 3", ws)
assert (r["rc"], r["output"], r["started"]) == (3, "hi\nthere\n", True), r
r = bash("sleep 60", ws, "300ms")
assert (r["rc"], r["status"]) == (124, "limit"), r
r = bash("true", "/etc")
assert (r["rc"], r["started"]) == (125, False) and "/etc" in r["error"]["message"], r
E
} >"$T/snippet.py"
check "the Python snippet" py "$T/snippet.py" "$WS"
{
	block js 1
	cat <<'E'
const assert = require('node:assert');
(async () => {
	const ws = process.argv[2];
	let r = await bash('echo hi; echo there >&2; exit 3', ws);
	assert.deepStrictEqual([r.rc, r.output, r.started], [3, 'hi\nthere\n', true]);
	r = await bash('sleep 60', ws, '300ms');
	assert.deepStrictEqual([r.rc, r.status], [124, 'limit']);
	r = await bash('true', '/etc');
	assert.deepStrictEqual([r.rc, r.started], [125, false]);
})();
E
} >"$T/snippet.js"
if command -v node >/dev/null; then
	check "the Node snippet" node "$T/snippet.js" "$WS"
else
	skip "the Node snippet" "node is not installed"
fi
block yml 1 | awk '/run: [|]/ { on = 1; next } on { sub(/^    /, ""); print }' >"$T/ci"
is "$(grep -c '^agentbox' "$T/ci")" 2 "the step of a job has two commands"
rm -f "$T/home/my-project/sum"
cd "$T/home/my-project" || exit 1
expect_rc 0 "it runs" sh -e "$T/ci"
like "$(cat "$T/out")" "all tests passed" "the tests of the project"
echo 'test: ; false' >Makefile
expect_rc 2 "it fails" sh -e "$T/ci"
like "$(cat "$T/err")" "Makefile:1: test" "with them"

# --- beside bubblewrap: each row of the table
command -v bwrap >/dev/null || {
	skip "the comparison" "bwrap is not installed"
	done_testing
}
cd "$WS" || exit 1
B=(bwrap --ro-bind / / --proc /proc --dev /dev)
A=(agentbox run -q -p default -w .)
rows() {
	awk '/^## Beside bubblewrap/ { on = 1 } /^## What is not/ { on = 0 } on && /^\|/' "$LIVE/source/README.md"
}
is "$(rows | sed 1,2d | cut -d'|' -f2 | tr -s ' ' | tr '\n' ';')" \
	" network ; environment ; other open descriptors ; system calls ; set-up fails ; limits of time, output, memory, processes ; who may do what, and a log of it ; any layout of mounts ;" \
	"the table has the rows that are tested here"
own=$(readlink /proc/self/ns/net)
is "$("${B[@]}" readlink /proc/self/ns/net)" "$own" "bwrap: the network is the host's"
unlike "$("${B[@]}" --unshare-net readlink /proc/self/ns/net)" "^${own//[/\\[}$" "unless --unshare-net"
unlike "$("${A[@]}" -- readlink /proc/self/ns/net)" "^${own//[/\\[}$" "agentbox: it is not"
export README_TEST=there
is "$("${B[@]}" printenv README_TEST)" there "bwrap: the environment is the caller's"
is "$("${B[@]}" --clearenv /usr/bin/env printenv README_TEST)" "" "unless --clearenv"
is "$("${A[@]}" -- printenv README_TEST)" "" "agentbox: it is not"
is "$("${A[@]}" --env README_TEST -- printenv README_TEST)" there "but what is named"
echo seven >"$T/seven"
is "$("${B[@]}" sh -c 'cat <&7' 7<"$T/seven" 2>&1)" seven "bwrap: other descriptors are passed on"
unlike "$("${A[@]}" -- sh -c 'cat <&7' 7<"$T/seven" 2>&1)" seven "agentbox: they are closed"
is "$("${B[@]}" awk '/^Seccomp:/ { print $2 }' /proc/self/status)" \
	"$(awk '/^Seccomp:/ { print $2 }' /proc/self/status)" "bwrap: no filter of its own"
is "$("${A[@]}" -- awk '/^Seccomp:/ { print $2 }' /proc/self/status)" 2 "agentbox: one"
expect_rc 1 "bwrap: set-up that fails" bwrap --ro-bind /no/such /x true
expect_rc 1 "bwrap: a command that fails" "${B[@]}" sh -c 'exit 1'
expect_rc 125 "agentbox: set-up that fails" agentbox run -p default -w /no/such -- true
expect_rc 1 "agentbox: a command that fails" "${A[@]}" -- sh -c 'exit 1'
is "$(bwrap --help | grep -ciE 'timeout|limit|audit|policy')" 0 "bwrap: no such limits, rules or log"
expect_rc 124 "agentbox: a limit of time" "${A[@]}" --timeout 300ms -- sleep 60
printf 'extends: [builtin:default]\nsandbox: {limits: {memory: 64M, processes: 20}}\n' >"$T/limits.yaml"
agentbox run --json -p "$T/limits.yaml" -w . -- tail /dev/zero >"$T/tail"
json_is "$T/tail" 'o["rc"] != 0 and o["usage"]["max_rss_bytes"] < 128 << 20' "agentbox: one of memory"
many='for ((i = 0; i < $0; i++)); do sleep 60 & done 2>/dev/null; jobs -r | wc -l'
is "$(agentbox run -q -p "$T/limits.yaml" -w . -- bash -c "$many" 10)" 10 "agentbox: ten processes of twenty"
unlike "$(agentbox run -q -p "$T/limits.yaml" -w . -- bash -c "$many" 30)" 30 "agentbox: not thirty"
expect_rc 120 "agentbox: who may" "${A[@]}" -a stranger -- true
expect_rc 0 "agentbox: a log" agentbox audit verify
expect_rc 0 "bwrap: any place" "${B[@]}" --bind "$WS" /opt touch /opt/placed
check "takes it" rm "$WS/placed"
printf 'sandbox: {roots: [{path: "%s", at: /opt}]}\npermissions: {agents: {me: allow}}\n' "$WS" >"$T/opt.yaml"
expect_rc 125 "agentbox: not this one" agentbox run -p "$T/opt.yaml" -- true
like "$(cat "$T/err")" "/opt" "for its place"
done_testing
