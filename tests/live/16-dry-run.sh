#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# --dry-run prints the plan and does nothing.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
before=$(tree_of "$WS")
expect_rc 0 "a dry run" ab --dry-run -- touch "$WS/ran"
cp "$T/out" "$T/plan"
json_is "$T/plan" 'isinstance(o, dict) and o' "prints one JSON object"
json_is "$T/plan" '"touch" in json.dumps(o) and "'"$WS"'" in json.dumps(o)' "with the command and the root"
json_is "$T/plan" '"agentbox" in json.dumps(o) and "65536" in json.dumps(o)' "the host name and the scratch's limits"
check_not "nothing ran" test -e "$WS/ran"
is "$(tree_of "$WS")" "$before" "the workspace is as it was"
check_not "no state was made" test -e "$STATE"
ab --dry-run -- touch "$WS/ran" >"$T/plan2" 2>/dev/null
check "the same again prints the same plan" cmp "$T/plan" "$T/plan2"
expect_rc 120 "a dry run of what is denied" ab --dry-run -a stranger -- true
expect_rc 125 "of a broken profile" "$AGENTBOX" run --dry-run -p "$T/none" -- true
expect_rc 121 "of what lies outside" ab --dry-run --workdir "$T/home" -- true
expect_rc 0 "the real one (control)" ab -- touch "$WS/ran"
check "ran" test -e "$WS/ran"
export SECRET_NAME=hush-hush
base_profile "env: {pass: [SECRET_NAME]}"
expect_rc 0 "a dry run with a secret" ab --dry-run -- true
unlike "$(cat "$T/out")" hush-hush "does not print its value"
# Names that are no text, in every place that has one.
odd=$T/$'odd\xff\e[31m'
mkdir -p "$odd/sub"
echo x >"$odd/.env"
profile odd <<-'YAML'
	params: {workspace: {required: true}}
	sandbox: {roots: [{path: "${workspace}", mode: rw}]}
	permissions: {agents: {me: allow}}
YAML
expect_rc 0 "of a root whose name is no text" ab --dry-run -w "$odd" --workdir "$odd/sub" -- $'a\xff'
json_is "$T/out" 'any("\\xff" in k for k in o["landlock"]["rules"]) or not o["landlock"]["rules"]' "prints it as it prints others"
json_is "$T/out" 'o["argv"] == [{"b64": "Yf8="}] and base64.b64decode(o["workdir"]["b64"]).endswith(b"\xff\x1b[31m/sub")' "and where it can without loss"
is "$(LC_ALL=C tr -d '\n\040-\176' <"$T/out" | wc -c)" 0 "no byte that a terminal obeys"
expect_rc 0 "the real one (control)" ab -w "$odd" -- sh -c '! cat .env 2>/dev/null'
base_profile "env: {pass: [SECRET_NAME]}"
# (Root's needs one, to learn whether a root can be mounted under another id.)
if [ -n "${INJECT:-}" ] && [ "$CALLER" != root ]; then
	is "$(ASAN_OPTIONS=detect_leaks=0 "$INJECT" --trace -- "$AGENTBOX" run --dry-run --state "$STATE" -p "$P" -- true 2>&1 >/dev/null |
		grep -cE '^[0-9]+ (clone3?|fork|vfork|unshare)\(')" 0 "no process is made"
fi
done_testing
