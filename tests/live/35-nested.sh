#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nested_sandboxes: off, no user namespace inside; on, bwrap and unshare work there, and the
# result says what is given up. DESIGN 3.1; KERNEL C2; E3, P79-P81.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

# --- off
outside Y "a user namespace" unshare-user
inside N "none inside" unshare-user
out=$(ab -- unshare -Urpf --mount-proc echo made 2>&1)
unlike "$out" '^made' "nor by unshare"
like "$out" 'No space left|not permitted' "ENOSPC or EPERM ($out)"
expect_rc '1|125|126|127' "nor a sandbox in the sandbox" ab -- unshare -U true
expect_out 0 "the limit cannot be raised" ab -- sh -c \
	'echo 100 >/proc/sys/user/max_user_namespaces; cat /proc/sys/user/max_user_namespaces'
inside N "mount" mount-tmpfs /tmp
# E3: the calls of the new mount API, which older filters forgot, and the old ones
cp "$LIVE/lib/mount-calls.py" "$T/bin/"
unshare -rm "$PYTHON" -I "$T/bin/mount-calls.py" >"$T/outside" 2>&1
is "$(grep -cvE ' (EPERM|ENOSYS)$' "$T/outside"; grep -E ' (EPERM|ENOSYS)$' "$T/outside")" 15 \
	"each of the mount calls is heard where one has the rights (control)"
ab -- "$PYTHON" -I "$T/bin/mount-calls.py" >"$T/inside" 2>&1
is "$(grep -cE ' (EPERM|ENOSYS)$' "$T/inside"; grep -vE ' (EPERM|ENOSYS)$' "$T/inside")" 15 "none of them inside"

# --- on
ab --json -- true >"$T/json"
kind=$(json_get "$T/json" 'o["mechanisms"]["identity"]')
like "$CALLER $kind" '^(root (mapped|root)|(user|nested) caller)$' "what the caller is inside"
base_profile "nested_sandboxes: true"
if [ "$kind" = root ]; then
	expect_rc 125 "refused for kernel uid 0" ab -- touch "$WS/marker"
	like "$(cat "$T/err")" 'not for kernel uid 0' "which it says"
	check_not "and nothing ran" test -e "$WS/marker"
	done_testing
fi
ab --json -- true >"$T/json"
json_is "$T/json" "o['mechanisms']['nested_sandboxes'] and o['mechanisms']['landlock'] == 'none'" \
	"the result says so, and that there is no Landlock"
inside Y "a user namespace" unshare-user
expect_rc 0 "with a proc of its own" ab -- unshare -Urpf --mount-proc true
expect_out 1 "in which it is the first" ab -- unshare -Urpf --mount-proc sh -c 'readlink /proc/self >/dev/null; echo $$'
expect_rc 0 "and a tmpfs" ab -- unshare -Urm sh -c 'mount -t tmpfs x /tmp && echo y >/tmp/z'
if command -v bwrap >/dev/null; then
	expect_rc 0 "bwrap" ab -- bwrap --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --unshare-all true
else
	skip "bwrap inside" "no bwrap on this machine"
fi
# agentbox in itself: with the calls that it needs, as deep as one likes; else it says what is missing
cp "$AGENTBOX" "$T/bin/agentbox"
cat >"$T/bin/deeper.sh" <<'SH'
[ "$2" -gt 0 ] || { echo "depth reached"; exit 0; }
printf 'sandbox: {nested_sandboxes: true, syscalls: {allow: [setid_bits]}, roots: [{path: "%s", mode: ro}]}\npermissions: {agents: {me: allow}}\n' \
	"${0%/*}" >"$HOME/p.yaml"
exec "$1" run --state "$HOME/s" -p "$HOME/p.yaml" -- sh "$0" "$1" $(($2 - 1))
SH
expect_rc 125 "agentbox inside, without openat2" ab -- sh "$T/bin/deeper.sh" "$T/bin/agentbox" 1
like "$(cat "$T/err")" 'nested_sandboxes: true, with syscalls: \{allow: \[setid_bits\]\}' "says what it needs"
base_profile $'nested_sandboxes: true\nsyscalls: {allow: [setid_bits]}'
expect_out "depth reached" "agentbox inside of itself, three deep" \
	ab -- sh "$T/bin/deeper.sh" "$T/bin/agentbox" 3
base_profile "nested_sandboxes: true"
rm -f "$T/bin/agentbox" "$T/bin/deeper.sh"
echo s >"$WS/.env"
expect_rc 0 "masks hold for the owner of a namespace inside" ab -- unshare -Urm sh -c \
	"! grep -q s $WS/.env; umount $WS/.env 2>/dev/null; ! grep -q s $WS/.env"
rm -f "$WS/.env"
inside N "the base stays read-only" write /etc/agentbox-live x
expect_rc 0 "also to it" ab -- unshare -Urm sh -c \
	'! mount -o remount,rw,bind /usr 2>/dev/null && ! touch /usr/x 2>/dev/null'
expect_rc 0 "the kernel's own settings too" ab -- unshare -Ur sh -c \
	'! echo x 2>/dev/null >/proc/sys/kernel/core_pattern && ! echo h 2>/dev/null >/proc/sysrq-trigger'
no_sandbox_left "nothing is left"
done_testing
