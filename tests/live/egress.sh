# SPDX-License-Identifier: LGPL-2.1-or-later
# egress.sh - what the tests of network by name share: a small internet of their own.
#
# In root's suite each body has a network namespace, with a host (93.184.216.1) that has a name
# server, and a second namespace with servers (egress-server.py) on a public address
# (93.184.216.34), a private one (10.9.9.9) and that of the metadata (169.254.169.254).
# $LIVE/net/dns.log has every name that was asked for, $LIVE/net/conn.log every connection.
live_setup() {
	[ "$EUID" = 0 ] || return 0
	mkdir "$LIVE/net" "$LIVE/etc"
	chmod 777 "$LIVE/net"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=example.test \
		-addext 'subjectAltName=DNS:web.example.test,DNS:git.example.test,DNS:*.wild.example.test,DNS:evil.test' \
		-keyout "$LIVE/net/key.pem" -out "$LIVE/net/cert.pem" 2>/dev/null || return 1
	chmod 644 "$LIVE/net/key.pem"
	echo "127.0.0.1 localhost" >"$LIVE/etc/hosts"
	echo "nameserver 93.184.216.34" >"$LIVE/etc/resolv.conf"
	printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$LIVE/etc/nsswitch.conf"
	cat >"$LIVE/walls.sh" <<'SH'
rm -f "$LIVE"/net/*.log "$LIVE/net/up"
for f in hosts resolv.conf nsswitch.conf; do
	mount --bind "$LIVE/etc/$f" "$(realpath "/etc/$f")" || exit 99
done
ip link set lo up
unshare -n sleep 600 &
peer=$!
until [ "$(readlink "/proc/$peer/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add up0 type veth peer name srv0 netns "$peer" || exit 99
ip addr add 93.184.216.1/24 dev up0
ip link set up0 up
ip route add 10.9.9.0/24 via 93.184.216.34 || exit 99
ip route add 169.254.169.254 via 93.184.216.34 || exit 99
ip route add 198.18.7.0/24 via 93.184.216.34 || exit 99
ip route add 203.0.114.0/24 via 93.184.216.34 || exit 99
nsenter -t "$peer" -n sh -ec '
	ip link set lo up
	for a in 93.184.216.34/24 10.9.9.9/32 169.254.169.254/32 198.18.7.7/32 203.0.114.5/32; do
		ip addr add "$a" dev srv0
	done
	ip link set srv0 up' || exit 99
nsenter -t "$peer" -n "$PYTHON_BIN" -I "$LIVE/lib/egress-server.py" "$LIVE/net" &
for i in $(seq 200); do [ -e "$LIVE/net/up" ] && break; sleep 0.05; done
[ -e "$LIVE/net/up" ] || exit 99
SH
	sed -i "s|\$PYTHON_BIN|$PYTHON|" "$LIVE/walls.sh"
}

# egress_profile ALLOW [MORE LINES OF network]: P, with a network of these hosts.
egress_profile() {
	profile egress <<-YAML
		sandbox:
		  roots:
		    - {path: "$WS", mode: rw}
		    - {path: "$T/bin", mode: ro}
		    - {path: "$LIVE/lib", mode: ro}
		    - {path: "$LIVE/net/cert.pem", at: /ca.pem, mode: ro}
		  network:
		    allow: $1
		${2:+$(sed 's/^/    /' <<<"$2")}
		permissions:
		  agents: {me: allow}
	YAML
}

# What the host's name server was asked: a name, as a whole line.
asked() {
	grep -qxF "$1" "$LIVE/net/dns.log"
}

connected() { # ERE
	grep -qE "$1" "$LIVE/net/conn.log"
}

curl_in() {
	ab -- curl -sS --max-time 20 --cacert /ca.pem "$@"
}

# The two processes beside the supervisor: $relay and $resolver, $relays for all that there are.
find_relays() { # relays, and which is which
	relays=
	for p in /proc/[0-9]*; do
		[ "$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)" = "agentbox-relay " ] && relays="$relays ${p#/proc/}"
	done
	for p in $relays; do
		if [ "$(awk '/^NSpid:/ { print NF }' "/proc/$p/status")" -gt "$(awk '/^NSpid:/ { print NF }' /proc/self/status)" ]; then
			relay=$p
		else
			resolver=$p
		fi
	done
}
