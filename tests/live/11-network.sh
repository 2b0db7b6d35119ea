#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# network: none has a working lo and nothing else; host is the host's, for an agent that may
# connect.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

cat >"$T/server.py" <<'PY'
import os, socket, sys, threading
d = sys.argv[1]
s = []
for fam, addr in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    try:
        x = socket.socket(fam)
        x.bind((addr, 0))
        x.listen(64)
        s.append(x)
        open(d + ("/port4" if fam == socket.AF_INET else "/port6"), "w").write(str(x.getsockname()[1]))
    except OSError:
        pass
x = socket.socket(socket.AF_UNIX)
x.bind("\0agentbox-live-" + sys.argv[2])
x.listen(64)
open(d + "/up", "w")
threading.Event().wait(3600)
PY
"$PYTHON" -I "$T/server.py" "$T" "$CALLER-$$" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
wait_for test -e "$T/up"
port=$(cat "$T/port4")
outside Y "a host listener (control)" connect-tcp 127.0.0.1 "$port"
inside N "the same listener" connect-tcp 127.0.0.1 "$port"
outside Y "an abstract socket (control)" connect-unix "@agentbox-live-$CALLER-$$"
inside N "the same socket" connect-unix "@agentbox-live-$CALLER-$$"
inside Y "lo works" listen 127.0.0.1
if [ -s "$T/port6" ]; then
	outside Y "the host has ::1 (control)" listen ::1
	inside Y "::1 works" listen ::1
	inside N "the host's listener on ::1" connect-tcp ::1 "$(cat "$T/port6")"
else
	note "no ::1 on this host"
fi
expect_out "ok lo" "lo is the only interface" ab -- "$PROBE" interfaces
inside ENETUNREACH "an address of the net" connect-tcp 192.0.2.1 80
# The same act where there is such an address: in a network of its own, which has it on lo.
cat >"$T/net.py" <<'PY'
import socket, struct, subprocess, sys
from fcntl import ioctl
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def request(name, *rest):
    return struct.pack("16s", name) + b"".join(rest).ljust(24, b"\0")
ioctl(s, 0x8914, request(b"lo", struct.pack("h", 0x41)))  # SIOCSIFFLAGS: up, running
ioctl(s, 0x8916, request(b"lo:1", struct.pack("hH", socket.AF_INET, 0), socket.inet_aton("192.0.2.1")))  # SIOCSIFADDR
x = socket.socket()
x.bind(("192.0.2.1", 0))
x.listen(1)
sys.exit(subprocess.run([*sys.argv[1:], str(x.getsockname()[1])]).returncode)
PY
probe_yn Y "outside: the same address, where there is a way to it (control)" \
	unshare -rn "$PYTHON" -I "$T/net.py" "$PROBE" connect-tcp 192.0.2.1
expect_out 1 "/proc/net shows lo alone" ab -- sh -c 'tail -n +3 /proc/net/dev | grep -vc "^ *[a-z0-9]*:.* 0$" >/dev/null; tail -n +3 /proc/net/dev | wc -l'

base_profile "network: host"
# Not stopped: whatever network: host reaches
inside Y "network: host reaches the listener" connect-tcp 127.0.0.1 "$port"
is "$(ab -- readlink /proc/self/ns/net)" "$(readlink /proc/self/ns/net)" "it is the host's network"
is "$([ "$(ab -- readlink /proc/self/ns/pid)" != "$(readlink /proc/self/ns/pid)" ] && echo differs)" differs "and the other namespaces are not"
expect_rc 0 "names resolve as files say" ab -- getent hosts localhost

rules_profile() {
	profile rules <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}, {path: "$T/bin", mode: ro}], network: $1}
permissions:
  policy_model: rules
  agents:
    me:
      rules:
        - {operations: [read, write], paths: ["$WS/**"], mode: allow}
        - {operations: [read], paths: ["$T/bin/**"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
$2
YAML
}
connect='        - {operations: [connect], hosts: ["*"], mode: allow}'
rules_profile host "$connect"
inside Y "host, and connect is granted" connect-tcp 127.0.0.1 "$port"
rules_profile host ""
inside N "host, but connect is not granted" connect-tcp 127.0.0.1 "$port"
inside Y "lo works there (control)" listen 127.0.0.1
expect_out "ok lo" "and is the only interface" ab -- "$PROBE" interfaces
rules_profile none "$connect"
inside N "connect is granted, but the sandbox has none" connect-tcp 127.0.0.1 "$port"
rules_profile host '        - {operations: [connect], hosts: ["example.org:443"], mode: allow}'
expect_rc 125 "a narrower connect beside host is refused" ab -- touch "$WS/ran"
check_not "and nothing ran" test -e "$WS/ran"
kill "$server"
done_testing
