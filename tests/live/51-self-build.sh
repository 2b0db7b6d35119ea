#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# This project is configured, built and tested inside the shipped profile for builds, where there
# is no network and nothing writable but the copy of the source and the scratch.
# shellcheck disable=SC2034 # for lib.sh

# The floors that are data alone: they build no sandbox, so they need nothing of the host.
FLOORS='base|codec|profile|policy|plan'
# The tests of policy open what a root or a grant names, as the program does, by openat2: ENOSYS
# inside, for its mode can carry setuid bits behind a pointer. With those bits allowed they pass.
OPENAT2='policy-.*'

live_setup() { # SOURCE: once, by who can read it; build directories stay behind
	local f
	mkdir "$LIVE/source"
	for f in "$1"/*; do
		[ -d "$f/meson-private" ] || cp -r "$f" "$LIVE/source/"
	done
}
. "${0%/*}/lib.sh"
as_callers root user

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

expect_rc 0 "meson setup" build 'meson setup -Dbuildtype=debug -Dbench=false /tmp/out && cp -r /tmp/out out'
expect_rc 0 "meson setup in the workspace" build 'rm -rf out && meson setup -Dbuildtype=debug -Dbench=false out'
expect_rc 0 "ninja: the program and the unit tests" build "
	tests=\$(ninja -C out -t targets all | grep -oE '^tests/unit/($FLOORS)/test-[a-z0-9-]+:' | tr -d :)
	ninja -C out -j2 src/cli/agentbox \$tests"
like "$(build 'out/src/cli/agentbox --version')" '^agentbox [0-9]' "the program that was built runs"
unit_tests() { # DESCRIPTION ERE ERE: names that match the first and not the second
	expect_rc 0 "$1" build "
		names=\$(meson test -C out --no-rebuild --list --suite unit 2>/dev/null |
			sed -n 's,.* / ,,p' | grep -xE '$2' | grep -vxE '$3')
		meson test -C out --no-rebuild --num-processes 2 --print-errorlogs \$names </dev/null"
	[ -z "$(grep UNKNOWN "$T/out")" ] || fail "$1: output that is no TAP"
}
unit_tests "the unit tests" "($FLOORS)-.*" "$OPENAT2"
like "$(cat "$T/out")" 'Ok: +[1-9][0-9]' "ten of them or more"
like "$(cat "$T/out")" 'Fail: +0' "none fails"
profile open <<-'YAML'
	extends: [build.yaml]
	sandbox: {syscalls: {allow: [setid_bits]}}
YAML
unit_tests "those that open by openat2" "$OPENAT2" none
like "$(cat "$T/out")" 'Ok: +[1-9][0-9]' "ten of them or more"
like "$(cat "$T/out")" 'Fail: +0' "none fails"
is "$(rm -rf "$WS/source/out" && cd "$WS/source" && tree_of .)" "$before" "the source is as it was"
no_sandbox_left "no sandbox is left"
done_testing
