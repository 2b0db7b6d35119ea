#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rootfs.sh - print the path of a disk image with a small Debian in it: systemd with user managers,
# and what the live tests call. Made once with debootstrap, and kept in $AGENTBOX_VM_CACHE.
set -euo pipefail
cache=${AGENTBOX_VM_CACHE:-/var/tmp/agentbox-vm.$EUID}
packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,python3,procps,iproute2,strace,libcap2-bin,busybox,gawk
# A list that changes makes another one.
out=$cache/root-$(cksum <<<"$packages" | cut -d' ' -f1).ext4
export PATH=$PATH:/usr/sbin:/sbin
no() {
	echo "$*" >&2
	exit 1
}
[ -d "$cache" ] || mkdir -m 700 "$cache"
[ -O "$cache" ] || no "$cache belongs to somebody else"
exec 9>"$cache/lock"
flock 9
if [ -s "$out" ]; then
	echo "$out"
	exit
fi
[ "$EUID" = 0 ] || no "a root file system is made by root alone"
for tool in debootstrap mke2fs; do
	command -v $tool >/dev/null || no "$tool is not installed"
done
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ "$(. /etc/os-release && echo "$ID")" = debian ] || no "the root file system is a Debian's"

rm -rf --one-file-system "$cache/part"
mkdir "$cache/part"
trap 'rm -rf --one-file-system "$cache/part"' EXIT
mirror=$(apt-cache policy base-files | grep -o 'https\?://[^ ]*' | grep -v security | head -n 1)
debootstrap --variant=minbase --include="$packages" "$codename" "$cache/part/root" "$mirror" >"$cache/log" 2>&1 ||
	no "no root file system can be had: $(tail -n 1 "$cache/log")"
cd "$cache/part/root"
rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/doc usr/share/man usr/share/locale boot
echo 'u:x:1000:1000::/home/u:/bin/bash' >>etc/passwd
echo 'u:x:1000:' >>etc/group
echo 'u:*:19000::::::' >>etc/shadow
mkdir -m 755 home/u new ws profiles
chown 1000:1000 home/u ws
# It tells of the file on standard output, which is the answer.
mke2fs -q -t ext4 -O ^has_journal -d . "$out.part" 1536M >>"$cache/log"
mv "$out.part" "$out"
echo "$out"
