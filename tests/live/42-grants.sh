#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Ways to be granted more than was meant: other names of a writable root, links of strangers, mounts
# below a root, places that are no workspace.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers
says() { # TEXT DESCRIPTION ARG...
	local text=$1 desc=$2
	shift 2
	expect_rc 125 "$desc" ab "$@" -- touch ran
	like "$(cat "$T/err")" "$text" "$desc: says why"
}

# --- a link planted below a writable root, reached by another name of the root
mkdir -p "$T/real/proj/data" "$T/secret"
echo hush >"$T/secret/id"
chmod -R a+rX "$T/real" "$T/secret"
ln -s "$T/real/proj" "$T/alias"
P=$T/alias.yaml
cat >"$P" <<YAML
sandbox: {roots: [{path: $T/alias, mode: rw}, {path: $T/real/proj/data, mode: ro}, {path: $(dirname "$PROBE"), mode: ro}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "a directory, by another name of the root (control)" ab -- true
rmdir "$T/real/proj/data"
ln -s "$T/secret" "$T/real/proj/data"
says "through a link below a writable root" "a link in its place"

# --- a link that somebody else owns
base_profile
if [ "$CALLER" = root ]; then
	mkdir "$T/sticky"
	chmod 1777 "$T/sticky"
	setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups ln -s "$T/secret" "$T/sticky/ws"
	ln -s "$T/secret" "$T/sticky/own"
	P=$T/sticky.yaml
	printf 'params: {workspace: {required: true}}\nsandbox: {roots: ["${workspace}"]}\npermissions: {agents: {me: allow}}\n' >"$P"
	expect_rc 0 "one's own link (control)" ab -w "$T/sticky/own" -- true
	# With fs.protected_symlinks the kernel says so first.
	says "belongs to another user|Permission denied" "a stranger's link" -w "$T/sticky/ws"
	for place in /etc/ssl /etc/default /etc/security; do [ ! -d "$place" ] || break; done
	printf 'sandbox: {roots: [{path: %s, at: /work}]}\npermissions: {agents: {me: allow}}\n' "$place" >"$P"
	says "where the host looks for what to run" "a place of the host's"
	printf 'sandbox: {roots: [{path: %s, at: /work, mode: ro}]}\npermissions: {agents: {me: allow}}\n' "$place" >"$P"
	expect_rc 0 "to be looked at only (control)" ab -- true
fi

# --- the default state directory is guarded when another is named
base_profile
mkdir -p "$T/xdg/agentbox"
chmod 700 "$T/xdg" "$T/xdg/agentbox"
P=$T/xdg.yaml
printf 'sandbox: {roots: [%s]}\npermissions: {agents: {me: allow}}\n' "$T/xdg/agentbox" >"$P"
if [ "$CALLER" = user ]; then
	export XDG_STATE_HOME=$T/xdg
	says "the default state directory" "the default state directory as a root"
	export XDG_STATE_HOME=$T
	expect_rc 0 "when it is another's default no more (control)" ab -- true
	unset XDG_STATE_HOME
fi

# --- what is mounted below a root is granted with it
if [ "$CALLER" = root ]; then
	base_profile
	mkdir "$WS/m"
	if tmpfs_maps_ids; then
		mount -t tmpfs none "$WS/m"
	else
		mkdir "$T/other"
		chmod 777 "$T/other"
		mount --bind "$T/other" "$WS/m"
	fi
	expect_rc 0 "a file system below a root (control)" ab -- touch "$WS/m/x"
	umount "$WS/m"
	mkdir -p "$STATE"
	mount --bind "$STATE" "$WS/m"
	says "the state directory" "the state directory, mounted below a root"
	umount "$WS/m"
	mount --bind "$(dirname "$P")" "$WS/m"
	expect_rc 125 "the profile's directory, mounted below a root" ab -- true
	umount "$WS/m"
	mount --rbind /proc "$WS/m" && {
		says "/proc|kernel file system" "proc, mounted below a root"
		umount -l "$WS/m"
	}
	rmdir "$WS/m"
fi
done_testing
