#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm.sh [--system | --live SUITES | --apparmor PROFILE] SERIES GUEST [KERNEL PARAMETERS...]: boot a kernel of a series (6.1,
# 6.12) in QEMU, without any acceleration, with the built program, the probe and a busybox as its whole
# system, and run GUEST in it as root. With --system all is added to a Debian on a disk (rootfs.sh), whose
# systemd runs GUEST as a service; with --live GUEST is the first process of that Debian, and finds the
# live suites of that list there. --apparmor adds a parser of AppArmor policies (parser.sh) and the
# profile to the small system. What GUEST prints on the serial line is TAP.
#
# Needs AGENTBOX and PROBE. AGENTBOX_VM_KERNEL names another kernel; see kernel.sh for the rest.
# AGENTBOX_VM_SECONDS ends it; AGENTBOX_VM_WORK is how many seconds of processor time it may take, which,
# unlike what the clock says, hardly depends on what else the machine does.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
disk=
suites=
apparmor=
case $1 in
--system)
	disk=system
	shift
	;;
--live)
	disk=live
	suites=$2
	shift 2
	;;
--apparmor)
	apparmor=$2
	shift 2
	;;
esac
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
[ -z "$disk" ] || debian=$("$here/rootfs.sh" 2>&1) || out_of_reach "$debian"
parser=
[ -z "$apparmor" ] || parser=$("$here/parser.sh" 2>&1) || out_of_reach "$parser"

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
	if [ -n "$parser" ]; then
		cp -r "$parser/." "$tree/"
		# Where the program lies in the guest.
		sed -E 's|^(profile agentbox ).*/bin/agentbox |\1/usr/bin/agentbox |' "$apparmor" >"$tree/etc/apparmor.d/agentbox"
		chmod -R go+rX "$tree/etc"
	fi
	printf 'root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n' >"$tree/etc/passwd"
	printf 'root:x:0:\nu:x:1000:\n' >"$tree/etc/group"
	start='/bin/sh /lib.sh'
}

# On a disk, of which each guest writes its own copy: a file system that maps ids in every kernel.
debian_system() {
	common
	# What the program needs and the Debian has not, where its own are looked for as well.
	ldd "$AGENTBOX" | grep -o '/[^ ]*' | while IFS= read -r lib; do
		case $lib in
		*/ld-linux* | */libc.so*) ;;
		*) install -D -m 755 "$lib" "$tree/usr/local/lib/${lib##*/}" ;;
		esac
	done
	memory=1536
}

systemd_system() {
	debian_system
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
	start=/lib/systemd/systemd
}

# The live suites as they lie in the source, for they look for what is beside them.
live_system() {
	debian_system
	mkdir -p "$tree/src/tests" "$tree/etc"
	cp -r "$here/../live" "$here/../profiles" "$tree/src/tests/"
	cp -r "$here/../../profiles" "$tree/src/"
	[ -z "${DENY:-}" ] || install -m 755 "$DENY" "$tree/usr/bin/deny-syscall"
	echo "$suites" >"$tree/src/suites"
	# Every installed system has these.
	echo "127.0.0.1 localhost" >"$tree/etc/hosts"
	echo guest >"$tree/etc/hostname"
	start='/bin/bash /lib.sh'
}

case $disk in
system) systemd_system ;;
live) live_system ;;
*) small_system ;;
esac
# pivot_root(2) does not leave the initramfs itself: the system becomes a mount above it.
enter() {
	cat <<INIT
#!/bin/sh
mkdir -p /new
$1
cd /new
mount --move . /
exec chroot . $start
INIT
}
if [ -n "$disk" ]; then
	mkdir -p "$root/first"/{bin,dev,new}
	install -m 755 "$(command -v busybox)" "$root/first/bin/busybox"
	for applet in sh mount mkdir tar chroot sleep; do ln -s busybox "$root/first/bin/$applet"; done
	tar -C "$tree" --owner=0 --group=0 -cf "$root/first/tree.tar" .
	tree=$root/first
	enter 'mount -t devtmpfs dev /dev
until mount -t ext4 -o noatime /dev/nvme0n1 /new; do sleep 0.2; done
tar -C /new -xf /tree.tar' >"$tree/init"
else
	enter 'mount --bind / /new' >"$tree/init"
fi
chmod 755 "$tree/init"
(cd "$tree" && find . -mindepth 1 | cpio -o -H newc --quiet --owner=0:0) >"$root/initrd"
drive=()
[ -z "$disk" ] || drive=(-drive "file=$debian,format=raw,if=none,id=disk,snapshot=on" -device "nvme,serial=1,drive=disk")

# Without acceleration a kernel now and then stumbles over the code that it patches while it starts.
# A guest that did not come up, or whose kernel fell, says nothing of what it was to try.
boot() {
	TMPDIR=$root timeout -k 5 "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 \
		-m "${AGENTBOX_VM_MEMORY:-$memory}" -M q35 "${drive[@]}" -nodefaults -nographic -serial stdio -no-reboot \
		-kernel "$kernel" -initrd "$root/initrd" -append "console=ttyS0 panic=-1 oops=panic quiet \
		mitigations=off nokaslr nowatchdog systemd.show_status=0 $*" </dev/null >"$root/out" 2>&1 || true
	grep -q '^# up' "$root/out" && ! grep -q 'Kernel panic' "$root/out"
}
for try in 1 2 3; do
	times >"$root/before"
	! boot "$@" || break
	echo "# start $try failed: $(grep -am 1 -e Oops -e 'Kernel panic' "$root/out" | tr -d '\r')"
done
times >"$root/after"
work=$(awk -F'[ms ]+' 'FNR == 2 { t = $1 * 60 + $2 + $3 * 60 + $4 - t } END { print int(t) }' "$root/before" "$root/after")
# The console of the guest is ours; what is no TAP is shown as a comment.
tr -d '\r' <"$root/out" | awk -v work="$work" -v most="${AGENTBOX_VM_WORK:-}" '
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - "); if (/^not/) bad++; print; next }
	/^# done$/ { done = 1; next }
	{ if (!/^#/) sub(/^/, "# "); print }
	END {
		if (!done) { print "not ok " ++n " - the guest came to its end"; bad++ }
		print "# " work " seconds of processor time"
		if (most != "" && work > most) bad++
		if (most != "") print (work > most ? "not ok " : "ok ") ++n " - it took at most " most " of them"
		print "1.." n; exit bad > 0
	}'
