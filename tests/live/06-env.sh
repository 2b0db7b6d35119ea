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

# --- a file of variables (R085, R086)
FILE=$WS/.env.sandbox.local
file_env() { # [MORE OF THE ENV BLOCK]
	profile file <<-YAML
		sandbox:
		  roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}]
		  env: {file: ws/.env.sandbox.local${1:+, $1}}
		permissions: {agents: {a: allow}}
	YAML
}
cat >"$FILE" <<'ENV'
# A comment, and an empty line.

GIVEN=one $HOME `touch ran` $(touch ran) ${FOO} 'x' \\n
FOO=of the file
X_PLAIN=x
X_KEY=hush
DENIED=d
UNLISTED=u
EMPTY=
ENV
file_env "pass: [GIVEN, FOO, BAR, EMPTY, DENIED, 'X_*'], set: {DENIED: s}, deny: [DENIED]"
out=$(env_of)
is "$(grep '^GIVEN=' <<<"$out")" "$(grep '^GIVEN=' "$FILE")" "file: a value is what stands there, and nothing of it is expanded"
check_not "nor run" test -e "$WS/ran"
like "$out" "
FOO=of the file
" "file: it beats the caller's"
like "$out" "(^|
)BAR=bar
" "file: what it has not is the caller's"
like "$out" "
EMPTY=
" "file: an empty value"
like "$out" "
X_PLAIN=x
" "file: by a pattern"
unlike "$out" 'X_KEY' "file: which takes no secret"
unlike "$out" '(^|
)DENIED=' "file: deny beats it"
unlike "$out" UNLISTED "file: what pass does not name stays outside"
file_env "pass: [X_KEY, DENIED, UNLISTED]"
like "$(env_of | names)" "DENIED .*UNLISTED .*X_KEY " "file: each by its name (control)"
file_env
unlike "$(env_of | names)" "GIVEN|FOO|X_|UNLISTED" "file: without pass nothing"
unlike "$(env_of --env GIVEN --env UNLISTED | names)" "GIVEN|UNLISTED" "file: --env is of the caller"
cp "$FILE" "$WS/plain"
for d in "" "protect: {except: ['.env.sandbox.local']}"; do
	file_env
	sed -i "s/^  env:/${d:+  $d\n}&/" "$P"
	inside N "file: not read" read "$FILE"
	inside N "file: not written" write "$FILE" x
	inside N "file: not renamed" rename "$FILE" "$WS/moved"
	inside N "file: not removed" unlink "$FILE"
	inside N "file: not linked" link "$FILE" "$WS/linked"
	expect_rc 120 "file: check says so" "$AGENTBOX" check -p "$P" read_file "$FILE"
	expect_rc 120 "file: nor by a tool" "$AGENTBOX" tool --state "$STATE" -p "$P" read "$FILE"
done
inside Y "another is read (control)" read "$WS/plain"
inside Y "written" write "$WS/plain" x
inside Y "linked" link "$WS/plain" "$WS/linked"
inside Y "renamed" rename "$WS/plain" "$WS/moved"
inside Y "and removed" unlink "$WS/moved"
check "the file is as it was" grep -qx UNLISTED=u "$FILE"
expect_rc 0 "file: its digest" "$AGENTBOX" lint --hashes "$P"
cp "$T/out" "$T/hashes"
unlike "$(cat "$T/hashes")" "$(sha256sum <"$FILE" | cut -c1-64)" "file: is in no list"
echo MORE=m >>"$FILE"
expect_rc 0 "file: with another line" "$AGENTBOX" lint --hashes "$P"
is "$(cat "$T/out")" "$(cat "$T/hashes")" "file: the profile's digest is the same"
sed -i '/^MORE/d' "$FILE"
mkdir -p "$WS/deep/er"
cp "$FILE" "$WS/deep/er/vars"
profile param <<'YAML'
params: {workspace: {required: true}}
sandbox:
  roots: [{path: "${workspace}", at: /w, mode: rw}]
  env: {file: "${workspace}/deep/er/vars", pass: [FOO]}
permissions: {agents: {a: {rules: [{operations: [read, write], paths: ["/w/**"], mode: allow},
  {operations: [execute], commands: ["*"], mode: allow}]}}}
YAML
expect_out "of the file" "file: by a parameter, with the root elsewhere" ab -w "$WS" -- printenv FOO
for act in 'cat /w/deep/er/vars' 'mv /w/deep/er /w/deep/x' 'mv /w/deep /w/x' 'rm /w/deep/er/vars'; do
	expect_rc 1 "file: inside, not: $act" ab -w "$WS" -- sh -c "$act"
done
expect_out "" "file: a neighbour (control)" ab -w "$WS" -- sh -c 'cd /w/deep/er && echo >other && mv other more && rm more'
check "file: it is there as before" cmp "$FILE" "$WS/deep/er/vars"
expect_rc 0 "file: without the parameter lint reads none" "$AGENTBOX" lint "$P"
printf 'extends: [ws/deep/p.yaml]\n' >"$T/child.yaml"
sed 's|^  env.*|  env: {file: er/vars, pass: [FOO]}|' "$P" >"$WS/deep/p.yaml"
P=$T/child.yaml
expect_out "of the file" "file: beside the profile that is extended" ab -w "$WS" -- printenv FOO
rm -rf "$WS/deep"
file_env
sed "s/^  env:.*/  protect: {except: ['.env.sandbox.local']}/" "$P" >"$T/none.yaml"
P=$T/none.yaml
inside Y "with no env.file it is a file like any other (control)" read "$FILE"
file_env
check_not "no value is in the log" grep -rqE 'of the file|hush' "$STATE"
refused() { # ERE DESCRIPTION
	expect_rc 125 "file: $2" ab -- touch "$WS/ran"
	like "$(cat "$T/err")" "$1" "file: which is said"
	unlike "$(cat "$T/err")" hush "file: without the text"
	check_not "file: nothing ran" test -e "$WS/ran"
}
cp "$FILE" "$T/whole"
for bad in "export A=hush" " A=hush" "A = hush" "A=\"hush\"" "A='hush'" "A=hush"$'\r' "hush" "=hush" "1A=hush" "FOO=hush"; do
	{ cat "$T/whole" && echo "$bad"; } >"$FILE"
	refused '/[.]env[.]sandbox[.]local:10:[0-9]+: ' "a line that is no NAME=VALUE: $bad"
done
cp "$T/whole" "$FILE"
chmod 666 "$FILE"
refused 'file[.]yaml:3:15: .*can be written by others' "one that others may write"
chmod 600 "$FILE"
expect_rc 0 "file: one of the caller's alone (control)" ab -- true
ln "$FILE" "$T/other-name"
refused 'file[.]yaml:3:15: .*2 names' "one with another name"
rm "$T/other-name"
mv "$FILE" "$T/real"
refused 'file[.]yaml:3:15: .*cannot be opened' "one that is not there"
ln -s "$T/real" "$FILE"
refused 'file[.]yaml:3:15: .*symlink' "a link"
rm "$FILE"
mkdir "$T/added"
mv "$T/real" "$T/added/v"
profile base <<YAML
sandbox: {base: {from: host, add: ["$T/added"]}, env: {file: added/v}}
permissions: {agents: {me: allow}}
YAML
refused "base[.]yaml:1:[0-9]+: .*lies in '.*/added' of the base" "one that the base shows"
sed 's/base: [^}]*}, //' "$P" >"$T/away.yaml"
P=$T/away.yaml
expect_rc 0 "file: outside of it (control)" ab -- true
base_profile

# --- required (R095): nothing is started without it, and nothing else is told
base_profile "env: {pass: [NEEDED_KEY, FOO], required: [NEEDED_KEY]}"
expect_rc 125 "a required variable that the caller has not" ab -- touch "$WS/ran"
like "$(cat "$T/err")" "^agentbox: [^ ]*base.yaml:6:[0-9]+: missing: NEEDED_KEY " "it is named, at its place"
unlike "$(cat "$T/err")" "foo|hush|BAR" "and nothing else of the environment"
check_not "nothing ran" test -e "$WS/ran"
NEEDED_KEY=hush expect_rc 0 "one that it has (control)" ab -- sh -c 'test "$NEEDED_KEY" = hush'
NEEDED_KEY='' expect_rc 0 "an empty one" ab -- sh -c 'test "${NEEDED_KEY-none}" = ""'
"$AGENTBOX" run --json --state "$STATE" -p "$P" -- true >"$T/j" 2>/dev/null
json_is "$T/j" 'o["rc"] == 125 and not o["started"] and o["error"]["code"] == "request"' "in the result"
expect_rc 125 "a plan is none either" ab --dry-run -- true
echo x >"$WS/file"
expect_rc 0 "a file tool needs none" "$AGENTBOX" tool --state "$STATE" -p "$P" read "$WS/file"
(umask 077; echo NEEDED_KEY=hush >"$T/needed")
base_profile "env: {file: needed, pass: [NEEDED_KEY], required: [NEEDED_KEY]}"
expect_rc 0 "from a file" ab -- sh -c 'test "$NEEDED_KEY" = hush'
base_profile "env: {file: needed, pass: [NEEDED_KEY], deny: ['*_KEY'], required: [NEEDED_KEY]}"
expect_rc 125 "what deny takes away is missing" ab -- true
base_profile "env: {set: {NEEDED_KEY: x}, required: [NEEDED_KEY]}"
expect_rc 0 "what set says is there" ab -- true
sed 's/required: .NEEDED_KEY./required: ["N*"]/' "$P" >"$T/pattern.yaml"
expect_rc 125 "a pattern is refused" "$AGENTBOX" lint "$T/pattern.yaml"
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
