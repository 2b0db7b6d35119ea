#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Memory of init holds nothing of the profile, the caller's environment or agentbox's argv.
# DESIGN 6.12. Only root can look.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers root
# A sanitizer keeps everything mapped.
if [ "${AGENTBOX_SANITIZED:-}" = 1 ]; then
	pass "not under a sanitizer, by nature"
	done_testing
	exit
fi

# Pieces, so that this script's own text and argv of the reader are no hits.
M=$(printf 'mk%s' "$RANDOM$RANDOM")
mkdir "$T/dir-$M-name"
P=$T/dir-$M-name/p.yaml
cat >"$P" <<YAML
# a comment: $M-comment
version: 1
params:
  note: {required: true}
sandbox:
  roots:
    - {path: "$WS", mode: rw}
    - {path: "$T/bin", mode: ro}
permissions:
  policy_model: rules
  agents:
    me: allow
    other-$M-agent:
      rules:
        - {operations: [read], paths: ["/elsewhere/$M-rule/**"], mode: allow}
YAML
export PARENT_SECRET="$M-environment"
"$AGENTBOX" run --state "$STATE" -p "$P" -a me --param note="$M-argv" -- "$PROBE" sleep 600 "memtok-$$" &
sup=$!
pid=$(host_pid "memtok-$$")
if [ -z "$pid" ]; then
	fail "the command runs"
	done_testing
fi
init=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status")
cat >"$T/scan.py" <<'PY'
import re, sys
pid, marker = sys.argv[1], sys.argv[2].encode()
found, size, regions = set(), 0, 0
mem = open("/proc/%s/mem" % pid, "rb", 0)
for line in open("/proc/%s/maps" % pid):
    m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line)
    a, b = int(m[1], 16), int(m[2], 16)
    if m[3][0] != "r" or "[v" in line or b > 1 << 47:
        continue
    try:
        mem.seek(a)
        data = mem.read(b - a)
    except OSError:
        continue
    regions += 1
    size += len(data)
    for h in re.finditer(re.escape(marker) + rb"-([a-z]+)", data):
        found.add(h[1].decode())
    if marker in data and not found:
        found.add("bare")
print(regions > 3 and size > 4096, " ".join(sorted(found)))
PY
like "$(py "$T/scan.py" "$sup" "$M")" '^True .*argv.*environment' "the supervisor holds them (control)"
like "$(py "$T/scan.py" "$sup" "$M")" 'comment|rule|agent' "the profile too (control)"
is "$(py "$T/scan.py" "$init" "$M")" "True " "init holds none of them"
is "$(py "$T/scan.py" "$pid" "$M")" "True " "the command holds none of them"
kill "$sup"
wait "$sup" 2>/dev/null
done_testing
