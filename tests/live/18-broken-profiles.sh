#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No broken profile starts the command. P107.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
# In a folder that holds nothing else and is a good root, and with no option that a file does not
# ask for, so that no other reason than its text is there to refuse it.
mkdir "$T/broken"
n=0
for f in "$LIVE"/profiles/broken/*; do
	[ -f "$f" ] || continue
	name=$(basename "$f")
	P=$T/broken/$name
	cp "$f" "$P"
	chmod 644 "$P"
	at=$(awk -F '\t' -v name="broken/$name" '$1 == name { print $2 }' "$LIVE/profiles/broken.tsv")
	like "$at" '^[0-9]+:[0-9]+$' "$name: broken.tsv has its place"
	expect_rc 125 "$name" ab -- touch "$T/broken/ran"
	like "$(head -n 1 "$T/err")" "^agentbox: .*/${name//./[.]}:$at: " "$name: the message names the file and the place"
	rm -f "$P"
	n=$((n + 1))
done
is "$((n >= 30))" 1 "thirty of them ($n)"
check_not "nothing ran" test -e "$T/broken/ran"
P=$T/broken/whole.yaml
printf 'sandbox: {roots: [.]}\npermissions: {agents: {me: allow}}\n' >"$P"
expect_rc 0 "one that is whole, there and started the same way (control)" ab -- touch "$T/broken/ran"
check "it ran" test -e "$T/broken/ran"
rm -rf "$T/broken"
base_profile
expect_rc 0 "one that is whole (control)" ab -- touch "$WS/ran"
check "ran" test -e "$WS/ran"
rm -f "$WS/ran"

# --- whose file it is
chmod 666 "$P"
expect_rc 125 "a profile that others may write" ab -- touch "$WS/ran"
chmod 644 "$P"
expect_rc 0 "the same, closed (control)" ab -- true
ln -s "$P" "$T/link.yaml"
expect_rc 125 "a link in the last component" "$AGENTBOX" run --state "$STATE" -p "$T/link.yaml" -- touch "$WS/ran"
mkdir "$T/open"
cp "$P" "$T/open/p.yaml"
chmod 777 "$T/open"
expect_rc 125 "in a directory that others may write" "$AGENTBOX" run --state "$STATE" -p "$T/open/p.yaml" -- touch "$WS/ran"
chmod 755 "$T/open"
expect_rc 0 "the same, closed (control)" "$AGENTBOX" run --state "$STATE" -p "$T/open/p.yaml" -- true
if [ "$CALLER" = root ]; then
	chown 31234 "$P"
	expect_rc 125 "a profile of somebody else" ab -- touch "$WS/ran"
	chown 0 "$P"
fi
mkfifo "$T/fifo.yaml"
expect_rc 125 "a fifo" timeout -s KILL 120 "$AGENTBOX" run --state "$STATE" -p "$T/fifo.yaml" -- touch "$WS/ran"
mkdir "$T/dir.yaml"
expect_rc 125 "a directory" "$AGENTBOX" run --state "$STATE" -p "$T/dir.yaml" -- touch "$WS/ran"
expect_rc 0 "by descriptor" "$AGENTBOX" run --state "$STATE" --profile-fd 9 -- true 9<"$P"
{ cat "$P"; head -c 1100000 /dev/zero | tr '\0' '#'; } >"$T/big.yaml"
expect_rc 125 "more than 1 MiB" "$AGENTBOX" run --state "$STATE" -p "$T/big.yaml" -- touch "$WS/ran"
like "$("$AGENTBOX" run --state "$STATE" -p "$T/none.yaml" -- true 2>&1)" '^agentbox: .*none\.yaml' "one that is not there is named"
profile near <<<"sandbox:
  roots: [\"$WS\"]
  netwrok: none
permissions: {agents: {me: allow}}"
expect_rc 125 "a misspelt key" ab -- touch "$WS/ran"
like "$(cat "$T/err")" "near\.yaml:3:3: .*'netwrok'.*'network'" "is told with its place and the nearest one"
check_not "nothing of all this ran" test -e "$WS/ran"
# The home and the working directory are no configuration.
base_profile
mkdir -p "$HOME/.config/agentbox"
echo 'broken: [' >"$HOME/.config/agentbox/config.yaml"
echo 'broken: [' >"$WS/agentbox.yaml"
echo 'broken: [' >"$WS/.agentbox.yaml"
expect_rc 0 "no implicit configuration" ab -- true
done_testing
