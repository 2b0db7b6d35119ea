#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# parser.sh - print a directory with apparmor_parser of a Debian that has rules for user namespaces
# (4.0 and later), the libraries that it runs with, and what its policies include. Its packages are
# downloaded once and unpacked in $AGENTBOX_VM_CACHE; nothing is installed.
set -euo pipefail
release=trixie
cache=${AGENTBOX_VM_CACHE:-/var/tmp/agentbox-vm.$EUID}
no() {
	echo "$*" >&2
	exit 1
}
[ -d "$cache" ] || mkdir -m 700 "$cache"
[ -O "$cache" ] || no "$cache belongs to somebody else"
exec 9>"$cache/lock"
flock 9
out=$cache/apparmor
if [ -d "$out" ]; then
	echo "$out"
	exit
fi
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || no "no keys of Debian"
mirror=$(apt-cache policy base-files | grep -o 'https\?://[^ ]*' | grep -v security | head -n 1)
# Lists of that release beside the host's own.
rm -rf --one-file-system "$cache/part"
trap 'rm -rf --one-file-system "$cache/part"' EXIT
mkdir -p "$cache"/part/{lists/partial,apt/archives/partial,tree}
cd "$cache/part"
echo "deb [signed-by=$keys] $mirror $release main" >sources.list
own=(-q -o Acquire::Retries=3 -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/apt"
	-o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root)
{ apt-get "${own[@]}" update && apt-get "${own[@]}" download apparmor libc6; } >"$cache/log" 2>&1 ||
	no "apparmor cannot be had: $(tail -n 1 "$cache/log")"
for deb in ./*.deb; do dpkg-deb -x "$deb" tree; done
mkdir -p "$out.part"/{etc,usr/lib/apparmor-parser}
cp -r tree/etc/apparmor.d "$out.part/etc/"
rm -rf "$out.part/etc/apparmor.d/local"
cp "$(find tree -name apparmor_parser -type f)" "$(find tree -name ld-linux-x86-64.so.2 -type f)" \
	"$(find tree -name libc.so.6)" "$out.part/usr/lib/apparmor-parser/"
mv "$out.part" "$out"
echo "$out"
