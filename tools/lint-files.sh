#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lint-files - the project's own files, one a line, relative to its top: those that git knows or
# would add, or in an unpacked archive everything outside build directories.
#
#   lint-files.sh [PATTERN...]    shell patterns over the whole path; none: every file
set -eu
cd -- "$(dirname -- "$0")/.."

list() {
	# A clone that belongs to somebody else is only read here.
	git -c safe.directory='*' ls-files --cached --others --exclude-standard 2>/dev/null ||
		find . -name .git -prune -o -path './build*' -prune -o -type f -print |
		sed 's,^\./,,'
}

list | LC_ALL=C sort | while IFS= read -r file; do
	[ -f "$file" ] || continue
	[ $# -gt 0 ] || printf '%s\n' "$file"
	for pattern in "$@"; do
		# The argument is a pattern on purpose.
		# shellcheck disable=SC2254
		case $file in
		$pattern)
			printf '%s\n' "$file"
			break
			;;
		esac
	done
done
