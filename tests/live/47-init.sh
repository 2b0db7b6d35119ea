#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# init writes a profile that works as it stands, once.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

try() { # NAME: in the folder $T/NAME
	cd "$T/$1" || return
	expect_rc 0 "$1: init" "$AGENTBOX" init
	like "$(cat "$T/out")" "agentbox run -p agentbox\.yaml -- $2("$'\n'"|$)" "$1: says what next"
	expect_rc 0 "$1: lint" "$AGENTBOX" lint agentbox.yaml
	is "$(cat "$T/err")" "" "$1: no warning"
	expect_rc 0 "$1: its tests hold" "$AGENTBOX" test agentbox.yaml
	expect_rc 0 "$1: run" "$AGENTBOX" run --state "$STATE" -p agentbox.yaml -- touch made
	check "$1: works in the folder" test -e made
	expect_rc 1 "$1: and in no other" "$AGENTBOX" run --state "$STATE" -p agentbox.yaml -- test -e "$PROBE"
	expect_rc 0 "$1: which is there (control)" test -e "$PROBE"
	expect_rc "1|2" "$1: the profile is not changed from inside" "$AGENTBOX" run --state "$STATE" -p agentbox.yaml -- \
		sh -c 'echo x >>agentbox.yaml'
	echo "# mine" >>agentbox.yaml
	expect_rc 125 "$1: not twice" "$AGENTBOX" init
	like "$(cat "$T/err")" "is here already and stays as it is" "$1: and says so"
	is "$(tail -n 1 agentbox.yaml)" "# mine" "$1: as it was"
}

mkdir "$T/empty" "$T/repository" "$T/link" "$T/open"
try empty "ls -la"
cd "$T/repository" || exit 1
mkdir -p .git/hooks
echo '[core]' >.git/config
echo 'all:' >Makefile
try repository make
like "$("$AGENTBOX" run --state "$STATE" -p agentbox.yaml -- sh -c 'echo x >.git/hooks/x || echo refused' 2>/dev/null)" \
	refused "repository: the hooks of git stay"
cd "$T/link" || exit 1
ln -s "$T/elsewhere" agentbox.yaml
expect_rc 125 "never through a link" "$AGENTBOX" init
check_not "to nowhere" test -e "$T/elsewhere"
cd "$T/open" || exit 1
chmod 777 .
expect_rc 125 "a folder that others may write" "$AGENTBOX" init
like "$(cat "$T/err")" "can be written by others" "is told at once"
chmod 755 .
expect_rc 0 "and is good once closed (control)" "$AGENTBOX" lint agentbox.yaml
mkdir "$T/killed"
cd "$T/killed" || exit 1
# No byte can be written.
(ulimit -f 0; exec "$AGENTBOX" init) >/dev/null 2>&1
is $? 125 "ended while it writes"
if py -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)' 2>/dev/null; then
	is "$(ls -A)" "" "nothing is left"
else
	note "no file without a name on this file system"
	rm -f agentbox.yaml
fi
expect_rc 0 "and it can be had again" "$AGENTBOX" init
is "$(stat -c %a:%h agentbox.yaml)" "644:1" "with the mode and the one name of a plain file"
expect_rc 125 "init takes no word" "$AGENTBOX" init here
expect_rc 125 "schema takes no word" "$AGENTBOX" schema here
done_testing
