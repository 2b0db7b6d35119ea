#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The base: the host's, the least of it, a root file system, added trees; /etc inside.
# P30, P31, P33, P43, P44, P63, P65, P66, P70, P72, P73, P82.
. "${0%/*}/lib.sh"
as_callers

# with_base YAML [MORE LINES OF THE SANDBOX BLOCK]: a profile named by its number
N=0
with_base() {
	N=$((N + 1))
	profile "base-$N" <<-YAML
		version: 1
		sandbox:
		  base: $1
		  roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}]
		${2:+$(sed 's/^/  /' <<<"$2")}
		permissions: {agents: {me: allow}}
	YAML
}

same() { # DESCRIPTION SHELL TEXT: the same output inside as outside
	local want got
	want=$(bash -c "$2" 2>&1)
	got=$(ab -- bash -c "$2" 2>&1)
	is "$got" "$want" "$1"
}

# --- the host's: what programs look up is what they find outside
with_base host
# Not stopped: the host's system files
same "what there is in /usr" 'cd /usr && find . -maxdepth 2 | sort | sha256sum'
same "ld.so.cache" 'PATH=$PATH:/sbin:/usr/sbin; ldconfig -p | wc -l'
same "the time zone" 'date +%Z'
same "alternatives" 'for f in /etc/alternatives/*; do test -e "$f" && echo "$f"; done | wc -l; readlink -f /etc/alternatives/awk'
same "awk" 'awk "BEGIN { print 1 + 1 }"'
same "localtime is the host's, not a copy" 'stat -L -c "%i %a %s" /etc/localtime'
same "certificates" 'ls /etc/ssl/certs 2>/dev/null | wc -l; head -c 64 /etc/ssl/certs/ca-certificates.crt 2>/dev/null'
same "the top of the system" 'for f in /usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt; do test -L $f && readlink $f || ls -d $f 2>/dev/null; done'
same "the loader by its own name" 'f=$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null); $f --version | head -n 1'
like "$(ab -- getent passwd agent)" "^agent:x:[0-9]+:[0-9]+:agent:/home/agent:/bin/sh$" "passwd names the user"
is "$(ab -- sh -c 'getent passwd $(id -u) | cut -d: -f1; getent group $(id -g) | cut -d: -f1')" \
	$'agent\nagent' "the ids have names"
is "$(ab -- getent passwd daemon)" "" "and no user of the host has"
is "$(getent passwd daemon | cut -d: -f1)" daemon "which the host has (control)"
is "$(ab -- cat /etc/hostname)" agentbox "hostname"
like "$(ab -- getent hosts localhost)" "localhost" "localhost"
unlike "$(ab -- cat /etc/nsswitch.conf)" "systemd|resolve|sss|ldap" "nsswitch asks nobody outside"
is "$(ab -- sed -n 's/^\(passwd\|group\|hosts\):.*\bfiles\b.*/\1/p' /etc/nsswitch.conf)" $'passwd\ngroup\nhosts' "but the files that are the sandbox's own"
is "$(ab -- sh -c 'cd /var/run && pwd -P; cd /var/lock && pwd -P')" $'/run\n/run/lock' "absolute links of /var"
is "$(ab -- ls /var)" $'lock\nrun\ntmp' "nothing else of /var"
is "$(ab -- ls -A /run)" lock "nothing of /run"
inside ENOENT "WSL's sockets" exists /run/WSL
is "$(WSL_INTEROP=/run/WSL/1_interop ab -- sh -c 'echo "${WSL_INTEROP-unset}"')" unset "nor their name"
inside EROFS "writing to the base" write /etc/agentbox-test x
# Whatever can be written inside is a root's, the scratch's, or the kernel's own (P69).
echo x >"$WS/mine"
is "$(ab -- find / \( -path /proc -o -path /dev \) -prune -o -type f -writable -print 2>/dev/null)" "$WS/mine" \
	"the files that can be written are those of the root"
rm -f "$WS/mine"
outside Y "writing in the root (control)" write "$WS/x" x

# --- what programs do with their surroundings
shells=(sh bash)
for s in zsh dash; do command -v $s >/dev/null && shells+=("$s"); done
for s in "${shells[@]}"; do
	is "$(ab -- "$s" -c $'cat <<E\nhere $((1 + 1))\nE')" "here 2" "$s: here-document"
done
is "$(ab -- bash -c 'cat <(echo a) <(echo b)')" $'a\nb' "process substitution"
is "$(ab -- sh -c 'echo x >/dev/stderr; echo y >/dev/stdout; echo z | cat /dev/stdin /dev/fd/0' 2>/dev/null)" \
	$'y\nz' "/dev/stdout, /dev/stdin, /dev/fd"
is "$(ab -- stat -c '%a %A' /dev/shm /tmp /var/tmp | sort -u)" "1777 drwxrwxrwt" "modes of the scratch"
expect_rc 0 "mktemp in /tmp and /var/tmp" ab -- sh -c 'mktemp && mktemp -p /var/tmp && mktemp -d'
is "$(ab -- sh -c 'seq 1 200000 | sort -R | sort -n -S 64K | tail -n 1')" 200000 "sort spills to a file"
if [ -n "$PYTHON" ]; then
	expect_out ok "python: Lock, shared memory, openpty, tempfile" ab -- "$PYTHON" -I -c '
import multiprocessing as m, os, tempfile
from multiprocessing import shared_memory
with m.Lock(): pass
s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 1; s.close(); s.unlink()
a, b = os.openpty(); os.write(b, b"x"); assert os.read(a, 1) == b"x"
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
print("ok")'
fi

# --- the least of it
with_base minimal
same "minimal: the time zone" 'date +%Z'
same "minimal: ld.so.cache" 'PATH=$PATH:/sbin:/usr/sbin; ldconfig -p | wc -l'
same "minimal: alternatives" 'readlink -f /etc/alternatives/awk; awk "BEGIN { print 1 }"'
same "minimal: certificates" 'ls /etc/ssl/certs 2>/dev/null | wc -l'
expect_out 2 "minimal: sh" ab -- sh -c 'echo $((1 + 1))'
[ -z "$PYTHON" ] ||
	expect_out ok "minimal: python with ssl" ab -- "$PYTHON" -I -c 'import ssl, ctypes; ssl.create_default_context(); print("ok")'
if command -v cc >/dev/null; then
	echo 'int main(void) { return 7; }' >"$WS/m.c"
	expect_rc 7 "minimal: cc and its program" ab -- sh -c "cc -o $WS/m $WS/m.c && exec $WS/m"
else
	skip "minimal: cc" "no cc here"
fi
is "$(ab -- sh -c 'getent passwd $(id -u) | cut -d: -f1; cat /etc/hostname')" $'agent\nagentbox' "minimal: our own files"
for f in fstab crontab machine-id apt init.d pam.d; do
	[ -e "/etc/$f" ] && inside ENOENT "minimal: /etc/$f" exists "/etc/$f"
done
inside ENOENT "minimal: /opt" exists /opt
inside EROFS "minimal: /etc is not to be written" write /etc/x x
outside Y "passwd of the host (control)" exists /etc/passwd

# --- a root file system: split directories, programs of the host in them
R=$T/split
mkdir "$T/granted"
mkdir -p "$R/bin" "$R/lib" "$R/lib64" "$R/etc/ssl/private" "$R/var/lib/store/in" "$R/var/tmp/old" \
	"$R/run/old" "$R/tmp/old" "$R/home/old" "$R/srv/kept" "$R/root" "$R/usr/share/x"
need() { # PROGRAM...: what it is linked with, by name
	ldd "$@" 2>/dev/null | grep -o '/[^ :)]*' | sort -u | while read -r lib; do
		case $lib in
		*/ld-linux-x86-64.so.2) echo "$lib /lib64/ld-linux-x86-64.so.2" ;;
		*/ld-linux-aarch64.so.1) echo "$lib /lib/ld-linux-aarch64.so.1" ;;
		*.so*) echo "$lib /lib/${lib##*/}" ;;
		esac
	done
}
for p in sh cat ls env; do
	f=$(readlink -f "$(command -v $p)")
	cp -L "$f" "$R/bin/$p"
	need "$f" | while read -r from to; do [ -e "$R$to" ] || cp -L "$from" "$R$to"; done
done
cp "$PROBE" "$R/bin/probe"
echo fixture >"$R/etc/fixture"
echo key >"$R/etc/ssl/private/key"
echo conf >"$R/etc/ssl/openssl.cnf"
ln -s ../etc/fixture "$R/usr/relative"
ln -s /etc/fixture "$R/absolute"
ln -s fixture "$R/etc/two"
ln -s /etc/two "$R/two"
ln -s "$WS" "$R/outward"
with_base "{path: \"$R\"}"
SPLIT=$P
expect_rc 0 "split: /bin/sh -c true" ab -- /bin/sh -c true
expect_out fixture "split: a bare name in PATH, its /etc" ab -- cat /etc/fixture
expect_out fixture "split: a relative link" ab -- cat /usr/relative
expect_out fixture "split: an absolute link stays inside" ab -- cat /absolute
expect_out fixture "split: a link of two steps" ab -- cat /two
is "$(ab -- ls /)" "$(printf '%s\n' absolute bin dev etc home lib lib64 outward proc root run sbin srv tmp two usr var |
	if [ -e "$R/sbin" ]; then cat; else grep -vx sbin; fi)" "split: the top is its own"
is "$(ab -- ls -A /run /tmp /home /var/tmp | grep -c old)" 0 "split: its /run, /tmp, /home and /var/tmp are not used"
is "$(ab -- ls /srv /var/lib)" $'/srv:\nkept\n\n/var/lib:\nstore' "split: its /srv and /var are"
expect_out agentbox "split: our hostname file, which it has not" ab -- cat /etc/hostname
inside EROFS "split: it is read-only" write /etc/fixture x
inside EROFS "split: below /var too" write /var/lib/x x
inside Y "split: scratch (control)" write /var/tmp/x x
is "$(cat "$R/etc/fixture")" fixture "split: nothing was written"
is "$(ls "$R/etc" | tr '\n' ' ')" "fixture ssl two " "split: nothing was made in it"
expect_rc 127 "split: a program that it has not" ab -- python3
expect_rc 121 "split: one of the host by path" ab -- /usr/bin/env
like "$(cat "$T/err")" "outside the sandbox" "split: is said to be the host's"
if [ -e /lib64/ld-linux-x86-64.so.2 ]; then
	expect_rc 0 "split: the loader" ab -- /lib64/ld-linux-x86-64.so.2 --version
fi

# where what the sandbox mounts itself is a link there (E10): it is not followed, and not written through
mkdir "$R/led"
for to in led "$R/led"; do
	ln -s "$to" "$R/dev"
	ln -s "$to" "$R/proc"
	expect_out $'fixture\nproc\n0\n0' "split: /dev and /proc that are links to ${to#"$R/"}: the sandbox's own are there" \
		ab -- sh -c 'cat /etc/fixture; while read -r _ at type _; do [ "$at" != /proc ] || echo "$type"; done </proc/self/mounts
			test ! -L /dev -a ! -L /proc -a -c /dev/null; echo $?; ls -A /led /proc/self/ns >/dev/null; echo $?'
	is "$(ab -- ls -A /led; ls -A "$R/led")" "" "split: nothing is where they lead"
	rm "$R/dev" "$R/proc"
done
rmdir "$R/led"

# a root in it, below a directory that it has
with_base "{path: \"$R\"}"
sed -i "s|roots: \[|roots: [{path: \"$T/granted\", at: /var/lib/store/home, mode: rw}, {path: \"$T/granted\", at: /srv/home}, |" "$P"
inside Y "split: a root below its /var/lib/store" write /var/lib/store/home/x x
inside Y "split: beside what is there" exists /var/lib/store/in
inside Y "split: and below its /srv" exists /srv/home/x
inside EROFS "split: not beside it" write /srv/kept/x x

# --- resolv.conf, six ways
HOST_RESOLV=$(cat /etc/resolv.conf 2>/dev/null)
resolv_case() { # NAME
	with_base "{path: \"$R\"}"
	expect_rc 0 "resolv.conf $1: starts" ab -- probe read /etc/resolv.conf
	like "$(cat "$T/out")" "no network, no resolver" "resolv.conf $1: ours without network"
	with_base "{path: \"$R\"}" "network: host"
	[ ! -e /etc/resolv.conf ] ||
		is "$(ab -- cat /etc/resolv.conf)" "$HOST_RESOLV" "resolv.conf $1: the host's with its network"
}
touch "$R/etc/"{passwd,group,hosts,hostname,nsswitch.conf}
mkdir -p "$R/etc/sub"
resolv_case absent
echo "nameserver 192.0.2.1" >"$R/etc/resolv.conf"
resolv_case file
mv "$R/etc/resolv.conf" "$R/etc/sub/r" && ln -s sub/r "$R/etc/resolv.conf"
resolv_case "relative link"
ln -sfn /run/systemd/resolve/stub-resolv.conf "$R/etc/resolv.conf"
resolv_case "absolute link into /run"
ln -sfn hop "$R/etc/resolv.conf" && ln -s /etc/sub/r "$R/etc/hop"
resolv_case "two-step link"
ln -sfn nowhere "$R/etc/resolv.conf"
resolv_case "dangling link"
is "$(ls "$R/etc/nowhere" 2>/dev/null)" "" "resolv.conf dangling link: nothing was made"
rm "$R/etc/resolv.conf" "$R/etc/hop"

# the same in the host's own /etc, where the caller can put another one over it
if [ "$CALLER" != user ] && unshare -m true 2>/dev/null; then
	cp -r --no-preserve=ownership /etc "$T/etc" 2>/dev/null
	with_base host "network: host"
	with_etc() { # CMD...
		unshare -m sh -c 'mount --bind "$0" /etc && exec "$@"' "$T/etc" "$@"
	}
	host_case() { # NAME WANT
		is "$(with_etc "$AGENTBOX" run --state "$STATE" -p "$P" -- cat /etc/resolv.conf 2>&1)" "$2" \
			"host resolv.conf: $1"
	}
	rm -f "$T/etc/resolv.conf"
	expect_rc 0 "host resolv.conf: absent" with_etc "$AGENTBOX" run --state "$STATE" -p "$P" -- true
	echo "nameserver 192.0.2.7" >"$T/etc/resolv.conf"
	host_case file "nameserver 192.0.2.7"
	mkdir "$T/etc/sub" && mv "$T/etc/resolv.conf" "$T/etc/sub/r" && ln -s sub/r "$T/etc/resolv.conf"
	host_case "relative link" "nameserver 192.0.2.7"
	chmod 755 "$T"
	cp "$T/etc/sub/r" "$T/elsewhere" && ln -sfn "$T/elsewhere" "$T/etc/resolv.conf"
	host_case "absolute link to what is not inside" "nameserver 192.0.2.7"
	ln -s "$T/elsewhere" "$T/etc/hop" && ln -sfn hop "$T/etc/resolv.conf"
	host_case "two-step link" "nameserver 192.0.2.7"
	ln -sfn /run/nowhere/at-all "$T/etc/resolv.conf"
	host_case "dangling" "# no network, no resolver"

	# Names and secrets of the host, with the base that a profile has by default.
	with_base host
	in_etc() { # Y|N DESCRIPTION ACT...: the same file outside, and inside
		local want=$1 desc=$2
		shift 2
		probe_yn Y "$desc (control)" with_etc "$PROBE" "$@"
		probe_yn "$want" "$desc, inside" with_etc "$AGENTBOX" run --state "$STATE" -p "$P" -- "$PROBE" "$@"
	}
	echo 192.0.2.9 marker.test >>"$T/etc/hosts"
	is "$(with_etc getent hosts marker.test | tr -s ' ')" "192.0.2.9 marker.test" "the host's hosts file outside (control)"
	is "$(with_etc "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c 'getent hosts marker.test; grep -c marker /etc/hosts; getent -s files hosts agentbox localhost | wc -l')" \
		$'0\n2' "inside the sandbox's own"
	mkdir -p "$T/etc/ssl/private"
	chmod 755 "$T/etc/ssl" "$T/etc/ssl/private"
	for f in netrc neighbour ssl/private/one ssl/neighbour; do echo x >"$T/etc/$f"; done
	chmod 644 "$T/etc/"{netrc,neighbour,ssl/private/one,ssl/neighbour}
	in_etc Y "host base: a neighbour of a secret" read /etc/neighbour
	in_etc N "host base: a file of secrets" read /etc/netrc
	in_etc Y "host base: one below" read /etc/ssl/neighbour
	in_etc N "host base: in a directory of them" read /etc/ssl/private/one
else
	note "no other /etc for this caller"
fi

# --- secrets in /etc: the rows of policy/facts-etc.c, directories with a slash at the end
rows="ssl/private/ pki/tls/private/ pki/entitlement/ ssh/ssh_host_rsa_key ssh/ssh_host_ecdsa_key
	ssh/ssh_host_ed25519_key NetworkManager/system-connections/ wpa_supplicant/ wireguard/ openvpn/
	ipsec.secrets ppp/ krb5.keytab letsencrypt/ mysql/debian.cnf docker/key.json kubernetes/ rancher/
	gitlab-runner/ apt/auth.conf apt/auth.conf.d/ netrc boto.cfg davfs2/secrets msmtprc"
files=()
for row in $rows; do
	file=$row
	[ "${row%/}" = "$row" ] || file=${row}one
	mkdir -p "$R/etc/$(dirname "$file")"
	echo secret >"$R/etc/$file"
	files+=("$file")
done
echo neighbour >"$R/etc/neighbour"
echo neighbour >"$R/etc/ssl/neighbour"
masks() { # HOW
	local f
	with_base "{path: \"$R\"}"
	inside Y "masks, $1: a neighbour" read /etc/neighbour
	inside Y "masks, $1: one below" read /etc/ssl/neighbour
	for f in "${files[@]}"; do
		inside N "masks, $1: $f" read "/etc/$f"
		outside Y "masks: $f (control)" read "$R/etc/$f"
	done
}
masks "an /etc of ours"
touch "$R/etc/resolv.conf"
masks "its own /etc"
is "$(cd "$R/etc" && cat "${files[@]}" | sort -u)" secret "masks: the files are whole"
# A mask must not fail on a directory that is closed to the command.
mv "$R/etc/letsencrypt" "$R/etc/keys" && ln -s keys "$R/etc/letsencrypt"
chmod 000 "$R/etc/davfs2"
with_base "{path: \"$R\"}"
inside N "masks: a row that is a link" read /etc/letsencrypt/one
inside N "masks: a row in a closed directory" read /etc/davfs2/secrets
inside Y "masks: beside them" read /etc/neighbour
chmod 755 "$R/etc/davfs2"

# --- links into a store, as on NixOS and Guix
for store in /nix /gnu; do
	X=$T/store$store
	S=$store/store/abc-system
	mkdir -p "$X$S" "$X$store/store/abc-sh/bin" "$X/bin" "$X/run" "$X/etc"
	cp -r "$R/lib" "$R/lib64" "$X$store/store/abc-sh/"
	cp "$R/bin/"* "$X$store/store/abc-sh/bin/"
	ln -s $store/store/abc-sh/bin "$X$S/sw-bin"
	mkdir "$X$S/sw" && ln -s $store/store/abc-sh/bin "$X$S/sw/bin"
	ln -s $S/sw/bin/sh "$X/bin/sh"
	ln -s $S "$X/run/current-system"
	ln -s $store/store/abc-sh/lib "$X/lib"
	ln -s $store/store/abc-sh/lib64 "$X/lib64"
	mkdir "$X$store/store/abc-etc" && echo static >"$X$store/store/abc-etc/thing"
	ln -s $store/store/abc-etc "$X/etc/static" && ln -s /etc/static/thing "$X/etc/thing"
	ln -s /var/lib/secret "$X/run/opengl-driver"
	with_base "{path: \"$X\"}"
	expect_rc 0 "store $store: /bin/sh" ab -- /bin/sh -c true
	expect_rc 0 "store $store: through /run/current-system" ab -- /run/current-system/sw/bin/sh -c true
	PATH=/run/current-system/sw/bin:$PATH expect_out static "store $store: PATH keeps it, /etc/static" ab -- cat /etc/thing
	is "$(PATH=/run/current-system/sw/bin:$PATH ab -- ls /run)" $'current-system\nlock' "store $store: only links into it"
	inside EROFS "store $store: it is read-only" write "$S/x" x
done

# --- an interpreter that is not there
py - "$R/bin/cat" "$R/bin/lost" <<'PY'
import sys
b = open(sys.argv[1], "rb").read()
for ld in (b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-linux-aarch64.so.1"):
    b = b.replace(ld + b"\0", ld[:-4] + b"gone\0")
open(sys.argv[2], "wb").write(b)
PY
chmod 755 "$R/bin/lost"
printf '#!/usr/bin/python3 -I\n' >"$R/bin/script" && chmod 755 "$R/bin/script"
printf '#! /bin/script\n' >"$R/bin/script2" && chmod 755 "$R/bin/script2"
P=$SPLIT
expect_rc 127 "a program without its ELF interpreter" ab -- lost
like "$(cat "$T/err")" "needs the ELF interpreter '/lib.*gone'" "is told which"
expect_rc 127 "a script without its interpreter" ab -- script
like "$(cat "$T/err")" "/bin/script: its first line names the interpreter '/usr/bin/python3', which the host has" "is told which, and that the host has it"
expect_rc 127 "a script of a script" ab -- script2
like "$(cat "$T/err")" "/bin/script: its first line" "names the one that is missing"
ab --json -- lost >"$T/json" 2>/dev/null
json_is "$T/json" 'o["rc"] == 127 and "gone" in o["error"]["message"]' "and in the result"

# --- added trees
D=$T/tool
mkdir -p "$D/bin" "$WS/tool/bin"
cp "$PROBE" "$D/bin/toolprobe"
echo lib >"$D/lib"
with_base host
inside ENOENT "without add it does not exist" exists "$D/lib"
with_base "{from: host, add: [\"$D\"]}"
inside Y "added: is there" read "$D/lib"
inside EROFS "added: read-only" write "$D/lib" x
outside Y "added: not outside (control)" write "$D/lib" lib
is "$(PATH=$D/bin:$PATH ab -- toolprobe exists "$D/lib")" ok "added: on PATH"
is "$(PATH=$D/bin:$PATH ab -- sh -c 'echo "${PATH%%:*}"')" "$D/bin" "added: first, as the caller has it"
with_base "{from: minimal, add: [\"$D\", /etc/alternatives, /usr/share]}"
inside Y "added to minimal" read "$D/lib"
expect_rc 0 "what the base has is no mistake" ab -- true

refused() { # BASE PATTERN DESCRIPTION
	with_base "$1"
	expect_rc 125 "refused: $3" ab -- true
	like "$(cat "$T/err")" "base-$N.yaml:[0-9]+:[0-9]+: .*$2" "refused: $3, with its place"
}
refused "{from: host, add: [\"$T/absent\"]}" "does not exist" "a tree that is absent"
refused "{from: host, add: [\"$D/lib\"]}" "is no directory" "a file"
refused "{from: host, add: [\"$WS/tool\"]}" "lie in each other" "a tree in a root"
ln -s "$WS/tool" "$T/alias"
refused "{from: host, add: [\"$T/alias\"]}" "programs could write to it" "a tree in a root by another name"
ln -s "$D" "$WS/planted"
refused "{from: host, add: [\"$T/ws-alias/planted\"]}" "does not exist" "a way that is not there"
ln -s "$WS" "$T/ws-alias"
refused "{from: host, add: [\"$T/ws-alias/planted\"]}" "programs could write to it" "a link that a program may have planted"
refused "{from: host, add: [\"$T\"]}" "lie in each other" "a tree that contains a root"
refused "{from: host, add: [/root]}" "is or contains|Permission denied" "a home directory"
refused "{path: /}" "is or contains" "the host as a root file system"
refused "{path: \"$WS/tool\"}" "programs could write to it" "a root file system in a root"
refused "{path: \"$T\"}" "is or contains|programs could write to it" "one that contains a root"
refused "{path: \"$D/lib\"}" "is no directory" "one that is a file"
refused "{path: \"$T/absent\"}" "does not exist" "one that is absent"
with_base "{path: \"$R\"}"
sed -i "s|roots: \[|roots: [{path: \"$T/granted\", at: /outward/x}, |" "$P"
expect_rc 125 "refused: a root behind a link of it" ab -- true
like "$(cat "$T/err")" "lies behind '/outward'" "refused: a root behind a link of it, with its name"

done_testing
