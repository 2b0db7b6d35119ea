#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job under the shipped default profile: a shell edits a real tree, a program reads a table
# and writes a report beside it; what lies elsewhere on the host is out of reach for both.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
# A profile is the caller's own or root's.
cp "$LIVE/shipped/default.yaml" "$T/default.yaml"
box() {
	"$AGENTBOX" run --state "$STATE" -p "$T/default.yaml" -w "$WS" -- "$@"
}
mkdir "$WS/src"
printf 'int main(void) { return 1; }\n' >"$WS/src/main.c"
printf 'name,amount\napples,3\npears,4\nplums,5\n' >"$WS/sales.csv"
printf 'private\n' >"$T/other"

expect_rc 0 "a shell edits the tree" box sh -c '
	sed -i "s/return 1/return 0/" src/main.c && mkdir -p out && mv src/main.c out/main.c &&
	rmdir src && printf "done\n" >>out/log'
is "$(cat "$WS/out/main.c")" "int main(void) { return 0; }" "the edit is on disk"
is "$(cat "$WS/out/log")" "done" "so is the new file"
check_not "the directory is gone" test -e "$WS/src"
is "$(stat -c %u "$WS/out/log")" "$(stat -c %u "$WS")" "it belongs to whom the tree belongs"

cat >"$WS/report.py" <<'PY'
import csv, sys
with open("sales.csv", newline="") as f:
    rows = list(csv.DictReader(f))
total = sum(int(r["amount"]) for r in rows)
with open("report.md", "w") as f:
    f.write("# Sales\n\n%d rows, %d in all\n" % (len(rows), total))
try:
    open(sys.argv[1]).read()
    sys.exit(3)
except OSError:
    pass
PY
python=$(PATH=/usr/bin:/bin command -v python3) || python=
if [ -n "$python" ]; then
	expect_rc 3 "the same program outside reads the other file (control)" \
		env -C "$WS" "$python" report.py "$T/other"
	rm -f "$WS/report.md"
	expect_rc 0 "a Python program reads the table, and nothing else" box "$python" report.py "$T/other"
	is "$(tail -n 1 "$WS/report.md")" "3 rows, 12 in all" "and writes the report"
else
	skip "a Python program" "no python3 in /usr/bin"
fi
done_testing
