#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# package.sh SOURCE_DIR - install to a prefix and run what is there; make a Debian package, unpack it,
# install it into a root of its own, and run what is there.
# shellcheck disable=SC2016,SC2317 # for eval, and called by ok
set -u
umask 022
source=$1
W=$(mktemp -d /var/tmp/agentbox-package.XXXXXX)
trap 'rm -rf --one-file-system -- "$W"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$W"
export LC_ALL=C.UTF-8
n=0
bad=0

ok() { # DESCRIPTION CMD...
	local what=$1
	shift
	n=$((n + 1))
	if "$@" >"$W/out" 2>&1; then
		echo "ok $n - $what"
	else
		bad=1
		echo "not ok $n - $what"
		tail -n 30 "$W/out" | sed 's/^/#   /'
	fi
}

is() { # GOT WANT DESCRIPTION
	printf 'got  %s\nwant %s\n' "$1" "$2" >"$W/is"
	if [ "$1" = "$2" ]; then ok "$3" true; else ok "$3" eval 'cat "$W/is"; false'; fi
}

# Both where the suite is root's.
callers=(self)
[ "$EUID" != 0 ] || callers+=(user)
uid=23457
as() { # CALLER CMD...
	local caller=$1
	shift
	[ "$caller" = self ] || set -- setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
	env -i PATH=/usr/bin:/bin HOME="$W/$caller" "$@" </dev/null
}
for caller in "${callers[@]}"; do
	mkdir "$W/$caller" "$W/$caller/ws"
	[ "$caller" = self ] || chown -R "$uid:$uid" "$W/$caller"
done

works() { # DESCRIPTION PREFIX: what was installed below it is whole, and works
	local bin=$2/bin/agentbox caller d
	is "$(find "$2" -perm /7000)" "" "$1: nothing has a set-id or sticky bit"
	[ ! -x /sbin/getcap ] || is "$(/sbin/getcap -r "$2" 2>/dev/null)" "" "$1: nothing has capabilities"
	for caller in "${callers[@]}"; do
		d=$W/$caller
		ok "$1: $caller: doctor" as "$caller" "$bin" doctor --state "$d/state"
		is "$(as "$caller" "$bin" run --state "$d/state" -p default -w "$d/ws" -c 'echo $((6 * 7)) >f; cat f')" \
			42 "$1: $caller: a run with a shipped profile, by name"
		ok "$1: $caller: the same by its file" as "$caller" "$bin" run --state "$d/state" \
			-p "$2/share/agentbox/profiles/default.yaml" -w "$d/ws" -- true
		is "$(as "$caller" "$bin" run --state "$d/state" -p default -w "$d/ws" --timeout 200ms -- sleep 60; echo $?)" \
			124 "$1: $caller: a limit"
		ok "$1: $caller: selftest" as "$caller" "$bin" selftest --state "$d/state"
		ok "$1: $caller: the log" as "$caller" "$bin" audit verify --state "$d/state"
	done
	ok "$1: completions" bash -n "$2/share/bash-completion/completions/agentbox"
}

# As somebody who builds it does. Without the tests: they are not installed.
build=$W/build
prefix=$W/prefix
ok "configure with a prefix" meson setup "$build" "$source" --prefix="$prefix" -Dbuildtype=release -Dtests=false
ok "build" ninja -C "$build"
ok "install" meson install -C "$build" --quiet
is "$(cd "$prefix" && find . -type f | sed 's|syscalls-.*|syscalls|' | grep -v '/profiles/' | LC_ALL=C sort | tr '\n' ' ')" \
	"./bin/agentbox ./etc/apparmor.d/agentbox ./share/bash-completion/completions/agentbox \
./share/doc/agentbox/syscalls ./share/fish/vendor_completions.d/agentbox.fish ./share/man/man1/agentbox.1 \
./share/man/man5/agentbox.yaml.5 ./share/zsh/site-functions/_agentbox " "what is installed"
ok "the AppArmor profile is about this program" grep -qF "$prefix/bin/agentbox" "$prefix/etc/apparmor.d/agentbox"
works "prefix" "$prefix"

for tool in dpkg dpkg-deb dpkg-query; do
	command -v "$tool" >/dev/null || {
		echo "1..$n"
		echo "# no packages: $tool is not installed"
		exit "$bad"
	}
done
export DEBFULLNAME='A Packager' DEBEMAIL=packager@example.org
script=$source/packaging/debian/build-deb.sh
ok "configure for a package" meson configure "$build" -Dprefix=/usr -Dsysconfdir=/etc
ok "a package, with the AppArmor profile" "$script" --apparmor yes "$build" "$W/with"
ok "a package without" "$script" --apparmor no "$build" "$W/without"
ok "neither yes nor no is refused" eval '! "$script" --apparmor maybe "$build" "$W/x"'
deb=$(echo "$W/with"/*.deb)
field() {
	dpkg-deb -f "$deb" "$1"
}
is "$(field Package) $(field Version) $(field Maintainer)" \
	"agentbox $("$prefix/bin/agentbox" --version | cut -d' ' -f2)-1 A Packager <packager@example.org>" "its fields"
is "$(field Architecture)" "$(dpkg --print-architecture)" "its architecture"
ok "it depends on the C library" eval 'field Depends | grep -qE "^libc6 [(]>= [0-9.]+[)]"'
is "$(field Breaks)" "apparmor (<< 4.0~)" "an AppArmor that cannot read the profile is excluded"
is "$(dpkg-deb -f "$(echo "$W/without"/*.deb)" Breaks)" "" "but not without it"
is "$(dpkg-deb -c "$(echo "$W/without"/*.deb)" | grep -c /etc)" 0 "which is then not there"
is "$(dpkg-deb -c "$deb" | awk '$2 != "root/root" || $1 ~ /[sStT]/')" "" "all is root's, and nothing is set-id"

mkdir "$W/x"
ok "unpack" dpkg-deb -x "$deb" "$W/x"
ok "unpack what dpkg keeps" dpkg-deb -e "$deb" "$W/control"
is "$(cat "$W/control/conffiles")" "/etc/apparmor.d/agentbox" "the configuration file"
ok "the sums" eval '(cd "$W/x" && md5sum --quiet -c "$W/control/md5sums")'
is "$(cd "$W/x" && find usr -type f | wc -l)" "$(wc -l <"$W/control/md5sums")" "of every file"
for page in man1/agentbox.1 man5/agentbox.yaml.5; do
	ok "$page" eval 'gzip -dc "$W/x/usr/share/man/$page.gz" | cmp - "$prefix/share/man/$page"'
done
ok "a copyright, a changelog" eval 'test -s "$W/x/usr/share/doc/agentbox/copyright" &&
	gzip -t "$W/x/usr/share/doc/agentbox/changelog.gz"'
ok "the AppArmor profile is about /usr/bin/agentbox" \
	grep -qF 'profile agentbox /usr/bin/agentbox flags=' "$W/x/etc/apparmor.d/agentbox"
works "unpacked" "$W/x/usr"

if [ "$EUID" != 0 ]; then
	echo "1..$n"
	echo "# dpkg installs for root alone"
	exit "$bad"
fi
root=$W/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
# What it depends on is outside. Its script must see that the root is not the machine's.
pkg() {
	dpkg --root="$root" --log="$W/dpkg.log" --force-depends --force-script-chrootless "$@"
}
ok "install" pkg -i "$deb"
is "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Status}' agentbox)" "install ok installed" "it is installed"
ok "all is as it was packed" pkg -V agentbox
works "installed" "$root/usr"
echo '# mine' >>"$root/etc/apparmor.d/agentbox"
ok "install once more" pkg -i "$deb"
ok "a change of the configuration file stays" grep -qx '# mine' "$root/etc/apparmor.d/agentbox"
ok "remove" pkg -r agentbox
is "$(find "$root/usr" "$root/etc" -type f 2>/dev/null)" "$root/etc/apparmor.d/agentbox" "that file alone is left"
ok "purge" pkg -P agentbox
is "$(find "$root" -type f -not -path '*/dpkg/*')" "" "nothing is left"
echo "1..$n"
exit "$bad"
