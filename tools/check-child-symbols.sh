#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# check-child-symbols - hold the child's archives to the symbols that they may use.
#
#     check-child-symbols.sh ALLOW ARCHIVE...
#     check-child-symbols.sh --self-test ALLOW CC
#
# Undefined symbols of the archives, less those they define, less the names in ALLOW, must be
# none. The self-test builds an object that calls malloc and wants it to be found, beside one
# that keeps to the list.
set -eu

# undefined ALLOW ARCHIVE...: the names that are too many, one a line
undefined() {
	allow=$1
	shift
	work=$(mktemp -d)
	nm -P --defined-only "$@" >"$work/nm.defined"
	nm -P -u "$@" >"$work/nm.undefined"
	# A line without a type is the name of an object.
	awk 'NF > 1 { print $1 }' "$work/nm.defined" | sort -u >"$work/defined"
	awk 'NF > 1 { print $1 }' "$work/nm.undefined" | sort -u >"$work/undefined"
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$allow" | sort -u >"$work/allow"
	if [ ! -s "$work/defined" ]; then
		echo "(no symbols in $*)"
	fi
	comm -23 "$work/undefined" "$work/defined" | comm -23 - "$work/allow"
	rm -rf "$work"
}

self_test() {
	allow=$1
	shift
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	cat >"$dir/bad.c" <<-'EOF'
		#include <stdlib.h>
		void *child_bad(void);
		void *child_bad(void) { return malloc(1); }
	EOF
	cat >"$dir/good.c" <<-'EOF'
		#include <string.h>
		void child_good(void *p, size_t n);
		void child_good(void *p, size_t n) { memset(p, 0, n); }
	EOF
	for name in bad good; do
		"$@" -O1 -fno-builtin -fno-stack-protector -c "$dir/$name.c" -o "$dir/$name.o"
		# Thin, as the build makes them.
		ar rcsT "$dir/$name.a" "$dir/$name.o"
	done
	found=$(undefined "$allow" "$dir/bad.a" "$dir/good.a")
	if [ "$found" != malloc ]; then
		echo "self-test: want 'malloc', found '$found'" >&2
		exit 1
	fi
	found=$(undefined "$allow" "$dir/good.a")
	if [ -n "$found" ]; then
		echo "self-test: want nothing, found '$found'" >&2
		exit 1
	fi
}

if [ "$1" = --self-test ]; then
	shift
	self_test "$@"
	exit 0
fi

found=$(undefined "$@")
if [ -n "$found" ]; then
	echo "The child must not use (see tools/child-symbols.allow):" >&2
	echo "$found" >&2
	exit 1
fi
