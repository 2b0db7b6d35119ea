#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# This project is configured, built and tested inside the shipped profile for builds, where there
# is no network and nothing writable but the copy of the source and the scratch.
# shellcheck disable=SC2034 # for lib.sh

# All floors but child, which builds sandboxes and nothing else: no namespace can be made inside.
FLOORS='base|codec|filter|profile|audit|policy|plan|run|relay'
# These build one too.
APART='run-(kill|run)'
# These take seconds each, and ask the kernel for nothing that the others do not.
APART+='|audit-(fault|rotate|writers)|filter-libseccomp|run-pump|relay-full'
# What a root or a grant names, a cgroup and the way to /proc/PID are opened by openat2: ENOSYS
# inside, for its mode can carry setuid bits behind a pointer. With those bits allowed they pass.
OPENAT2='policy-.*|run-cgroup|relay-isolate'

live_setup() { # SOURCE: once, by who can read it; build directories stay behind
	local f
	mkdir "$LIVE/source"
	for f in "$1"/*; do
		[ -d "$f/meson-private" ] || cp -r "$f" "$LIVE/source/"
	done
}
. "${0%/*}/lib.sh"
as_callers

for tool in meson ninja pkg-config cc python3; do
	command -v "$tool" >/dev/null || {
		skip "the project's own build" "$tool is not installed"
		done_testing
	}
done
P=$T/build.yaml
cp "$LIVE/shipped/build.yaml" "$P"
cp -r "$LIVE/source" "$WS/source"
before=$(cd "$WS/source" && tree_of .)

build() {
	ab -w "$WS" --workdir "$WS/source" -- sh -ec "$1"
}

# Without a cache that each run would fill anew, and without what a debugger reads.
SETUP='export CCACHE_DISABLE=1; meson setup -Dbuildtype=debug -Ddebug=false -Dbench=false'
targets() { # DIR ERE: the unit tests of these floors
	echo "\$(ninja -C $1 -t targets all | grep -oE '^tests/unit/($2)/test-[a-z0-9-]+:' | tr -d : |
		grep -vE '/test-($APART)\$')"
}
unchanged() {
	is "$(rm -rf "$WS/source/out" && cd "$WS/source" && tree_of .)" "$before" "the source is as it was"
	no_sandbox_left "no sandbox is left"
	done_testing
}
if [ "$CALLER" = nested ]; then
	# Of what the others do the first steps, in the scratch.
	expect_rc 0 "meson setup, ninja and the unit tests of one floor" build "
		$SETUP /tmp/out && ninja -C /tmp/out -j2 $(targets /tmp/out base) &&
		meson test -C /tmp/out --no-rebuild --num-processes 2 --print-errorlogs \
			\$(meson test -C /tmp/out --no-rebuild --list 2>/dev/null | sed -n 's,.* / \(base-\),\1,p') </dev/null"
	like "$(cat "$T/out")" 'Ok: +[5-9]' "five of them or more"
	like "$(cat "$T/out")" 'Fail: +0' "none fails"
	unchanged
fi
expect_rc 0 "meson setup" build "$SETUP out"
expect_rc 0 "ninja: the program and the unit tests" build "
	export CCACHE_DISABLE=1; ninja -C out -j2 src/cli/agentbox $(targets out "$FLOORS") \
		src/filter/syscalls-x86_64.txt src/filter/syscalls-aarch64.txt # which filter-dump reads"
like "$(build 'out/src/cli/agentbox --version')" '^agentbox [0-9]' "the program that was built runs"
unit_tests() { # DESCRIPTION ERE ERE: names that match the first and not the second
	expect_rc 0 "$1" build "
		export TMPDIR=\$HOME # /tmp is not root's inside, and a log of decisions asks who owns its place
		names=\$(meson test -C out --no-rebuild --list --suite unit 2>/dev/null |
			sed -n 's,.* / ,,p' | grep -xE '$2' | grep -vxE '$3')
		meson test -C out --no-rebuild --num-processes 2 --print-errorlogs \$names </dev/null"
	[ -z "$(grep UNKNOWN "$T/out")" ] || fail "$1: output that is no TAP"
}
unit_tests "the unit tests" "($FLOORS)-.*" "$OPENAT2|$APART"
for floor in ${FLOORS//|/ }; do
	[ "$floor" = policy ] || like "$(cat "$T/out")" "/ $floor-[a-z0-9]+ +OK" "some of $floor"
done
like "$(cat "$T/out")" 'Fail: +0' "none fails"
profile open <<-'YAML'
	extends: [build.yaml]
	sandbox: {syscalls: {allow: [setid_bits]}}
YAML
unit_tests "those that open by openat2" "$OPENAT2" none
like "$(cat "$T/out")" 'Ok: +[1-9][0-9]' "ten of them or more"
like "$(cat "$T/out")" 'Fail: +0' "none fails"
unchanged
