#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Roots: what the agent may do there, where they may lie, how they may be named.
# R048, R049, R053, R059, R070, R073; P30, P31, P32, P47.
. "$(dirname "$0")/lib.sh" || exit 1
live_setup() { # once, as the suite's own user: a directory of root's that others may only search
	local c
	mkdir -p "$LIVE/passage"
	for c in root user nested; do
		mkdir "$LIVE/passage/$c"
		[ "$EUID" != 0 ] || chown "$LIVE_UID:$LIVE_UID" "$LIVE/passage/$c"
	done
	chmod 711 "$LIVE/passage"
}
as_callers

# --- by agent
mkdir -p "$T/data/reports" "$T/data/alice" "$T/data/both"
echo r >"$T/data/reports/r"
echo a >"$T/data/alice/a"
profile agents <<YAML
sandbox:
  roots: ["$T/data/reports", "$T/data/alice", {path: "$T/data/both", mode: ro}, {path: "$T/bin", mode: ro}]
permissions:
  policy_model: rules
  agents:
    alice:
      rules:
        - {operations: [read, write], paths: ["$T/data/alice/**", "$T/data/both/**"], mode: allow}
        - {operations: [read], paths: ["$T/data/reports/**", "$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
    bob:
      rules:
        - {operations: [read], paths: ["$T/data/reports/**", "$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
    carol:
      rules:
        - {operations: [read, write], paths: ["$T/data/alice/**", "$T/bin/**"], mode: deny}
        - {operations: [read, write], paths: ["$T/data/**"], mode: allow}
        - {operations: [read], paths: ["$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
    noexec:
      rules:
        - {operations: [read], paths: ["$T/data/reports/**"], mode: allow}
YAML
ABOPT=(-a alice)
inside Y "alice writes in her tree" write "$T/data/alice/x" x
inside EROFS "alice writes in the reports" write "$T/data/reports/x" x
inside Y "alice reads the reports" read "$T/data/reports/r"
inside EROFS "the sandbox's ro is the upper bound" write "$T/data/both/x" x
ABOPT=(-a bob)
inside Y "bob reads the reports" read "$T/data/reports/r"
inside EROFS "bob writes in the reports" write "$T/data/reports/x" x
inside ENOENT "alice's tree does not exist for bob" exists "$T/data/alice"
outside Y "alice's tree (control)" exists "$T/data/alice"
inside ENOENT "nor the third" exists "$T/data/both"
ABOPT=()
expect_out "c no-alice no-bin" "carol's denials come first, and hold against what is allowed below them" ab -a carol -- sh -c \
	'cd "$0" && echo c >reports/c && echo "$(cat reports/c) $(test -e alice || echo no-alice) $(test -e "$1" || echo no-bin)"' \
	"$T/data" "$T/bin"
rm -f "$T/data/reports/c"
expect_rc 120 "an agent without execute" ab -a noexec -- true
expect_rc 120 "two agents and none named" ab -- true

# --- tenants share nothing
base_profile
expect_rc 0 "scratch is written" ab -- sh -c 'echo s >/tmp/s && echo s >/dev/shm/s && echo s >$HOME/s && echo s >/var/tmp/s'
expect_rc 0 "and is another one in the next run" ab -- sh -c '! test -e /tmp/s -o -e /dev/shm/s -o -e "$HOME/s" -o -e /var/tmp/s'

# --- nested roots
mkdir -p "$WS/in/deep"
profile nested <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$WS/in", mode: ro}, {path: "$WS/in/deep", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside Y "the outer root" write "$WS/o" x
inside EROFS "a ro root in a rw root" write "$WS/in/o" x
inside Y "a rw root in that" write "$WS/in/deep/o" x
inside N "the inner root cannot be moved away" rename "$WS/in" "$WS/out"
profile nested2 <<YAML
sandbox: {roots: [{path: "$WS/in/deep", mode: rw}, {path: "$WS", mode: rw}, {path: "$WS/in", mode: ro}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside EROFS "whatever the order in the file" write "$WS/in/o2" x
inside Y "as before (control)" write "$WS/in/deep/o2" x

# Six orders of three roots in each other are one (P39).
mkdir -p "$T/c/w/s"
three=("{path: \"$T/c\", mode: ro}" "{path: \"$T/c/w\", mode: rw}" "{path: \"$T/c/w/s\", mode: ro}")
for order in "0 1 2" "0 2 1" "1 0 2" "1 2 0" "2 0 1" "2 1 0"; do
	read -r a b c <<<"$order"
	profile order <<-YAML
		sandbox: {roots: [${three[a]}, ${three[b]}, ${three[c]}, {path: "$T/bin", mode: ro}]}
		permissions: {agents: {me: allow}}
	YAML
	expect_out "ro rw ro" "three roots in each other, in the order $order" ab -- sh -c \
		'for d; do if touch "$d/x" 2>/dev/null; then echo rw; else echo ro; fi; done | paste -sd" "' sh \
		"$T/c" "$T/c/w" "$T/c/w/s"
done
is "$(cd "$T/c" && find . -type f)" ./w/x "and so is what landed"
rm -rf "$T/c"

# --- nested two levels deep and more: the directories between are held too
mkdir -p "$WS/vendor/x/lib" "$WS/other/x"
echo good >"$WS/vendor/x/lib/f"
profile deep <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$WS/vendor/x/lib", mode: ro}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside EBUSY "the directory above it cannot be moved away" rename "$WS/vendor" "$WS/old"
inside EBUSY "nor the one between" rename "$WS/vendor/x" "$WS/vendor/old"
inside Y "another one can (control)" rename "$WS/other" "$WS/other2"
inside Y "and what is in one of them is written" write "$WS/vendor/x/new" x
ab -- sh -c 'mv vendor old; mkdir -p vendor/x/lib; echo EVIL >vendor/x/lib/f' >/dev/null 2>&1
is "$(cat "$WS/vendor/x/lib/f")" good "the read-only root is the one that was there"
rm -rf "$WS/vendor" "$WS/other2"

# --- one directory by two names
mkdir "$T/twin"
for m in "rw ro 125" "ro rw 125" "rw rw 0" "ro ro 0"; do
	read -r m1 m2 want <<<"$m"
	profile twin <<YAML
sandbox: {roots: [{path: "$T/twin", at: /one, mode: $m1}, {path: "$T/twin", at: /two, mode: $m2}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
	expect_rc "$want" "one directory as $m1 and as $m2" ab -- true
	[ "$want" = 0 ] || like "$(cat "$T/err")" 'twin\.yaml:1:[0-9]+: .*line 1, column' "names both"
done

# --- a profile with two names
base_profile
cp "$T/base.yaml" "$T/linked.yaml"
P=$T/linked.yaml
expect_rc 0 "a profile with one name (control)" ab -- true
ln "$T/linked.yaml" "$WS/not-a-profile"
expect_rc 125 "with another one that lies in the root" ab -- true
like "$(cat "$T/err")" '2 names .*copy it' "and says why"
rm -f "$WS/not-a-profile"

# --- at another place
mkdir "$T/else"
profile at <<YAML
sandbox: {roots: [{path: "$T/else", at: /workspace, mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside Y "a root at a virtual path" write /workspace/f x
check "lands in the host's" test -e "$T/else/f"
inside ENOENT "and is not at its host path" exists "$T/else"
expect_out /workspace "the working directory is its virtual path" ab -- pwd
expect_out /workspace "also from there" sh -c "cd $T/else && exec $AGENTBOX run --state $STATE -p $P -- pwd"
for at in /usr/x /proc/x /dev/x /tmp /etc /; do
	profile at-bad <<YAML
sandbox: {roots: [{path: "$T/else", at: "$at", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
	expect_rc 125 "a root at $at is refused" ab -- touch "$T/else/ran"
done
check_not "and nothing ran" test -e "$T/else/ran"
for at in /tmp/x /tmp/x/y/z /var/tmp/x /home/agent/x /new/place; do
	profile at-good <<YAML
sandbox: {roots: [{path: "$T/else", at: "$at", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
	inside Y "a root at $at" write "$at/g" x
done

# --- a root below the host's /tmp, and a single file
below=$(mktemp -d /tmp/agentbox-live-root.XXXXXX)
profile tmp <<YAML
sandbox: {roots: [{path: "$below", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside Y "a root below /tmp" write "$below/f" x
check "lands in the host's" test -e "$below/f"
inside Y "beside the scratch" write /tmp/other x
check_not "which is not the host's" test -e /tmp/other
rm -rf "$below"
echo old >"$T/one.txt"
profile file <<YAML
sandbox: {roots: [{path: "$T/one.txt", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside Y "a file as a root" write "$T/one.txt" new
is "$(cat "$T/one.txt")" new "lands"
ab -- sh -c "echo x >$T/two.txt" 2>/dev/null
check_not "its folder is no root" test -e "$T/two.txt"

# --- links in the path of a root, three spellings, and a dangling one
mkdir -p "$T/links/real"
ln -s real "$T/links/rel"
ln -s "$T/links/real" "$T/links/abs"
ln -s nope "$T/links/dang"
for l in real rel abs; do
	profile link <<YAML
sandbox: {roots: [{path: "$T/links/$l", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
	inside Y "a root by a path that is ${l}" write "$T/links/$l/by-$l" x
	check "lands in the one directory" test -f "$T/links/real/by-$l"
done
# Started by either name of the directory (P45).
mkdir "$T/links/real/ws"
ln -s "$T/links/real" "$T/links/alias"
profile spelt <<YAML
sandbox: {roots: [{path: "$T/links/alias/ws", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
for l in alias real; do
	expect_out "$T/links/alias/ws" "started in $l/ws: in the root, as the profile spells it" \
		sh -c "cd $T/links/$l/ws && exec $AGENTBOX run --state $STATE -p $P -- sh -c 'touch by-$l && pwd'"
	check "and it lands" test -f "$T/links/real/ws/by-$l"
done
profile dang <<YAML
sandbox: {roots: [{path: "$T/links/dang", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 125 "a dangling link" ab -- true
like "$(cat "$T/err")" 'dang' "is named"
check_not "and its target is not made" test -e "$T/links/nope"
profile absent <<YAML
sandbox: {roots: [{path: "$T/absent", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 125 "a root that is not there" ab -- true
like "$(cat "$T/err")" 'absent\.yaml:1:[0-9]+: .*' "is told with its place in the file"
check_not "and is not made" test -e "$T/absent"
profile optional <<YAML
sandbox: {roots: [{path: "$T/absent", mode: rw, optional: true}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 0 "unless it is optional" ab -- true

# --- names
for name in plain 'a b' 'a:b' 'a,b' 'a\b' 'é😀' '-x' $'a\nb' 'trailing ' '..x' "it's" 'a"b' '*' '$HOME' $'\377\376x'; do
	d=$T/names/$name
	mkdir -p "$d/ro"
	profile name <<YAML
params: {workspace: {required: true}}
sandbox: {roots: [{path: "\${workspace}", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
	ABOPT=(-w "$d")
	inside Y "a root named $(printf %q "$name")" write "$d/f" x
	check "lands" test -f "$d/f"
done
ABOPT=()
for name in 'a b' 'a:b' 'é😀'; do
	PYTHONUTF8=1 py -c 'import json, sys
print("sandbox: {roots: [{path: %s, mode: ro}, {path: %s, mode: ro}]}" % tuple(json.dumps(a, ensure_ascii=False) for a in sys.argv[1:]))
print("permissions: {agents: {me: allow}}")' "$T/names/$name" "$T/bin" >"$T/yname.yaml"
	P=$T/yname.yaml
	inside Y "a quoted name $(printf %q "$name")" read "$T/names/$name/f"
	inside EROFS "and its mode" write "$T/names/$name/g" x
done
mkdir "$T/plain"
expect_rc 125 "-w of what is not there" ab -w "$T/none" -- true

# --- ancestors that can be searched and not read
base_profile
if [ "$CALLER" = user ] && [ -d "$LIVE/root" ]; then
	note "the folder above is root's"
fi
mkdir -p "$T/p/ws"
chmod 711 "$T/p"
[ "$CALLER" = root ] && chown -R "31234:31234" "$T/p/ws"
profile search <<YAML
sandbox: {roots: [{path: "$T/p/ws", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
inside Y "a root below a 0711 directory" write "$T/p/ws/a" x
chmod 100 "$T/p"
inside Y "below a 0100 directory" write "$T/p/ws/b" x
chmod 700 "$T/p"

profile passage <<YAML
sandbox: {roots: [{path: "$LIVE/passage/$CALLER", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
[ "$CALLER" = root ] || [ -O "$LIVE/passage" ] || check_not "a directory of somebody else's is not listed (control)" ls "$LIVE/passage"
inside Y "a root below it" write "$LIVE/passage/$CALLER/a" x
check "lands" test -f "$LIVE/passage/$CALLER/a"

# --- refused roots, whatever their spelling
for r in / /etc /usr /var /run /proc /sys /dev /boot /root /home "$HOME" "$T" /etc/../etc "$T/links/etc" ; do
	[ -e "$T/links/etc" ] || ln -s /etc "$T/links/etc"
	[ -e "$r" ] || continue
	# $T holds the state directory of this test; HOME is this test's, not the one of passwd
	if [ "$r" = "$HOME" ] && ! getent passwd "$EUID" | cut -d: -f6 | grep -qxF "$HOME"; then
		continue
	fi
	mkdir -p "$STATE"
	chmod 700 "$STATE"
	profile refused <<YAML
sandbox: {roots: [{path: "$r", mode: ro}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
	expect_rc 125 "$r as a root" ab -- touch "$WS/ran"
	check_not "nothing ran" test -e "$WS/ran"
done

# --- the control plane is not reachable
base_profile
inside N "the state directory" exists "$STATE"
outside Y "the state directory (control)" exists "$STATE"
profile statein <<YAML
sandbox: {roots: [{path: "$STATE", mode: rw}]}
permissions: {agents: {me: allow}}
YAML
expect_rc 125 "the state directory as a root" ab -- true
mkdir -p "$T/bin2"
cp "$AGENTBOX" "$T/bin2/agentbox"
profile self <<YAML
sandbox: {roots: [{path: "$T/bin2", mode: rw}, {path: "$T/bin", mode: ro}]}
permissions: {agents: {me: allow}}
YAML
AGENTBOX=$T/bin2/agentbox
inside Y "a root with the running binary in it" write "$T/bin2/x" x
inside N "cannot change the binary" write "$T/bin2/agentbox" x
inside N "nor move it" rename "$T/bin2/agentbox" "$T/bin2/y"
AGENTBOX=$LIVE/agentbox
# --- P31: links of the base
base_profile
inside Y "/bin/sh by the link of the base" exec-ok /bin/sh
expect_rc 0 "/bin is what it is on the host" ab -- sh -c "test \"\$(readlink /bin)\" = '$(readlink /bin)'"
done_testing
