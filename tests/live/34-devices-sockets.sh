#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# devices and sockets of the host, one by one; sockets and FIFOs in roots are masked; a second run
# after a first one that planted links and sockets. DESIGN 3.1; R050, R080, E17; KERNEL 0.4; P95.
. "$(dirname "$0")/lib.sh" || exit 1
NODE=/dev/shm/agentbox-live
# A device to lend on a machine that has no other: one more null, where it is nobody else's.
live_setup() {
	echo "mknod -m 666 $NODE c 1 3 || :" >"$LIVE/walls.sh"
}
as_callers

serve() { # PATH...: a listener on each, until the test ends
	"$PYTHON" -I -c 'import os, socket, sys, time
keep = []
for p in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(p)
    os.chmod(p, 0o777)
    s.listen(16)
    keep.append(s)
open(sys.argv[1] + ".up", "w")
time.sleep(600)' "$@" &
	servers+=($!)
	wait_for test -e "$1.up"
	rm -f "$1.up"
}
servers=()
trap 'kill "${servers[@]}" 2>/dev/null' EXIT

# --- sockets one by one
mkdir "$T/s" "$T/s/agent-dir"
serve "$T/s/app.sock" "$T/s/other.sock" "$T/s/docker.sock" "$T/s/S.gpg-agent"
ln -s docker.sock "$T/s/innocent.sock"
ln -s app.sock "$T/s/link.sock"
outside Y "the socket" connect-unix "$T/s/app.sock"
inside N "not lent" connect-unix "$T/s/app.sock"
base_profile "sockets: [$T/s/app.sock]"
inside Y "lent, at its own path" connect-unix "$T/s/app.sock"
inside ENOENT "the one beside it" connect-unix "$T/s/other.sock"
inside N "its name cannot be taken away" unlink "$T/s/app.sock"
check "and is there" test -S "$T/s/app.sock"
base_profile "sockets: [$T/s/link.sock]"
inside Y "through a link" connect-unix "$T/s/link.sock"
refuse() { # SOCKET PATTERN DESCRIPTION
	base_profile "sockets: [$1]"
	expect_rc 125 "$3" ab -- true
	like "$(cat "$T/err")" "base.yaml:[0-9]+:[0-9]+: socket: .*$2" "and says why"
}
refuse "$T/s/docker.sock" "starts containers" "a container runtime"
refuse "$T/s/innocent.sock" "starts containers" "a link to one"
refuse "$T/s/S.gpg-agent" "keys" "an agent of keys"
refuse /run/dbus/system_bus_socket "outside the sandbox" "the system bus, there or not"
refuse /tmp/.X11-unix/X0 "screen" "a screen"
refuse "$T/s/none.sock" "does not exist" "an absent one"
refuse "$T/base.yaml" "is no socket" "a file"

# --- where hosts keep theirs (P82, P95): none of it is there, whatever the network
if [ "$LIVE_IS_PRIVATE" = 1 ]; then
	mkdir -p "/run/user/$EUID" /run/WSL /tmp/.X11-unix "$HOME/.local"
	places=("/run/user/$EUID/bus" /run/WSL/1_interop /run/docker.sock /tmp/.X11-unix/X0 "$HOME/.local/t.sock")
	serve "${places[@]}"
	for network in none host; do
		base_profile "network: $network"
		for s in "${places[@]}"; do
			outside Y "$s (control)" connect-unix "$s"
			inside ENOENT "network: $network: $s" connect-unix "$s"
		done
	done
else
	note "the places of this machine's own sockets are left alone"
fi

# --- sockets in roots
mkdir -p "$WS/d/e"
serve "$WS/docker.sock" "$WS/d/second.sock" "$WS/d/e/third.sock"
mkfifo "$WS/fifo" "$T/bin/fifo"
serve "$T/bin/ro.sock"
base_profile
for s in "$WS/docker.sock" "$WS/d/second.sock" "$T/bin/ro.sock"; do
	outside Y "$s" connect-unix "$s"
	inside N "$s" connect-unix "$s"
done
expect_rc 1 "a root with a runtime's socket: it is none inside (R050)" ab -- test -S "$WS/docker.sock"
for f in "$WS/fifo" "$T/bin/fifo"; do
	timeout "$EVER" cat "$f" >"$T/fifo.out" &
	reader=$!
	words=(timeout "$EVER" sh -c "echo leak >$f")
	expect_rc '1|2' "$f: it cannot be written" ab -- "${words[@]}"
	like "$(cat "$T/err")" 'fifo: (Permission denied|Read-only file system)' "which sh says"
	is "$(cat "$T/fifo.out")" "" "$f: nothing gets through"
	check "outside the same words are written (control)" "${words[@]}"
	wait "$reader"
	is "$(cat "$T/fifo.out")" leak "and get through to the same reader (control)"
done
# Not stopped: unix sockets and FIFOs of host programs below the two top levels of a root
# Nor those of a name that was not there at the start.
inside Y "a socket below two levels is reached" connect-unix "$WS/d/e/third.sock"
mkfifo "$WS/d/e/fifo"
timeout "$EVER" cat "$WS/d/e/fifo" >"$T/fifo.out" &
reader=$!
expect_rc 0 "and a FIFO there is written" ab -- timeout "$EVER" sh -c "echo leak >$WS/d/e/fifo"
wait "$reader"
is "$(cat "$T/fifo.out")" leak "its reader outside gets what the command says"
ab_start -- timeout "$EVER" sh -c "touch up; until test -e go; do sleep 0.05; done
	$PROBE connect-unix $WS/late.sock && echo late leak >late-fifo" >"$T/out" 2>"$T/err"
wait_for test -e "$WS/up" || fail "the run began"
serve "$WS/late.sock"
mkfifo "$WS/late-fifo"
timeout "$EVER" cat "$WS/late-fifo" >"$T/fifo.out" &
reader=$!
touch "$WS/go"
wait "$sup"
is "$?:$(cat "$T/out")" 0:ok "a socket that is made during the run is reached"
wait "$reader"
is "$(cat "$T/fifo.out")" "late leak" "and a FIFO"
inside N "by the next run the socket is not" connect-unix "$WS/late.sock"
expect_rc '1|2' "nor the FIFO" ab -- sh -c "echo leak >$WS/late-fifo"
inside N "a masked one cannot be removed" unlink "$WS/docker.sock"
inside N "nor its directory moved" rename "$WS/d" "$WS/d2"
check "the host has it" test -S "$WS/docker.sock"
# A directory that a first run closed for listing, to open it again in the second.
mkdir "$WS/shut" "$WS/other"
serve "$WS/shut/s.sock"
chmod 300 "$WS/shut" "$WS/other"
outside Y "a socket in a directory that cannot be listed" connect-unix "$WS/shut/s.sock"
inside N "a socket in a directory that cannot be listed" connect-unix "$WS/shut/s.sock"
ab -- chmod 700 "$WS/shut" >/dev/null 2>&1
inside N "nor once it is open again" connect-unix "$WS/shut/s.sock"
chmod 700 "$WS/other"
inside Y "a directory that can be (control)" write "$WS/other/f" x
chmod 700 "$WS/shut"
expect_rc 0 "programs make and use their own" ab -- "$PYTHON" -I -c 'import os, socket
for p in ("own.sock", "/tmp/own.sock"):
    s, c = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    s.bind(p); s.listen(1); c.connect(p); os.unlink(p)
a, b = socket.socketpair(); a.send(b"x"); b.recv(1)'
base_profile "sockets: [$WS/docker2.sock]"
serve "$WS/lent.sock"
base_profile "sockets: [$WS/lent.sock]"
inside Y "one in a root that is lent is not masked" connect-unix "$WS/lent.sock"

# --- no Unix sockets at all
base_profile "unix_sockets: none"
expect_out "97 pair" "none: EAFNOSUPPORT, and pairs" ab -- "$PYTHON" -I -c 'import socket
try: socket.socket(socket.AF_UNIX); print(0, end=" ")
except OSError as e: print(e.errno, end=" ")
socket.socketpair(); print("pair")'
inside N "not one in a root" connect-unix "$WS/d/e/third.sock"

# --- a second run after a first one that planted what it could
kill "${servers[@]}" 2>/dev/null
servers=()
rm -rf "${WS:?}"/* "$T/bin/ro.sock" "$T/bin/fifo"
serve "$T/s/victim.sock"
echo secret >"$T/secret"
base_profile
cat >"$T/bin/plant" <<'SH'
#!/bin/sh
ln -s /proc/1/root/etc/shadow .netrc
ln -s "$1/secret" .env
ln -s / .git
ln -s "$1/s/victim.sock" docker.sock
ln -s /dev/mem mem
ln -s .. up
mkfifo fifo .envrc
mkdir d && ln -s "$1/secret" d/link && mkfifo d/fifo
python3 -c 'import socket
for p in (".npmrc", "x.sock", "d/y.sock"): socket.socket(socket.AF_UNIX).bind(p)'
exit 0
SH
chmod 755 "$T/bin/plant"
expect_rc 0 "a first run plants links, FIFOs and sockets" ab -- "$T/bin/plant" "$T"
check "they are there" test -p "$WS/fifo" -a -S "$WS/x.sock" -a -L "$WS/.env" -a -L "$WS/.git"
expect_rc 0 "a second run starts" ab -- true
for f in .env d/link .netrc up/secret; do
	expect_rc 0 "$f leads nowhere" ab -- sh -c "! cat '$f' 2>/dev/null | grep -q ."
done
outside Y "the socket behind a planted link (control)" connect-unix "$WS/docker.sock"
inside N "it is not reached" connect-unix "$WS/docker.sock"
for f in x.sock d/y.sock fifo d/fifo .envrc .npmrc; do
	expect_rc 0 "$f is no longer a way out" ab -- sh -c "test ! -S $f && test ! -p $f"
done
expect_rc 0 "nor does it stop with a socket as working directory's neighbour" ab --workdir "$WS" -- ls
is "$(cat "$T/secret")" secret "the host's file is as it was"

# --- devices
base_profile
device=
for d in /dev/kvm /dev/hwrng /dev/dri/renderD128 /dev/snd/timer $NODE; do
	[ -c "$d" ] && [ -z "$device" ] && device=$d
done
if [ -n "$device" ]; then
	inside ENOENT "$device: not lent" exists "$device"
	base_profile "devices: [$device, /dev/null]"
	inside Y "$device: lent" exists "$device"
	expect_rc 0 "as a device" ab -- test -c "$device"
	out=$("$PROBE" read "$device" 2>/dev/null | cut -d' ' -f1)
	[ "$CALLER" = root ] || inside "$([ "${out:-}" = ok ] && echo Y || echo N)" \
		"$device: the host's permissions hold" open-write "$device"
	[ "$CALLER" = root ] && [ "$(stat -c %a "$device")" = 600 ] &&
		inside EACCES "$device: root's own is not for the mapped identity" open-write "$device"
	inside N "its node cannot be changed" chmod "$device" 777
	inside N "nor removed" unlink "$device"
else
	skip_without_root "a lent device" "no harmless one on this machine"
fi
no_device() { # PATH PATTERN
	base_profile "devices: [$1]"
	expect_rc 125 "$1" ab -- true
	like "$(cat "$T/err")" "base.yaml:[0-9]+:[0-9]+: device: $1: .*$2" "and says why"
}
for d in /dev/mem /dev/kmem /dev/port /dev/net/tun /dev/vsock /dev/loop-control; do
	no_device "$d" "."
done
[ -e /dev/loop0 ] && no_device /dev/loop0 "disks"
[ -b /dev/vda ] && no_device /dev/vda "no character device"
[ -L /dev/fd ] && no_device /dev/fd "link"
no_device /dev/agentbox-none "does not exist"
no_sandbox_left "nothing is left"
done_testing
