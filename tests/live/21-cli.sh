#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command line: what is wrong with it is said in one line that tells what to do, and nothing
# has run.
. "${0%/*}/lib.sh"
as_callers
U=(run --state "$STATE" -p "$P")
says() { # MESSAGE ARGS...: status 125, the one line, nothing on stdout
	local want="agentbox: $1" rc=0
	shift
	"$AGENTBOX" "$@" >"$T/out" 2>"$T/err" </dev/null || rc=$?
	is "$rc:$(cat "$T/out"):$(cat "$T/err")" "125::$want" "$want"
}
works() { # DESCRIPTION ARGS...
	expect_rc 0 "$1 (control)" "$AGENTBOX" "${@:2}"
}

# --- commands
says "unknown command 'rnu' (did you mean 'run'?)" rnu
says "unknown command 'chheck' (did you mean 'check'?)" chheck -p x
says "unknown command 'frobnicate' (agentbox --help lists them)" frobnicate
says "unknown command '' (agentbox --help lists them)" ''
says "unknown command 'a\\x0ab\\x1b[31m' (agentbox --help lists them)" $'a\nb\e[31m'
expect_rc 125 "no command at all" "$AGENTBOX"
is "$(cat "$T/out")" "" "prints nothing on stdout"
like "$(cat "$T/err")" "^usage: agentbox COMMAND" "and the usage on stderr"

says "unexpected '-p': the command comes first, as in: agentbox run -p FILE -- COMMAND" -p "$P" run -- true
says "unexpected '--': the command comes first, as in: agentbox run -p FILE -- COMMAND" -- true
says "unknown command 'chheck' (did you mean 'check'?)" help chheck
says "help takes one command, as in: agentbox help run" help run check

# --- options
works "a run" "${U[@]}" -- true
says "unknown option '--profil' (did you mean '--profile'?)" run --profil "$P" -- true
says "unknown option '--tiemout' (did you mean '--timeout'?)" "${U[@]}" --tiemout=1s -- true
says "unknown option '--xyzzyxyzzy' (agentbox run --help lists them)" "${U[@]}" --xyzzyxyzzy -- true
says "unknown option '-z' (agentbox run --help lists them)" "${U[@]}" -z -- true
says "unknown option '-z' (agentbox run --help lists them)" "${U[@]}" -qz -- true
says "unknown option '--timeout' (agentbox check --help lists them)" check -p "$P" --timeout 1s ls /
says "option '--quiet' takes no value" "${U[@]}" --quiet=yes -- true
works "--quiet" "${U[@]}" --quiet -- true
says "option '--timeout' needs a value: --timeout TIME" "${U[@]}" --timeout -- true
says "option '--timeout' needs a value: --timeout TIME" "${U[@]}" --timeout
says "option '--profile' needs a value: --profile PROFILE" run -p
works "-pFILE in one word" run --state "$STATE" -p"$P" -- true
works "--profile=FILE" run --state "$STATE" --profile="$P" -- true
works "bundled flags" "${U[@]}" -iq -- true

# --- twice: which was meant is not guessed
twice() { # NAME ARGS...
	says "option '--$1' is given twice: give it once" "${@:2}"
}
profile param <<E
params: {workspace: {required: true}}
sandbox: {roots: ['\${workspace}']}
permissions: {agents: {me: allow}}
E
works "-w once" run --state "$STATE" -p "$P" -w "$WS" -- true
twice workspace run --state "$STATE" -p "$P" -w "$WS" -w "$T/home" -- true
base_profile
twice workspace "${U[@]}" -w "$WS" -w "$T/home" -- true
twice workspace "${U[@]}" -w "$WS" --workspace="$WS" -- true
twice profile "${U[@]}" -p "$P" -- true
twice state "${U[@]}" --state "$STATE" -- true
twice timeout "${U[@]}" --timeout 1s --timeout 2s -- true
twice quiet "${U[@]}" -qq -- true
twice profile check -p "$P" -p "$P" read_file "$WS"
twice state audit verify --state "$STATE" --state "$STATE"
twice json doctor --json --json
twice profile selftest -p "$P" -p "$P"
works "--env twice" "${U[@]}" --env A --env B --env A -- true
expect_rc 125 "--param twice" "$AGENTBOX" "${U[@]}" --param a=1 --param b=2 -- true
unlike "$(cat "$T/err")" "given twice" "is not refused for being two"
works "twice after --" "${U[@]}" -- true -w a -w b

# --- the command
nocommand="no command: write it after --, or as -c STRING"
says "$nocommand" "${U[@]}"
says "$nocommand" "${U[@]}" --
says "unexpected 'true': write the command after --, as in: agentbox run -p FILE -- COMMAND" \
	"${U[@]}" true
says "unexpected 'x': write the command after --, as in: agentbox run -p FILE -- COMMAND" \
	"${U[@]}" x -- true
says "give -c STRING or -- COMMAND, not both" "${U[@]}" -c true -- true
says "give -c STRING or -- COMMAND, not both" "${U[@]}" -c true --
works "-c" "${U[@]}" -c true
expect_out "--help -p x" "options after -- are the command's" "$AGENTBOX" "${U[@]}" -- \
	sh -c 'echo "$*"' sh --help -p x

# --- values
for v in 30 1.5s -1s s '' 1d '1 s' 0x1s 1S 99999999999999999999s; do
	says "--timeout '$v': write a number and ms, s, m or h, as in 30s" "${U[@]}" --timeout="$v" -- true
done
says "--timeout must be more than zero" "${U[@]}" --timeout 0s -- true
works "--timeout" "${U[@]}" --timeout 30s -- true
for v in x -1 0 '' 99 1x 99999999999 3.0; do
	says "--status-fd '$v' is no open descriptor" "${U[@]}" --status-fd="$v" -- true
done
works "--status-fd" "${U[@]}" --status-fd 2 -- true
says "--status-fd '7' cannot be written to" "${U[@]}" --status-fd 7 -- true 7</dev/null
works "--status-fd 1" "${U[@]}" --status-fd 1 -- true
expect_rc 125 "--json=yes" "$AGENTBOX" "${U[@]}" --json=yes -- true
is "$(cat "$T/err")" "agentbox: --json=yes: the only form is --json=split" "is no form of it"
works "--json=split" "${U[@]}" --json=split -- true
noenv="--env takes a name, never a value: command lines are public (use env.set in the profile, or export the variable)"
says "$noenv" "${U[@]}" --env A=b -- true
says "$noenv" "${U[@]}" --env 'A*' -- true
says "$noenv" "${U[@]}" --env '' -- true
works "--env" "${U[@]}" --env A -- true

# --- the profile
says "no profile: give -p PROFILE, a file or a shipped name such as 'default' ('agentbox profiles' lists them)" run -- true
says "no profile: give -p PROFILE, a file or a shipped name such as 'default' ('agentbox profiles' lists them)" check read_file /x
says "give -p or --profile-fd, not both" run -p "$P" --profile-fd 0 -- true
says "--profile-fd '9x' is no open descriptor" check --profile-fd 9x read_file /x
says "--profile-fd '77' is no open descriptor" check --profile-fd 77 read_file /x
says "--param 'x': write it as NAME=VALUE" "${U[@]}" --param x -- true
says "--param '=x': write it as NAME=VALUE" "${U[@]}" --param =x -- true
expect_rc 125 "a profile that is not there" "$AGENTBOX" run --state "$STATE" -p "$T/none.yaml" -- true
like "$(cat "$T/err")" "^agentbox: .*none.yaml.*No such file" "is named"

# --- check
says "check needs an action and a resource, as in: agentbox check -p FILE read_file /workspace/notes.txt" \
	check -p "$P"
says "check needs an action and a resource, as in: agentbox check -p FILE read_file /workspace/notes.txt" \
	check -p "$P" read_file
says "one resource for 'read_file', not 2" check -p "$P" read_file /a /b
works "one" check -p "$P" read_file "$WS"

# --- audit
says "audit needs one of: show, verify, head (agentbox audit --help tells more)" audit
says "unknown word 'verifyy' after audit (did you mean 'verify'?)" audit verifyy
says "unknown word 'frobnicate' after audit; it takes show, verify or head" audit frobnicate
says "--head belongs to 'agentbox audit verify'" audit head --head 1:x
says "--json belongs to 'agentbox audit show'" audit verify --json
says "give FILE or --state, not both" audit head "$T/x" --state "$STATE"
works "of what has been written" audit verify --state "$STATE"

# --- a wrong command line is answered in JSON too, where that was asked for
"$AGENTBOX" "${U[@]}" --json --tiemout 1s -- true >"$T/j" 2>"$T/err"
is $? 125 "--json with a wrong option"
json_is "$T/j" '(o["rc"] == 125 and o["error"]["code"] == "usage" and not o["started"] and
	"did you mean" in o["error"]["message"])' "is one object that says so"

# --- help and version
is "$("$AGENTBOX" help)" "$("$AGENTBOX" --help)" "help is --help"
verbs=$("$AGENTBOX" --help | sed -nE '/^commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
like "$verbs" $'^run\n(.*\n)?check\n' "there are commands"
for v in $verbs; do
	is "$("$AGENTBOX" help "$v")" "$("$AGENTBOX" "$v" --help)" "help $v is $v --help"
	like "$("$AGENTBOX" help "$v")" $'\nexamples:\n  agentbox '"$v" "help $v has an example"
	is "$("$AGENTBOX" help "$v" | awk 'length > 80')" "" "help $v fits 80 columns"
done
for v in run check audit; do
	"$AGENTBOX" "$v" --help >"$T/help" 2>"$T/err"
	is "$?:$(cat "$T/err")" "0:" "$v --help"
	like "$(head -n 1 "$T/help")" "^usage: agentbox $v " "begins with the usage"
	is "$("$AGENTBOX" "$v" --state x -h)" "$(cat "$T/help")" "$v -h is the same, after other options too"
	# Every option of the table is there, and every one there is in the table.
	for o in $(grep -oE '(^|  )--[a-z0-9-]+|-[a-z], --[a-z0-9-]+' "$T/help" | grep -oE -- '--[a-z0-9-]+'); do
		"$AGENTBOX" "$v" "${o}=" >"$T/out" 2>"$T/err" </dev/null
		unlike "$(cat "$T/err")" "unknown option" "$v knows $o, which its help lists"
	done
done
has() { # COMMAND OPTION...: what callers rely on; more may come
	local o missing=
	for o in "${@:2}"; do
		"$AGENTBOX" "$1" --help | grep -qE "^  (-., |    )--$o\>" || missing+=" --$o"
	done
	is "$missing" "" "$1 --help lists what callers rely on"
}
has run profile profile-fd agent on-behalf-of context workspace param interactive command workdir env timeout \
	json status-fd state expect-sha256 die-with-parent dry-run quiet
has check profile profile-fd agent on-behalf-of context workspace param state json batch
has audit head state
expect_rc 0 "--help" "$AGENTBOX" --help
for v in run check audit; do
	like "$(cat "$T/out")" "  $v  " "lists $v"
done
is "$("$AGENTBOX" -h)" "$("$AGENTBOX" --help)" "-h is the same"
like "$("$AGENTBOX" --version)" '^agentbox [0-9]+\.[0-9]+\.[0-9]+$' "--version"

# --- on a terminal: no colour, whatever TERM and NO_COLOR say
on_terminal() { # COMMAND LINE
	TERM=xterm-256color script -qec "$AGENTBOX $*" /dev/null </dev/null 2>&1
}
unlike "$(on_terminal help run)" $'\e' "help on a terminal has no colour"
like "$(on_terminal run --tiemout)" "^agentbox: unknown option" "an error on a terminal is text (control)"
unlike "$(on_terminal run --tiemout)" $'\e' "and has no colour"

# --- agents: a person is told which there are
profile two <<E
sandbox: {roots: ["$WS"]}
permissions: {agents: {alice: allow, bob: allow}}
E
nearest="no agent 'alcie' (did you mean 'alice'?): $P declares alice, bob"
which="give one of $P's agents with -a: alice, bob"
expect_rc 120 "check of an agent that is not declared" "$AGENTBOX" check -p "$P" -a alcie read_file "$WS"
is "$(cat "$T/out"):$(cat "$T/err")" "deny: unknown agent:agentbox: $nearest" "names the nearest"
expect_rc 120 "check of none" "$AGENTBOX" check -p "$P" read_file "$WS"
is "$(cat "$T/err")" "agentbox: $which" "lists them"
expect_rc 120 "check of one that is like none" "$AGENTBOX" check -p "$P" -a xyzzy read_file "$WS"
is "$(cat "$T/err")" "agentbox: $which" "lists them too"
expect_rc 0 "check of one that is (control)" "$AGENTBOX" check -p "$P" -a alice read_file "$WS"
is "$(cat "$T/err")" "" "says nothing of them"
expect_rc 125 "selftest of one that is not" "$AGENTBOX" selftest --state "$STATE" -p "$P" -a alcie
is "$(cat "$T/err")" "agentbox: $nearest" "names the nearest"
expect_rc 125 "doctor of one that is not" "$AGENTBOX" doctor --state "$STATE" -p "$P" -a alcie
like "$(cat "$T/out")" "remedy: no agent 'alcie' \(did you mean 'alice'\?\)" "names the nearest"
expect_rc 120 "a run by one that is not" "$AGENTBOX" run --state "$STATE" -p "$P" -a alcie -- true
is "$(cat "$T/err")" "agentbox: denied: unknown agent" "does not list them to a pipe"
like "$(on_terminal run --state "$STATE" -p "$P" -a alcie -- true)" "did you mean 'alice'" \
	"but to a person at a terminal"
unlike "$(on_terminal run -q --state "$STATE" -p "$P" -a alcie -- true)" "alice" "unless -q"
base_profile

# --- who has neither a home nor XDG_STATE_HOME; a uid without an entry is a container's, and HOME
# is all it has
if [ "$CALLER" = user ] && ! getent passwd "$EUID" >/dev/null; then
	works "the state below HOME" run -p "$P" -- true
	home=$HOME
	unset HOME
	says "no state directory: neither XDG_STATE_HOME nor a home directory is known; give one with --state DIR" \
		run -p "$P" -- true
	works "checks without one" check -p "$P" read_file "$WS"
	works "runs with one" "${U[@]}" -- true
	export HOME=$home
fi
expect_rc 125 "a state directory in a root, said to check" "$AGENTBOX" check --state "$WS/s" -p "$P" \
	read_file "$WS"
like "$(cat "$T/err")" "the state directory of agentbox" "is refused as run refuses it"

# --- raised privileges
if [ "$CALLER" = root ]; then
	cp "$AGENTBOX" "$T/raised"
	as=(setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups)
	expect_rc 0 "an ordinary copy (control)" "${as[@]}" "$T/raised" --version
	chmod u+s "$T/raised"
	if grep -qE '^[0-9]+ [0-9]+ [^ ]+ [^ ]+ [^ ]+ [^ ]*nosuid' <(findmnt -no OPTIONS -T "$T" 2>/dev/null) ||
		[[ ,$(findmnt -no OPTIONS -T "$T" 2>/dev/null), == *,nosuid,* ]]; then
		skip "a setuid copy refuses" "the test's file system is nosuid"
	else
		expect_rc 125 "a setuid copy refuses" "${as[@]}" "$T/raised" --version
		is "$(cat "$T/out"):$(cat "$T/err")" ":agentbox: refusing to run with raised privileges (setuid, setgid or file capabilities): install agentbox without them" \
			"and says why"
	fi
	rm -f "$T/raised"
fi

# --- standard descriptors that are closed do not become files of ours
"$AGENTBOX" "${U[@]}" -- true <&- >&- 2>&-
is $? 0 "all three closed"
no_sandbox_left "nothing is left"
done_testing
