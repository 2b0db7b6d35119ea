#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Names with several addresses, of which some are dead; and addresses of IPv6 that carry one of IPv4,
# each where it can be reached: refused beside the same one allowed.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
eval "$(declare -f live_setup | sed '1s/live_setup/egress_setup/')"
live_setup() {
	[ "$EUID" = 0 ] || return 0
	egress_setup || return 1
	cat >>"$LIVE/walls.sh" <<'SH'
mac=$(nsenter -t "$peer" -n ip -o link show srv0 | sed -n 's/.*link\/ether \([0-9a-f:]*\).*/\1/p')
nsenter -t "$peer" -n ip addr add 93.184.216.10/32 dev srv0 || exit 99
# It arrives there, is nobody's, and is dropped.
ip neigh add 93.184.216.9 lladdr "$mac" dev up0 || exit 99
if ip -6 addr add 2606:2800:220:1::1/64 dev up0 nodad 2>/dev/null; then
	for a in 2606:2800:220:1::34/64 64:ff9b::a09:909/128 64:ff9b::5db8:d822/128 2002:a09:909::1/128 fd00:9::9/128; do
		nsenter -t "$peer" -n ip -6 addr add "$a" dev srv0 nodad || exit 99
	done
	ip -6 neigh add 2606:2800:220:1::99 lladdr "$mac" dev up0 || exit 99
	for n in 64:ff9b::/96 2002::/16 fd00:9::/64; do
		ip -6 route add "$n" via 2606:2800:220:1::34 || exit 99
	done
	touch "$LIVE/net/six"
fi
SH
}
LIVE_TIMEOUT=280
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "addresses that names lead to" "servers of its own need root"
	done_testing
fi
way=()
[ "$CALLER" = root ] || way=("$DENY" EOPNOTSUPP sendto:100 --)
get() { # NAME [PORT]
	"${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- \
		curl -sS --max-time "${within:-30}" -w '%{time_total}' "http://$1.example.test:${2:-80}/" 2>&1
}
last() {
	grep '"event":"connection"' "$STATE/audit.jsonl" | tail -n 1
}
slow_enough() { # the last answer: not before the second address was dialled
	awk 'END { exit !($NF >= 0.24) }' <<<"$got"
}

# --- several addresses ---
egress_profile '["*.example.test:80,7444"]'
within=3
like "$(get silent)" '^curl: [(]28[)]' "an address from which nothing is heard (control)"
within=30
got=$(get late)
like "$got" 'host=late' "beside it one that answers"
check "which was dialled after it ($(tail -n 1 <<<"$got") s)" slow_enough
like "$(last)" '"code":"allowed".*"address":"93.184.216.34"' "has the record"
like "$(get refuses 7444)" 'host=refuses' "an address that refuses, and one that does not"
like "$(last)" '"address":"93.184.216.34"' "has the record too"
if [ -e "$LIVE/net/six" ]; then
	like "$(get six)" 'host=six' "a host that has IPv6 alone, by a program that has IPv4 alone"
	like "$(last)" '"address":"2606:2800:220:1::34"' "and the record says so"
	got=$(get late6)
	like "$got" 'host=late6' "a host whose IPv6 is dead"
	check "is dialled by IPv4 after it ($(tail -n 1 <<<"$got") s)" slow_enough
	like "$(last)" '"address":"93.184.216.34"' "and the record says so"
fi

# --- addresses in other addresses ---
refused() { # NAME ADDRESS
	like "$(get "$1")" '^agentbox: denied by the network rules' "$1 leads to no public address"
	like "$(last)" "\"code\":\"not_public\".*\"address\":\"$2\"" "and the record says which"
}
taken() { # NAME ADDRESS
	like "$(get "$1")" "host=$1" "$1, where private_ranges has it"
	like "$(last)" "\"code\":\"allowed\".*\"address\":\"$2\"" "is reached by the address that was judged"
}
rows="private=10.9.9.9 mapped10=10.9.9.9"
if [ -e "$LIVE/net/six" ]; then
	rows="$rows nat10=64:ff9b::a09:909 sixtofour=2002:a09:909::1 unique=fd00:9::9"
	like "$(get natpublic)" 'host=natpublic' "a public address behind NAT64 is one"
else
	skip "addresses of IPv6" "there is no IPv6 here"
fi
for row in $rows; do
	refused "${row%%=*}" "${row#*=}"
done
check_not "no connection came" connected ' at (10|64:ff9b::a|2002|fd)'
egress_profile '["*.example.test:80"]' 'private_ranges: [10.9.9.0/24, "2002:a09:909::/48", "fd00:9::/64"]'
for row in $rows; do
	taken "${row%%=*}" "${row#*=}"
done

# --- names that lead elsewhere ---
egress_profile '["*.example.test:80"]'
for name in loop cname own; do
	like "$(get "$name")" '^agentbox: denied by the network rules' "$name leads to this host"
done
no_sandbox_left "no process is left"
done_testing
