#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lint-tool - hold the tree against somebody else's checker.
#
#   lint-tool.sh format|shell|spell|tidy [BUILD_DIR]
#
# Each is first given a text that it must object to: a checker that finds nothing because it was
# not set up right looks like a clean tree. One that is not installed is a skip (77), or a failure
# under AGENTBOX_MUST_WORK=1. tidy reads the compile commands of BUILD_DIR.
set -eu
cd -- "$(dirname -- "$0")/.."
files=tools/lint-files.sh

need() {
	command -v "$1" >/dev/null 2>&1 && return 0
	echo "$1 is not installed"
	[ "${AGENTBOX_MUST_WORK:-}" = 1 ] && exit 1
	exit 77
}

# must_object COMMAND... - the command has to fail on what is wrong on purpose.
must_object() {
	if "$@" >/dev/null 2>&1; then
		echo "self-test: no objection from: $*"
		exit 1
	fi
}

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

check_format() {
	need clang-format
	printf 'int  f( void ){return 0;}\n' >"$scratch/bad.c"
	cp .clang-format "$scratch/"
	must_object clang-format --dry-run -Werror "$scratch/bad.c"
	sh $files 'src/*.[ch]' 'tests/*.[ch]' 'tools/*.[ch]' |
		xargs clang-format --dry-run -Werror
}

check_shell() {
	need shellcheck
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nrm $1\n' >"$scratch/bad.sh"
	must_object shellcheck "$scratch/bad.sh"
	sh $files | while IFS= read -r file; do
		IFS= read -r first <"$file" || continue
		case $first in
		'#!'*/sh | '#!'*/bash | '#!'*' sh' | '#!'*' bash') printf '%s\n' "$file" ;;
		*) case $file in *.sh) printf '%s\n' "$file" ;; esac ;;
		esac
	done 2>/dev/null | xargs shellcheck --external-sources --severity=warning
}

check_spell() {
	need codespell
	printf 'they recie%s it\n' ve >"$scratch/bad.txt"
	must_object codespell "$scratch/bad.txt"
	sh $files | grep -v -e '^COPYING$' -e '/corpus/' -e '^tests/profiles/' |
		xargs codespell --ignore-words tools/lint-spell.ignore
}

check_tidy() {
	need clang-tidy
	build=${1:?lint-tool.sh tidy BUILD_DIR}
	[ -f "$build/compile_commands.json" ] || {
		echo "$build has no compile_commands.json"
		exit 1
	}
	printf 'int count;\nint f(void);\nint f(void)\n{\n\tcount++;\n\treturn count;\n}\n' \
		>"$scratch/bad.c"
	cp .clang-tidy "$scratch/"
	must_object clang-tidy --quiet "$scratch/bad.c" -- -std=gnu17
	for file in $(sh $files 'src/*.c'); do
		# A file without a compile command would be passed over without a word.
		grep -qF "/$file\"" "$build/compile_commands.json" || {
			echo "$file is in no meson.build"
			exit 1
		}
	done
	# One process for each file: several in one go make the analyzer see va_lists uninitialised.
	# err.c defines what lint-tidy.h wraps.
	# shellcheck disable=SC2016
	sh $files 'src/*.c' | xargs -P "$(nproc)" -I{} sh -c '
		include="--extra-arg=-include$PWD/tools/lint-tidy.h"
		[ "$2" != src/base/err.c ] || include=--extra-arg=-DLINT_TIDY
		clang-tidy --quiet -p "$1" "$include" --extra-arg=-Wno-unknown-warning-option \
			--extra-arg=-Qunused-arguments "$2"' sh "$build" {}
}

case ${1:-} in
format | shell | spell | tidy)
	check=check_$1
	shift
	"$check" "$@"
	;;
*)
	echo 'usage: lint-tool.sh format|shell|spell|tidy [BUILD_DIR]'
	exit 2
	;;
esac
