#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel.sh SERIES - print the path of Debian's cloud kernel of a series (6.1, 6.12). Its package is
# downloaded once and unpacked in $AGENTBOX_VM_CACHE; nothing is installed.
set -euo pipefail
series=$1
cache=${AGENTBOX_VM_CACHE:-/var/tmp/agentbox-vm.$EUID}
arch=$(uname -m)
[ "$arch" = x86_64 ] || {
	echo "the virtual machine is an x86_64, and this is $arch" >&2
	exit 1
}
[ -d "$cache" ] || mkdir -m 700 "$cache"
[ -O "$cache" ] || {
	echo "$cache belongs to somebody else" >&2
	exit 1
}
exec 9>"$cache/lock"
flock 9

found() {
	find "$cache/$series" -path '*/boot/vmlinuz-*' 2>/dev/null | sort -V | tail -n 1 | grep .
}

# The meta packages name the kernel of today: which of them has the series depends on the release.
fetch() { # APT OPTIONS...
	local meta name=
	for meta in "linux-image-$series-cloud-amd64" linux-image-cloud-amd64; do
		name=$(apt-cache "$@" depends "$meta" 2>/dev/null |
			awk -v want="linux-image-$series." '$1 == "Depends:" && index($2, want) == 1 { print $2; exit }')
		[ -z "$name" ] || break
	done
	[ -n "$name" ] || {
		echo "no package of it in the lists" >"$cache/log"
		return 1
	}
	rm -rf "$cache/part"
	mkdir "$cache/part"
	(
		cd "$cache/part"
		apt-get -q -o Acquire::Retries=3 "$@" download "$name"
		dpkg-deb -x ./*.deb .
		rm -f ./*.deb
	) >"$cache/log" 2>&1 || return 1
	rm -rf "${cache:?}/$series"
	mv "$cache/part" "$cache/$series"
}

# Lists of the host that are older than its mirror name a package that is gone. Newer ones go
# beside them: they are the host's.
fetch_anew() {
	local own=(-o "Dir::State::lists=$cache/lists" -o "Dir::Cache=$cache/apt" -o APT::Sandbox::User=root)
	mkdir -p "$cache/lists/partial" "$cache/apt/archives/partial"
	apt-get -q -o Acquire::Retries=3 "${own[@]}" update >"$cache/log" 2>&1 || return 1
	fetch "${own[@]}" || return 1
	rm -rf "$cache/lists" "$cache/apt"
}

found && exit
fetch || fetch_anew || {
	echo "no kernel $series can be had: $(grep -v '^$' "$cache/log" 2>/dev/null | tail -n 1)" >&2
	exit 1
}
found
