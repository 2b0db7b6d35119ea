#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The environment starts empty. R058, P97, P98.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
export AWS_SECRET_ACCESS_KEY=hush FOO=foo BAR=bar FOO_TOKEN=hush BASH_ENV=/x LD_LIBRARY_PATH=/x \
	PYTHONSTARTUP=/x NODE_OPTIONS=--x GIT_DIR=/x PROMPT_COMMAND=x ENV=/x LC_TIME=C LANG=C.UTF-8 \
	TZ=UTC TERM=xterm-256color PS4=x IFS_=x
fn() { :; }
export -f fn

env_of() {
	ab "$@" -- "$PROBE" env 2>"$T/err" | tail -n +2 | sort
}
names() {
	sed 's/=.*//' | tr '\n' ' '
}

out=$(env_of)
for v in AWS_SECRET_ACCESS_KEY FOO BAR FOO_TOKEN BASH_ENV LD_LIBRARY_PATH PYTHONSTARTUP NODE_OPTIONS \
	GIT_DIR PROMPT_COMMAND ENV XDG_STATE_HOME BASH_FUNC; do
	unlike "$out" "(^|
)$v" "$v is not inside"
	[ "$v" = XDG_STATE_HOME ] || outside Y "$v (control)" env
	[ "$v" = XDG_STATE_HOME ] || like "$PROBE_OUT" "
$v" "outside it is there"
done
like "$out" '(^|
)HOME=/home/agent(
|$)' "HOME"
like "$out" 'USER=agent' "USER"
like "$out" 'SHELL=/bin/sh' "SHELL"
like "$out" 'TERM=xterm-256color' "TERM is the caller's"
like "$out" 'TZ=UTC' "TZ is the caller's"
like "$out" 'LANG=C.UTF-8' "LANG is the caller's"
like "$out" 'LC_TIME=C' "LC_* are the caller's"
like "$out" 'TMPDIR=/tmp' "TMPDIR is a place inside"
like "$out" 'container=agentbox' "container"
extra=$(names <<<"$out" | tr ' ' '\n' | grep -vxE 'HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TERM|TZ|TMPDIR|PATH|PWD|container|' || true)
is "$extra" "" "and nothing else"

out=$(PATH="$T/bin:/nowhere:relative::/usr/bin:/bin" env_of | sed -n 's/^PATH=//p')
is "$out" "/usr/bin:/bin" "PATH keeps the caller's entries that lie in the base"
out=$(env PATH="$T/bin" "$AGENTBOX" run --state "$STATE" -p "$P" -- "$PROBE" getenv PATH 2>"$T/err")
like "$out" '^ok /usr.*/bin' "else it is the system's"
expect_rc 0 "TMPDIR of the caller is dropped" env TMPDIR="$T/home" "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'test "$TMPDIR" = /tmp && mktemp'

base_profile "env: {pass: [FOO, 'BA*', AWS_SECRET_ACCESS_KEY, NOT_THERE], set: {MADE: 'a b', HOME_OF: x}}"
out=$(env_of)
like "$out" 'FOO=foo' "pass by name"
like "$out" 'BAR=bar' "pass by pattern"
like "$out" 'AWS_SECRET_ACCESS_KEY=hush' "a secret by its own name is wanted"
like "$out" 'MADE=a b' "set"
unlike "$out" FOO_TOKEN "what is not named is not there"
unlike "$out" NOT_THERE "what the caller has not is not there"
base_profile "env: {pass: ['FOO*', '*KEY*']}"
out=$(env_of)
like "$out" 'FOO=foo' "a pattern passes"
unlike "$out" 'FOO_TOKEN|AWS_SECRET' "but no name that looks secret"
base_profile "env: {pass: [FOO, BAR], set: {MADE: x}, deny: [FOO, MADE]}"
out=$(env_of)
like "$out" 'BAR=bar' "deny leaves the others (control)"
unlike "$out" 'FOO=|MADE=' "deny beats pass and set"
base_profile
out=$(env_of --env FOO)
like "$out" 'FOO=foo' "--env NAME takes it from the caller"
expect_rc 125 "--env NAME=value is refused" ab --env FOO=x -- true
unlike "$(env_of --env NOT_THERE)" NOT_THERE "--env of what is not set sets nothing"
base_profile "env: {deny: [FOO]}"
rc=0
out=$(env_of --env FOO) || rc=$?
unlike "$out" 'FOO=' "--env does not beat deny"
base_profile

# --- all three in one run, and its status
base_profile "env: {pass: [FOO, 'BA*'], set: {MADE: 'a b', EMPTY: ''}, deny: [BASH_ENV]}"
expect_out "foo:bar:a b::hush" "pass, set and --env together" \
	ab --env AWS_SECRET_ACCESS_KEY -- sh -c 'echo "$FOO:$BAR:$MADE:$EMPTY:$AWS_SECRET_ACCESS_KEY"'
expect_rc 0 "with status 0" ab --env AWS_SECRET_ACCESS_KEY --env NOT_THERE -- true
expect_rc 0 "as a plan" ab --dry-run --env AWS_SECRET_ACCESS_KEY -- true
base_profile

# --- nor on a command line (P98)
base_profile "env: {pass: [FOO], set: {MADE: hush-hush-$CALLER}}"
ab_start -- "$PROBE" sleep 600 "envtok-$CALLER-$$"
pid=$(host_pid "envtok-$CALLER-$$")
is "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c "hush-[h]ush-$CALLER")" 0 "no value is on a command line"
kill "$sup"
wait "$sup" 2>/dev/null
expect_out "hush-hush-$CALLER" "and it arrives (control)" ab -- sh -c 'echo $MADE'
done_testing
