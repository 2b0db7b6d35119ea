#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each shipped profile does its job; what its tests say is what `check` says of a real workspace.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
mkdir -p "$WS/src" "$WS/build" "$WS/.git/hooks" "$WS/.claude" "$T/other" "$T/out.d"
echo 'int main(void) { return 0; }' >"$WS/src/main.c"
echo secret >"$WS/.env"
echo '[core]' >"$WS/.git/config"
echo 1,2,3 >"$T/in.csv"
echo other >"$T/other/file"

box() { # PROFILE ARG...
	local p=$1
	shift
	"$AGENTBOX" run --state "$STATE" -p "$p" -w "$WS" "$@"
}

names=$("$AGENTBOX" profiles)
is "$(tr '\n' ' ' <<<"$names")" "agent agent-whole build ci data default npm-mirror readonly review web " "the list"
where=$T/where
for p in $names; do
	args=(-w "$WS")
	[ "$p" != data ] || args=(--param "input=$T/in.csv" --param "output=$T/out.d")
	check "$p: its tests hold" "$AGENTBOX" test "$p"
	check "$p: and with real places" "$AGENTBOX" test --json "${args[@]}" "$p"
	"$AGENTBOX" test --json "${args[@]}" "$p" >"$where"
	check "$p: as check decides" py - "$where" "$AGENTBOX" "$p" "${args[@]}" <<-'PY'
		import json, subprocess, sys
		where, agentbox, profile, *args = sys.argv[1:]
		tests = json.load(open(where))["tests"]
		assert len(tests) >= 2
		for t in tests:
		    words = t["resource"].split() if t["action"] == "run_command" else [t["resource"]]
		    done = subprocess.run([agentbox, "check", "--json", "-p", profile, *args, t["action"], "--", *words],
		                          capture_output=True, text=True)
		    o = json.loads(done.stdout)
		    got = o["decision"], o["code"]
		    assert got == (t["decision"], t["code"]), (t, o)
	PY
done

expect_rc 0 "default: writes in its directory" box default -- touch "$WS/made"
check "which is there" test -e "$WS/made"
expect_rc 1 "default: and sees no other" box default -- test -e "$T/other/file"
expect_rc 0 "which is there (control)" test -e "$T/other/file"

expect_rc 0 "readonly: reads" box readonly -- cat "$WS/src/main.c"
expect_rc 1 "readonly: does not write" box readonly -- touch "$WS/no"
expect_rc 0 "readonly: but in /tmp" box readonly -- touch /tmp/yes
check_not "and nothing came of it" test -e "$WS/no"

if command -v cc >/dev/null; then
	expect_rc 0 "build: compiles" box build -- sh -c 'cc -o build/main src/main.c && build/main'
	check "into the directory" test -x "$WS/build/main"
else
	note "there is no cc here"
fi
expect_out /tmp/go-build "build: caches are in the scratch" box build -- sh -c 'echo "$GOCACHE"'
expect_rc 0 "build: room for it" box build -- sh -c '[ "$(stat -f -c "%b * %S / 1048576" /tmp | xargs expr)" = 2048 ]'
expect_out true "ci: tells tools that it is" box ci -- sh -c 'echo "$CI"'
expect_rc 0 "ci: a plan" box ci --dry-run -- true
json_is "$T/out" 'o["limits"]["timeout_ms"] == 3600000' "ci: ends what hangs"
expect_rc 0 "build: a plan" box build --dry-run -- true
json_is "$T/out" 'not o["limits"].get("timeout_ms")' "build: has no such limit (control)"

call='echo done >"$PWD/from-call"; cat .env'
expect_rc 1 "agent: a call of its shell tool" box agent --json -c "$call"
json_is "$T/out" 'o["status"] == "exited" and "secret" not in o["output"]' "agent: does not read .env"
is "$(cat "$WS/from-call")" "done" "agent: writes"
expect_rc 2 "agent: the hooks of git stay" box agent -c 'echo x >.git/hooks/pre-commit'
rm -f "$WS/from-call"
expect_rc 1 "review: the same call" box review --json -c "$call"
check_not "review: writes nothing" test -e "$WS/from-call"
expect_out "int main(void) { return 0; }" "review: reads" box review -- cat src/main.c
expect_rc 120 "review: writing is denied" "$AGENTBOX" check -p review -w "$WS" write_file "$WS/src/main.c"

own=$(readlink /proc/self/ns/net)
expect_out "$own" "agent-whole: has the network" box agent-whole -- readlink /proc/self/ns/net
expect_rc 1 "agent: has not (control)" box agent -c "[ \"\$(readlink /proc/self/ns/net)\" = '$own' ]"

data() {
	"$AGENTBOX" run --state "$STATE" -p data --param "input=$T/in.csv" --param "output=$T/out.d" "$@"
}
expect_rc 0 "data: from the input to the output" data -- sh -c "tr , ' ' <'$T/in.csv' >table"
is "$(cat "$T/out.d/table")" "1 2 3" "data: is made"
expect_rc 2 "data: the input stays" data -- sh -c "echo x >'$T/in.csv'"
is "$(cat "$T/in.csv")" 1,2,3 "data: as it was"
expect_rc 1 "data: nothing else is there" data -- test -e "$WS/src"
expect_rc 125 "data: both are needed" "$AGENTBOX" run --state "$STATE" -p data --param "input=$T/in.csv" -- true
expect_rc 0 "web: a plan" box web --dry-run -- true
json_is "$T/out" 'o["network"]["ports"] == [22, 443]' "web: listens for what it lists"
expect_rc 0 "web: works in its directory" box web -- touch "$WS/web"
expect_rc 6 "web: no other host has a name" box web -- "$PYTHON" -c '
import socket, sys
try:
    socket.getaddrinfo("www.example.com", 443)
except socket.gaierror:
    sys.exit(6)'
expect_out 198.19.1.0 "web: one that it lists has (control)" box web -- "$PYTHON" -c '
import socket
print(socket.gethostbyname("www.example.org"))'
echo 'extends: [builtin:web]
sandbox: {network: {allow: ["more.example.com:8443"]}}' >"$T/more.yaml"
expect_rc 0 "web: can be extended, as it says" "$AGENTBOX" run --state "$STATE" -p "$T/more.yaml" -w "$WS" --dry-run -- true
json_is "$T/out" 'o["network"]["ports"] == [22, 443, 8443]' "web: by more hosts"
done_testing
