#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm.sh [--system] SERIES GUEST [KERNEL PARAMETERS...]: boot a kernel of a series (6.1, 6.12) in QEMU,
# without any acceleration, with the built program, the probe and a busybox as its whole system, and
# run GUEST in it as root. With --system all is added to a Debian with systemd (rootfs.sh), which runs
# GUEST as a service. What GUEST prints on the serial line is TAP.
#
# Needs AGENTBOX and PROBE. AGENTBOX_VM_KERNEL names another kernel; see kernel.sh for the rest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
system=
if [ "$1" = --system ]; then
	system=1
	shift
fi
series=$1
guest=$2
shift 2
: "${AGENTBOX:?the built program}" "${PROBE:?the built probe}"
seconds=${AGENTBOX_VM_SECONDS:-850}

out_of_reach() {
	if [ "${AGENTBOX_MUST_WORK:-}" = 1 ]; then
		echo "not ok 1 - the virtual machine (must work, but: $1)"
		echo 1..1
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

for tool in qemu-system-x86_64 busybox cpio setpriv; do
	command -v "$tool" >/dev/null || out_of_reach "$tool is not installed"
done
kernel=${AGENTBOX_VM_KERNEL:-}
[ -n "$kernel" ] || kernel=$("$here/kernel.sh" "$series" 2>&1) || out_of_reach "$kernel"

debian=
[ -z "$system" ] || debian=$("$here/rootfs.sh" 2>&1) || out_of_reach "$debian"

root=$(mktemp -d /var/tmp/agentbox-vm.XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' INT TERM HUP
tree=$root/tree
memory=768
mkdir "$tree"
# What is ours, at the same places in both systems.
common() {
	install -D -m 755 "$AGENTBOX" "$tree/usr/bin/agentbox"
	install -D -m 755 "$PROBE" "$tree/usr/bin/probe"
	[ -z "${INJECT:-}" ] || install -m 755 "$INJECT" "$tree/usr/bin/inject"
	install -m 755 "$here/lib.sh" "$tree/lib.sh"
	install -m 755 "$guest" "$tree/guest.sh"
}

small_system() {
	mkdir -p "$tree"/{usr/bin,usr/lib,usr/lib64,etc,proc,sys,dev,tmp,run,var/lib,root,home,new}
	for link in bin sbin lib lib64; do
		ln -s "usr/${link/sbin/bin}" "$tree/$link"
	done
	common
	install -m 755 "$(command -v busybox)" "$tree/usr/bin/busybox"
	install -m 755 "$(command -v setpriv)" "$tree/usr/bin/setpriv"
	busybox --list | while IFS= read -r applet; do
		[ -e "$tree/usr/bin/$applet" ] || ln -s busybox "$tree/usr/bin/$applet"
	done
	# The loader and the libraries of what is not static, at their own places.
	for program in "$AGENTBOX" "${INJECT:-}" "$(command -v setpriv)" "$(command -v busybox)"; do
		ldd "$program" || true # a static one
	done 2>/dev/null | grep -o '/[^ ]*' | sort -u | while IFS= read -r lib; do
		case $lib in
		/usr/*) at=$lib ;;
		*) at=/usr$lib ;;
		esac
		install -D -m 755 "$lib" "$tree$at"
	done
	printf 'root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n' >"$tree/etc/passwd"
	printf 'root:x:0:\nu:x:1000:\n' >"$tree/etc/group"
	start='/bin/sh /lib.sh'
}

# The archives of an initramfs are unpacked one after the other.
debian_system() {
	common
	# What the program needs and the Debian has not, where its own are looked for as well.
	ldd "$AGENTBOX" | grep -o '/[^ ]*' | while IFS= read -r lib; do
		case $lib in
		*/ld-linux* | */libc.so*) ;;
		*) install -D -m 755 "$lib" "$tree/usr/local/lib/${lib##*/}" ;;
		esac
	done
	mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
	cat >"$tree/etc/systemd/system/guest.service" <<'UNIT'
[Unit]
After=systemd-logind.service dbus.service
[Service]
Type=oneshot
ExecStart=/bin/sh /lib.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
UNIT
	ln -s ../guest.service "$tree/etc/systemd/system/multi-user.target.wants/guest.service"
	for unit in serial-getty@ttyS0 getty@tty1 systemd-networkd systemd-timesyncd apt-daily.timer apt-daily-upgrade.timer; do
		ln -s /dev/null "$tree/etc/systemd/system/${unit%.timer}.$([ "${unit%.timer}" = "$unit" ] && echo service || echo timer)"
	done
	memory=2048
	start=/lib/systemd/systemd
}

if [ -n "$system" ]; then debian_system; else small_system; fi
# pivot_root(2) does not leave the initramfs itself: the system becomes a mount above it.
cat >"$tree/init" <<INIT
#!/bin/sh
mkdir -p /new
mount --bind / /new
cd /new
mount --move . /
exec chroot . $start
INIT
chmod 755 "$tree/init"
[ -z "$debian" ] || cat "$debian" >"$root/initrd"
(cd "$tree" && find . -mindepth 1 | cpio -o -H newc --quiet) >>"$root/initrd"

# Without acceleration a kernel now and then stumbles over the code that it patches while it starts.
# A guest that did not come up, or whose kernel fell, says nothing of what it was to try.
boot() {
	timeout -k 5 "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 \
		-m "${AGENTBOX_VM_MEMORY:-$memory}" -M q35 -nodefaults -nographic -serial stdio -no-reboot \
		-kernel "$kernel" -initrd "$root/initrd" -append "console=ttyS0 panic=-1 oops=panic quiet \
		mitigations=off nokaslr systemd.show_status=0 $*" </dev/null >"$root/out" 2>&1 || true
	grep -q '^# up' "$root/out" && ! grep -q 'Kernel panic' "$root/out"
}
for try in 1 2 3; do
	! boot "$@" || break
	echo "# start $try failed: $(grep -am 1 -e Oops -e 'Kernel panic' "$root/out" | tr -d '\r')"
done
# The console of the guest is ours; what is no TAP is shown as a comment.
tr -d '\r' <"$root/out" | awk '
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - "); if (/^not/) bad++; print; next }
	/^# done$/ { done = 1; next }
	{ sub(/^/, "# "); print }
	END {
		if (!done) { print "not ok " ++n " - the guest came to its end"; bad++ }
		print "1.." n; exit bad > 0
	}'
