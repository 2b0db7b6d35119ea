#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# build-deb - a Debian package of this tree.
#
#   build-deb.sh [--apparmor yes|no] BUILD_DIR OUT_DIR
#
# BUILD_DIR is a meson build directory with --prefix=/usr; one that does not exist is made. The
# package is for the release it is built on. That decides about the AppArmor profile, too, where the
# option does not: its rule about user namespaces is a syntax error to an AppArmor before 4.0, which
# has no use for it either. The Maintainer is $DEBFULLNAME <$DEBEMAIL>.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)

die() {
	echo "build-deb: $*" >&2
	exit 1
}

apparmor=no
[ ! -e /etc/apparmor.d/abi/4.0 ] || apparmor=yes
if [ "${1:-}" = --apparmor ]; then
	apparmor=${2:-}
	shift 2
fi
case $apparmor in yes | no) ;; *) die "--apparmor takes yes or no" ;; esac
[ $# = 2 ] || die "usage: build-deb.sh [--apparmor yes|no] BUILD_DIR OUT_DIR"
build=$1
out=$2

[ -d "$build/meson-private" ] ||
	meson setup "$build" "$top" --prefix=/usr --sysconfdir=/etc -Dbuildtype=release -Dtests=false
ninja -C "$build"
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
root=$stage/root
umask 022
mkdir "$root" "$root/DEBIAN"
meson install -C "$build" --no-rebuild --quiet --destdir "$root"
binary=$root/usr/bin/agentbox
[ -x "$binary" ] || die "$build is not configured with --prefix=/usr"
version=$("$binary" --version | cut -d' ' -f2)

doc=$root/usr/share/doc/agentbox
mkdir -p "$doc"
cp "$top/README.md" "$top/SECURITY.md" "$doc/"
gzip -9nc "$top/NEWS.md" >"$doc/changelog.gz"
cat >"$doc/copyright" <<'END'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: agentbox

Files: *
Copyright: the authors of agentbox
License: LGPL-2.1-or-later
 The text of version 2.1 is /usr/share/common-licenses/LGPL-2.1 on Debian.
END
find "$root/usr/share/man" -type f ! -name '*.gz' -exec gzip -9n {} +
chmod -R u=rwX,go=rX "$root"

if [ "$apparmor" = yes ]; then
	echo /etc/apparmor.d/agentbox >"$root/DEBIAN/conffiles"
	cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
# Nothing to load for a root that is not the running system's, or where AppArmor is not running.
if [ "$1" = configure ] && [ -z "${DPKG_ROOT:-}" ] &&
	[ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null; then
	apparmor_parser -r -T -W /etc/apparmor.d/agentbox || true
fi
END
	chmod 755 "$root/DEBIAN/postinst"
else
	rm -rf -- "${root:?}/etc"
fi

# The packages that the program's libraries came from, as new as here.
depends() {
	ldd "$binary" | awk '$2 == "=>" { print $3 }' | while read -r lib; do
		real=$(readlink -f "$lib")
		owner=$(dpkg -S "$lib" 2>/dev/null || dpkg -S "$real" 2>/dev/null ||
			dpkg -S "/usr$real" 2>/dev/null || dpkg -S "${real#/usr}" 2>/dev/null) ||
			die "no package has $lib"
		name=$(printf '%s\n' "$owner" | sed -n '1s/:.*//p')
		# shellcheck disable=SC2016 # dpkg's own
		dpkg-query -W -f '${Package} (>= ${source:Upstream-Version})\n' "$name" | head -n 1
	done | sort -u | paste -sd, | sed 's/,/, /g'
}

cat >"$root/DEBIAN/control" <<END
Package: agentbox
Version: $version-1
Architecture: $(dpkg --print-architecture)
Maintainer: ${DEBFULLNAME:-agentbox} <${DEBEMAIL:-agentbox@example.org}>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $(depends)
$([ "$apparmor" = no ] || echo 'Breaks: apparmor (<< 4.0~)')
Section: utils
Priority: optional
Description: run a command in a sandbox that one profile describes
 agentbox runs commands that somebody else chose: a model, a script, a
 build. One YAML profile says what the sandbox is and who may do what in
 it. No setuid, no daemon, no container image.
END
sed -i '/^$/d' "$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"

mkdir -p "$out"
deb=$out/agentbox_$version-1_$(dpkg --print-architecture).deb
dpkg-deb --root-owner-group --build "$root" "$deb" >&2
echo "$deb"
