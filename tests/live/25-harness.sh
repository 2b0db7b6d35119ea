#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Harnesses: a Python and a Node program call `run --json` 100 times each, several at once, and hold
# every answer against the contract; a command that travels as one quoted string after -c does what
# it does without agentbox.
. "$(dirname "$0")/lib.sh" || exit 1
live_setup() { # SOURCE
	cp "$1/tests/live/harness.js" "$LIVE/lib/"
}
as_callers
profile agents <<E
sandbox: {roots: ["$WS"], limits: {output: 64K}}
permissions:
  policy_model: rules
  agents:
    me:
      rules:
        - {operations: [execute], commands: ["git push *"], mode: interrupt}
        - {operations: [execute], commands: ["*"], mode: allow}
        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
E
echo 'sandbox: {rots: [.]}' >"$T/broken.yaml"
export T STATE P AGENTBOX
py <<'E' >"$T/cases.json" || fail "the table"
import json, os
P, T, STATE, AGENTBOX = (os.environ[n] for n in ("P", "T", "STATE", "AGENTBOX"))
cases = []
def case(name, rc, status, args, output=None, started=True, error=False, profile=P):
    c = {"name": f"{rc}: {name}", "rc": rc, "status": status, "started": started, "error": error,
         "args": (["-p", profile] if profile else []) + args}
    if output is not None:
        c["output"] = output
    cases.append(c)
def sh(script):
    return ["-c", script]
case("a command", 0, "exited", sh("echo out; echo err >&2"), "out\nerr\n")
case("nothing said", 0, "exited", ["--", "true"], "")
case("its own status", 3, "exited", sh("exit 3"))
case("a status that agentbox has as well", 125, "exited", sh("echo mine; exit 125"), "mine\n")
case("another", 120, "exited", sh("exit 120"), "")
case("an object of its own", 0, "exited", sh("echo '{\"rc\": 7}'"), '{"rc": 7}\n')
case("bytes that are no text", 0, "exited", ["--", "printf", r"\377\000\n"], "\xff\x00\n")
case("more than the limit", 0, "exited", sh("head -c 100000 /dev/zero | tr '\\0' x"), "x" * 65536)
case("a signal", 143, "signaled", sh("kill -TERM $$"))
case("denied", 120, "denied", ["-a", "stranger", "--", "true"], "", False)
case("outside", 121, "denied", ["--workdir", "/root", "--", "true"], "", False, True)
case("to be approved", 122, "blocked", ["--", "git", "push", "origin"], "", False)
case("a limit", 124, "limit", ["--timeout", "300ms"] + sh("sleep 60"))
case("a wrong option", 125, "failed", ["--tiemout", "1s", "--", "true"], "", False, True)
case("no command", 125, "failed", [], "", False, True)
case("no profile", 125, "failed", ["--", "true"], "", False, True, None)
case("a broken profile", 125, "failed", ["--", "true"], "", False, True, T + "/broken.yaml")
case("a profile that is not there", 125, "failed", ["--", "true"], "", False, True, T + "/none.yaml")
case("found, not executable", 126, "exited", ["--", "/etc/passwd"], "", False, True)
case("not found", 127, "exited", ["--", "no-such-command"], "", False, True)
wrapped = [
    "echo one; echo two | tr a-z A-Z",
    "echo \"it's\" 'a \"quoted\"' string",
    "printf '%s\\n' \"$((6 * 7))\" '$HOME' \\\\ '!'",
    "x='a  b'; echo \"$x\" | sed 's/ /_/g'; exit 9",
    "cat <<'END'\nlines\n  of $a `document`\nEND",
    "for i in 1 2 3; do\n\techo $i\ndone",
    "echo -n; echo 'h\u00e9 \u2603'; false",
    "set -- a b; echo $# \"$@\" -- --help; true",
]
json.dump({
    "argv": [AGENTBOX, "run", "--json", "--state", STATE],
    "prefix": [AGENTBOX, "run", "-q", "--state", STATE, "-p", P, "-c"],
    "cases": cases, "wrapped": wrapped}, open("/dev/stdout", "w"))
E
# These print lines of their own, which count here.
harness() { # COMMAND...
	local out rc=0
	out=$("$@" "$T/cases.json" 100 2>&1) || rc=$?
	printf '%s\n' "$out"
	is "$rc" 0 "$1 ends well"
	LIVE_FAILED=$((LIVE_FAILED + $(grep -c '^not ok' <<<"$out")))
}
harness py "$T/../lib/harness.py"
if command -v node >/dev/null; then
	harness node "$T/../lib/harness.js"
else
	skip "node" "node is not installed"
fi

# --- a tool that has a prefix for its shell, and one that has a shell
prefix="$AGENTBOX run --state $STATE -p $P -c"
command='echo "$PWD" | sed "s/.*/<&>/"; echo $((1 + 1))'
is "$(sh -c "$prefix $(printf %q "$command")" 2>"$T/err")" "<$WS>"$'\n2' "a prefix and one word, quoted by bash"
printf '#!/bin/sh\n# SHELL -c COMMAND\nexec %s "$2"\n' "$prefix" >"$T/shell"
chmod 755 "$T/shell"
printf 'all:\n\t@echo "$$container" $$((40 + 2))\n\t@false\n' >"$WS/Makefile"
out=$(make -s SHELL="$T/shell" 2>"$T/err")
is "$?:$out" "2:agentbox 42" "a script in the place of make's shell"
like "$(make -s SHELL=/bin/sh 2>/dev/null)" "^ *42$" "which is outside without it (control)"
no_sandbox_left "nothing is left"
done_testing
