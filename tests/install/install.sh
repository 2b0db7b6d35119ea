#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# install.sh BUILD_DIR - install into a folder of its own and look at what is there.
set -u
build=$1
dest=$(mktemp -d)
trap 'rm -rf -- "$dest"' EXIT
n=0
bad=0

ok() { # DESCRIPTION CMD...
	what=$1
	shift
	n=$((n + 1))
	if "$@" >"$dest/out" 2>&1; then
		echo "ok $n - $what"
	else
		bad=1
		echo "not ok $n - $what"
		sed 's/^/# /' "$dest/out"
	fi
}

# Also where all else must work: a distribution has this AppArmor or it has not.
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

mkdir "$dest/root"
# As it is built: a test must not build what other tests are running.
ok "meson install" meson install -C "$build" --no-rebuild --quiet --destdir "$dest/root"

binary=$(find "$dest/root" -type f -name agentbox -perm -111)
profile=$(find "$dest/root" -type f -path '*/apparmor.d/agentbox')
ok "the program, once" test -f "$binary"
ok "it is not set-id" test -z "$(find "$binary" -perm /6000)"
ok "the AppArmor profile, once" test -f "$profile"
ok "its mode is 644" test -z "$(find "$profile" ! -perm 644)"
ok "it is about the program where it was put" \
	grep -qF "profile agentbox ${binary#"$dest/root"} flags=(unconfined) {" "$profile"
ok "it allows user namespaces" grep -qx '  userns,' "$profile"
ok "nothing in it is left to fill in" test -z "$(grep '@[A-Z]*@' "$profile")"
# What doctor tells people to load: the same path, in the program.
ok "the program names it where it was put" grep -qaF "${profile#"$dest/root"}" "$binary"

for file in bash-completion/completions/agentbox zsh/site-functions/_agentbox \
	fish/vendor_completions.d/agentbox.fish; do
	ok "completions: $file" test -s "$(find "$dest/root" -type f -path "*/share/$file")"
done

parser=$(command -v apparmor_parser || echo /sbin/apparmor_parser)
if [ ! -x "$parser" ]; then
	skip "apparmor_parser takes it" "apparmor_parser is not installed"
elif [ ! -e /etc/apparmor.d/abi/4.0 ]; then
	skip "apparmor_parser takes it" "this AppArmor is older than user namespace rules (4.0)"
else
	ok "apparmor_parser takes it" "$parser" -Q -K "$profile"
fi
echo "1..$n"
exit "$bad"
