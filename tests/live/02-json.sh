#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run --json prints exactly one object, always; --status-fd gives the same without output.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

j() { # RC ARGS...: stdout to $T/j
	local want=$1 rc=0
	shift
	"$AGENTBOX" run --json --state "$STATE" "$@" >"$T/j" 2>"$T/err" </dev/null || rc=$?
	is "$rc" "$want" "status $want: run --json ${*: -3}"
}

j 3 -p "$P" -- sh -c 'echo out; echo err >&2; exit 3'
json_is "$T/j" 'o["status"] == "exited" and o["exit_code"] == 3 and o["rc"] == 3' "exited"
json_is "$T/j" 'o["signal"] is None' "no signal"
json_is "$T/j" 'o["output"] == "out\nerr\n" and o["encoding"] == "utf-8"' "one stream, in order"
json_is "$T/j" 'o["output_bytes"] == 8 and o["truncated"] is False' "its size"
json_is "$T/j" 'o["timed_out"] is False and o["limit"] is None' "no limit"
json_is "$T/j" 'o["agent"] == "me" and len(o["request_id"]) >= 16 and o["version"]' "agent, id, version"
json_is "$T/j" 'o["trust"] == "untrusted"' "its output is not to be trusted"
json_is "$T/j" 'o["audit"]["seq"] >= 3 and len(o["audit"]["sha256"]) == 64' "the head of the audit"
json_is "$T/j" 'all(len(o["profile"][k]) == 64 for k in ("sandbox_sha256", "permissions_sha256"))' "profile hashes"
json_is "$T/j" 'o["usage"]["wall_ms"] >= 0 and o["usage"]["cpu_ms"] >= 0 and o["usage"]["max_rss_bytes"] > 0' "usage"
json_is "$T/j" 'isinstance(o["mechanisms"], dict) and o["mechanisms"]' "mechanisms"
json_is "$T/j" 'o["violations"] == [] and o["denials"] == []' "no violations"
json_is "$T/j" 'o["decision"]["decision"] == "allow"' "the decision"
json_is "$T/j" 'not o.get("error")' "no error"
is "$(wc -l <"$T/j")" 1 "one line"

j 143 -p "$P" -- sh -c 'kill -TERM $$'
json_is "$T/j" 'o["status"] == "signaled" and o["signal"] == 15 and o["rc"] == 143' "signaled"
j 127 -p "$P" -- no-such-program
json_is "$T/j" 'o["rc"] == 127 and o["output"] in ("", None)' "not found"
j 126 -p "$P" -- "$WS"
json_is "$T/j" 'o["rc"] == 126' "not executable"
j 124 -p "$P" --timeout 2s -- sh -c 'echo before; sleep 300'
json_is "$T/j" 'o["status"] == "limit" and o["limit"] == "timeout" and o["timed_out"] is True' "a timeout"
json_is "$T/j" 'o["output"] == "before\n"' "with what was printed before"
j 121 -p "$P" --workdir "$T/home" -- true
json_is "$T/j" 'o["status"] == "denied" and o["rc"] == 121 and o["error"]["layer"] == "sandbox"' "denied by the sandbox"
j 120 -p "$P" -a stranger -- true
json_is "$T/j" 'o["status"] == "denied" and o["rc"] == 120 and o["reason"]' "denied"
json_is "$T/j" 'o["decision"]["code"] == "identity"' "with its code"
json_is "$T/j" '"'"$T"'" not in json.dumps(o.get("reason"))' "and no host path in the reason"
j 125 -p "$T/none.yaml" -- true
json_is "$T/j" 'o["status"] == "failed" and o["rc"] == 125 and o["error"]["message"]' "no profile"
profile broken <<<'sandbox: {rots: [.]}'
j 125 -p "$P" -- true
json_is "$T/j" 'o["rc"] == 125 and "rots" in o["error"]["message"] and "roots" in o["error"]["message"]' "a broken one"
base_profile
j 125 -p "$P" --no-such-option -- true
json_is "$T/j" 'o["rc"] == 125' "an unknown option after --json"
j 125 -p "$P"
json_is "$T/j" 'o["rc"] == 125' "no command"
mkdir -p "$T/state-ro"
touch "$T/notadir"
"$AGENTBOX" run --json --state "$T/notadir" -p "$P" -- touch "$WS/ran" >"$T/j" 2>"$T/err"
is $? 125 "a state that cannot be had"
json_is "$T/j" 'o["status"] == "failed" and o["rc"] == 125' "is an object too"
check_not "and nothing ran" test -e "$WS/ran"

# --- bytes that are no text
j 0 -p "$P" -- printf '\377\000x'
json_is "$T/j" 'o["encoding"] == "base64" and base64.b64decode(o["output"]) == b"\xff\x00x"' "base64"
j 0 -p "$P" -- printf '\033[31m\n'
json_is "$T/j" 'o["encoding"] == "utf-8" and o["output"] == "\x1b[31m\n"' "control characters are text in JSON"
is "$(LC_ALL=C grep -c $'\033' "$T/j")" 0 "and do not reach a terminal raw"
j 0 -p "$P" -- printf '\303\251\360\237\230\200'
json_is "$T/j" 'o["output"] == "\u00e9\U0001f600"' "UTF-8 stays"

# --- split
j 0 -p "$P" -- true
"$AGENTBOX" run --json=split --state "$STATE" -p "$P" -- sh -c 'echo out; echo err >&2' >"$T/j" 2>"$T/err"
json_is "$T/j" '"out\n" in json.dumps(o).replace("\\n", "\n") and "err\n" in json.dumps(o).replace("\\n", "\n") and "out\nerr" not in json.dumps(o).replace("\\n", "\n")' \
	"split keeps the two apart"

# --- the cap
j 0 -p "$P" -- "$PROBE" spew 3000000
json_is "$T/j" 'o["truncated"] is True and o["output_bytes"] == 3000000' "the default cap truncates"
json_is "$T/j" 'len(o["output"]) == 1048576 and set(o["output"]) == {"x"}' "to 1 MiB, and appends nothing"
base_profile "limits: {output: 1K}"
j 0 -p "$P" -- "$PROBE" spew 1024
json_is "$T/j" 'o["truncated"] is False and len(o["output"]) == 1024' "exactly at the cap"
j 0 -p "$P" -- "$PROBE" spew 1025
json_is "$T/j" 'o["truncated"] is True and len(o["output"]) == 1024 and o["output_bytes"] == 1025' "one past it"
base_profile
ab -- "$PROBE" spew 3000000 >"$T/stream" 2>/dev/null
is "$(stat -c %s "$T/stream")" 3000000 "streaming has no cap"
base_profile "limits: {output: 1M}"
ab -- "$PROBE" spew 3000000 >"$T/stream" 2>/dev/null
is "$(stat -c %s "$T/stream")" 1048576 "unless the profile says so"
base_profile

# --- --status-fd
ab --status-fd 9 -- sh -c 'echo out; exit 4' 9>"$T/j" >"$T/out" 2>"$T/err"
is $? 4 "--status-fd keeps the status"
is "$(cat "$T/out")" out "and the output"
json_is "$T/j" 'o["rc"] == 4 and o["exit_code"] == 4 and not o.get("output")' "its object has no output"
json_is "$T/j" 'o["audit"]["seq"] > 0' "and the head"
ab -a stranger --status-fd 9 -- true 9>"$T/j" 2>"$T/err"
json_is "$T/j" 'o["status"] == "denied"' "--status-fd on a denial"
expect_rc 125 "--status-fd of a descriptor that is not open" ab --status-fd 77 -- true
is "$(ab --status-fd 9 -- "$PROBE" fdlist 9>"$T/j")" "$(ab -- "$PROBE" fdlist)" "it does not reach the command"

# --- one object, wherever it goes
objects() { # FILE
	wc -l <"$1"
}
wrong() { # DESCRIPTION ARGS...: 125, the object on descriptor 9
	expect_rc 125 "$1" ab "${@:2}" 9>"$T/j"
	is "$(objects "$T/j")" 1 "$1: one object"
	json_is "$T/j" 'o["status"] == "failed" and o["rc"] == 125 and o["error"]["message"]' "$1: it says so"
}
wrong "a wrong option before --status-fd" --bogus --status-fd 9 -- true
wrong "a wrong option after --status-fd=" --status-fd=9 --bogus -- true
wrong "--status-fd given twice" --status-fd 9 --status-fd 9 -- true
expect_rc 125 "--status-fd after --" ab --bogus -- true --status-fd 9 9>"$T/j"
is "$(objects "$T/j")" 0 "is the command's"
for form in --json --json=split --dry-run; do
	expect_rc 125 "$form --status-fd 1" ab "$form" --status-fd 1 -- touch "$WS/ran"
	[ "$form" = --dry-run ] || is "$(objects "$T/out")" 1 "$form --status-fd 1: one object"
	json_is "$T/out" '"--status-fd 1 and --" in o["error"]["message"]' "$form --status-fd 1: it says why"
done
check_not "and nothing ran" test -e "$WS/ran"
expect_rc 0 "--json and another descriptor" ab --json --status-fd 9 -- true 9>"$T/j"
is "$(objects "$T/out"):$(objects "$T/j")" 1:1 "one object on each"
j 0 --dry-run -p "$P" -- true
json_is "$T/j" '"ops" in o or "mounts" in o' "--dry-run: the plan"
is "$(objects "$T/j")" 1 "alone"
j 120 --dry-run -p "$P" -a stranger -- true
json_is "$T/j" 'o["status"] == "denied" and o["rc"] == 120' "--dry-run: a denial"
j 121 --dry-run -p "$P" --workdir "$T/home" -- true
json_is "$T/j" 'o["status"] == "denied" and o["rc"] == 121' "--dry-run: outside"
j 125 --dry-run -p "$T/none.yaml" -- true
json_is "$T/j" 'o["status"] == "failed" and o["error"]["message"]' "--dry-run: an error"
is "$(objects "$T/j")" 1 "alone"

# --- a caller's pipe that does not block, and is read late
base_profile "limits: {output: 1M}"
py - "$AGENTBOX" run --json --state "$STATE" -p "$P" -- "$PROBE" spew 300000 <<'PY' >"$T/j" 2>"$T/err"
import os, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(w, False)
p = subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
time.sleep(0.3)
while data := os.read(r, 65536):
    sys.stdout.buffer.write(data)
sys.stdout.flush()
sys.exit(p.wait())
PY
is $? 0 "a pipe that does not block"
json_is "$T/j" 'len(o["output"]) == 300000' "gets the whole object"
base_profile

# --- nowhere to write it
lost() { # RC DESCRIPTION WHAT ARGS...: where the objects go is full
	local rc=0 out=$T/out
	case " ${*:4}" in *" --json"* | *" --dry-run"*) out=/dev/full ;; esac
	ab "${@:4}" >"$out" 9>/dev/full 2>"$T/err" || rc=$?
	is "$rc" "$1" "$2"
	is "$(cat "$T/err")" "agentbox: the $3: No space left on device" "$2: one line"
}
lost 125 "--json to a full device" "result cannot be written to descriptor 1" --json -- true
lost 3 "it keeps the command's status" "result cannot be written to descriptor 1" --json -- sh -c 'exit 3'
lost 125 "--status-fd to a full device" "result cannot be written to descriptor 9" --status-fd 9 -- true
lost 125 "--dry-run to a full device" "plan cannot be written to descriptor 1" --dry-run -- true
lost 125 "--json --dry-run to a full device" "plan cannot be written to descriptor 1" --json --dry-run -- true
rc=0
ab --json --status-fd 9 -- true >/dev/full 9>"$T/j" 2>"$T/err" || rc=$?
is "$rc" 125 "one of two is lost"
json_is "$T/j" 'o["rc"] == 125 and o["exit_code"] == 0' "the other knows"
rc=$( { ab --json -- true 2>"$T/err"; echo $? >"$T/rc"; } | true; cat "$T/rc")
like "$rc" '^(0|125)$' "a reader that is gone ends nothing by a signal"

# --- arguments that are no text
j 0 -p "$P" -- echo $'\377'
py - "$STATE" <<'PY' >"$T/out" 2>&1
import json, sys, glob
ok = False
for line in open(glob.glob(sys.argv[1] + "/*.jsonl")[0], "rb"):
    ok = "/w==" in json.dumps(json.loads(line)) or ok
sys.exit(not ok)
PY
is $? 0 "a record spells an argument that is not UTF-8 as b64"
done_testing
