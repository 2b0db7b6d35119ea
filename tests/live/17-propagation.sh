#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Mounts are private in both directions before anything is visible. DESIGN 6.4. Only root can
# mount; the whole test lives in a mount namespace of its own, whose mounts are made shared.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers root
if [ "$LIVE_IS_PRIVATE" != 1 ]; then
	skip "propagation" "no mount namespace can be made"
	done_testing
fi
mount --make-rshared / || fail "the test's own namespace is shared"
like "$(awk '$5 == "/"' /proc/self/mountinfo)" 'shared:' "the base of the test is shared (control)"
mkdir "$T/ro" "$T/ro/m" "$WS/m"
profile p <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$T/ro", mode: ro}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
# A copy of the namespace that does see it: the control.
unshare -m --propagation slave sh -c "touch $T/slave-up; while ! test -e $T/mounted; do sleep 0.05; done; sleep 0.2; test -e $T/ro/m/late && touch $T/slave-saw" &
slave=$!
ab_start -- sh -c "touch $WS/up; while ! test -e $WS/mounted; do sleep 0.05; done; sleep 0.2
ls -A $T/ro/m $WS/m; grep -c 'shared:\|master:\|propagate_from' /proc/self/mountinfo" >"$T/out" 2>"$T/err"
wait_for test -e "$WS/up" || fail "the command starts"
wait_for test -e "$T/slave-up"
mount -t tmpfs tmpfs "$T/ro/m" && touch "$T/ro/m/late"
mount -t tmpfs tmpfs "$WS/m" && touch "$WS/m/late"
touch "$WS/mounted" "$T/mounted"
wait "$sup"
is $? 1 "grep found no mount that is shared or a slave"
wait "$slave"
check "a slave namespace saw the late mount (control)" test -e "$T/slave-saw"
unlike "$(cat "$T/out")" late "the sandbox did not"
umount "$T/ro/m" "$WS/m"
before=$(cat /proc/self/mountinfo)
ab -- true
is "$(cat /proc/self/mountinfo)" "$before" "no mount of a run appears outside"

# A mount that is there before the start is part of the root, and as strict as it was.
mount -t tmpfs -o nosuid,noexec tmpfs "$T/ro/m" && touch "$T/ro/m/early"
if [ "$CALLER" = root ] && ! tmpfs_maps_ids; then
	expect_rc 125 "a tmpfs below a root, where the kernel maps no ids of it" ab -- touch "$WS/ran"
	like "$(cat "$T/err")" 'cannot be shown to an unprivileged identity: unmount it' "is told, with what to do"
	umount "$T/ro/m"
	expect_rc 0 "without it one runs (control)" ab -- touch "$WS/ran"
	done_testing
fi
inside Y "a mount below a root is seen" exists "$T/ro/m/early"
inside EROFS "read-only, as the root" write "$T/ro/m/x" x
mount -t tmpfs -o ro tmpfs "$WS/m"
inside EROFS "what the host has read-only stays so in a rw root" write "$WS/m/x" x
inside Y "beside it one writes (control)" write "$WS/x" x
umount "$WS/m"
mount -t tmpfs -o noexec,nosuid,nodev tmpfs "$WS/m"
cp "$PROBE" "$WS/m/probe"
expect_rc 126 "what the host has noexec stays so" ab -- "$WS/m/probe" ids
umount "$WS/m" "$T/ro/m"

# The mount table: once for the roots that are mounts, however many; and once for what is mounted below
# them, when the copy that the child builds from has been made. On the host's side alone.
tables() { # PROFILE'S ROOTS: what happens in a run, in order
	profile tables <<<"sandbox: {roots: [$1]}
permissions: {agents: {me: allow}}"
	ASAN_OPTIONS=detect_leaks=0 "$INJECT" --trace -- "$AGENTBOX" run --state "$STATE" -p "$P" -- true 2>&1 >/dev/null |
		grep -oE 'open(at2?)?\(.*"[^"]*mountinfo"|unshare\(0x1c' | grep -oE 'mountinfo|unshare' | xargs
}
if [ -n "${INJECT:-}" ] && ASAN_OPTIONS=detect_leaks=0 "$INJECT" --trace -- true >/dev/null 2>&1; then
	mkdir "$T/one" "$T/two"
	mount -t tmpfs tmpfs "$T/one"
	mount -t tmpfs tmpfs "$T/two"
	mkdir "$T/two/below"
	mount -t tmpfs tmpfs "$T/two/below"
	is "$(tables "'$WS'")" "unshare mountinfo" "the mount table is read when the mounts are copied"
	is "$(tables "'$T/one', '$T/two'")" "mountinfo unshare mountinfo" "also where roots are mounts of their own"
	umount "$T/two/below" "$T/two" "$T/one"
else
	skip "the mount table" "no tracer here"
fi
# What is mounted below a root after the root was looked at, and before its mounts are copied.
if command -v strace >/dev/null; then
	mkdir -p "$T/late/sub"
	mount -t tmpfs tmpfs "$T/late"
	mkdir -p "$T/late/sub"
	profile late <<<"sandbox: {roots: ['$T/late']}
permissions: {agents: {me: allow}}"
	expect_rc 0 "a root that is a mount (control)" ab -- test -d "$T/late/sub"
	strace -qq -f -e trace=unshare -e inject=unshare:delay_enter=2000000:when=1 -o "$T/late.trace" \
		"$AGENTBOX" run --state "$STATE" -p "$P" -- touch "$T/late/sub/ran" >"$T/out" 2>"$T/err" &
	late=$!
	wait_for grep -q unshare "$T/late.trace"
	mount --bind "$STATE" "$T/late/sub"
	rc=0
	wait "$late" || rc=$?
	is "$rc" 125 "what is mounted below it meanwhile is judged"
	like "$(cat "$T/err")" "state directory" "and named"
	check_not "nothing ran" test -e "$STATE/ran"
	umount "$T/late/sub" "$T/late"
else
	skip "a mount that comes meanwhile" "no strace here"
fi
P=$T/p.yaml
# Lines of 8 kB in the mount table, and names that are written there in another way (P47, P48).
long=$(printf 'x%.0s' {1..3900})
mkdir "$T/ro/odd "$'\n''\\040name' "$T/low" "$T/$(cut -c1-250 <<<"$long")" "$T/over"
odd="$T/ro/odd "$'\n''\\040name'
lower=$(cut -c1-250 <<<"$long")
mount -t tmpfs "$long" "$odd" && touch "$odd/early" "$odd/.env"
many=low
for ((i = 0; i < 14; i++)); do
	mkdir "$T/$lower/$i"
	many=$many:$lower/$i
done
(cd "$T" && mount -t overlay -o "lowerdir=$many" "$long" over) || note "no overlayfs here"
is "$((($(awk '{ print length }' /proc/self/mountinfo | sort -n | tail -n 1)) > 3900))" 1 "the mount table has long lines (control)"
inside Y "a mount below a root by an odd name is seen" exists "$odd/early"
inside EROFS "read-only, as the root" write "$odd/x" x
[ ! -d "$T/over/.." ] || umount "$T/over" 2>/dev/null
umount "$odd"
ln -s /etc/passwd "$WS/link"
mount -t tmpfs -o nosymfollow tmpfs "$WS/m" 2>/dev/null && {
	ln -s /etc/passwd "$WS/m/link"
	inside Y "a link (control)" read "$WS/link"
	inside ELOOP "nosymfollow of the host stays" read "$WS/m/link"
	umount "$WS/m"
}
done_testing
