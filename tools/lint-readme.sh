#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lint-readme - hold README.md against the program: its profiles load, its options, commands and
# exit statuses exist, its result object has the keys of a real one, each layer of defence its tests;
# and what a reader looks for is where it belongs.
#
#   lint-readme.sh AGENTBOX BUILD-DIRECTORY
set -eu
agentbox=$(realpath -- "$1")
build=$(realpath -- "$2")
cd -- "$(dirname -- "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
mkdir "$scratch/work"
bad=0
fault() {
	echo "README.md: $*"
	bad=1
}

# block KIND N - the text of the Nth fenced block of that kind.
block() {
	awk -v kind="$1" -v want="$2" '
		!/^```/ { if (open && take) print; next }
		open { open = 0; next }
		{ open = 1; take = $0 == "```" kind && ++n == want }' README.md
}

# loads FILE [OPTION...] - whether the profile is accepted: any decision will do, and check
# builds no sandbox to come to one.
loads() {
	"$agentbox" check -p "$@" read_file /nowhere >"$scratch/out" 2>&1 && rc=0 || rc=$?
	[ "$rc" -le 124 ]
}

profiles=0
while text=$(block yaml $((profiles + 1))) && [ -n "$text" ]; do
	profiles=$((profiles + 1))
	file=$scratch/work/p$profiles.yaml
	# A caller without an entry in passwd has no home that ~ could mean.
	getent passwd "$(id -u)" >/dev/null || text=$(printf '%s\n' "$text" | sed "s|~/|$scratch/|g")
	printf '%s\n' "$text" >"$file"
	set --
	! grep -q '^params:' "$file" || set -- -w "$scratch/work"
	loads "$file" "$@" || fault "profile $profiles is refused: $(cat "$scratch/out")"
done
[ "$profiles" -ge 2 ] || fault "found $profiles profiles"
sed 's/^sandbox:/sandbx:/' "$scratch/work/p1.yaml" >"$scratch/work/bad.yaml"
loads "$scratch/work/bad.yaml" -w "$scratch/work" &&
	fault 'self-test: a broken profile is accepted'

"$agentbox" run --help >"$scratch/help"
# shellcheck disable=SC2013
for option in $(sed -n '/^## Commands/,/^## Around/p' README.md | grep -o -e '--[a-z][a-z-]*' | sort -u); do
	[ "$option" = --help ] || grep -q -e "$option\>" "$scratch/help" ||
		fault "no such option of run: $option"
done
grep -q -e '--no-such-option\>' "$scratch/help" && fault 'self-test: an invented option is found'

commands=0
for command in $(block '' 1 | awk '$1 == "agentbox" { print $2 }'); do
	commands=$((commands + 1))
	"$agentbox" "$command" --help >/dev/null 2>&1 || fault "no such command: $command"
done
[ "$commands" -ge 3 ] || fault "found $commands commands"

"$agentbox" run --json --state "$scratch/state" -p "$scratch/none.yaml" -- true \
	>"$scratch/result" 2>/dev/null || :
block json 1 | python3 -c '
import json, re, sys
shown = set(re.findall(r"^ *[{]?\"(\w+)\":|, \"(\w+)\": ", re.sub(r"(?<=: )[{][^}]*[}]", "0", sys.stdin.read()), re.M))
shown = {a or b for a, b in shown}
real = set(json.load(open(sys.argv[1])))
print("\n".join(f"README.md: the result object: {k}" for k in sorted(shown ^ real)))
sys.exit(shown != real)' "$scratch/result" || bad=1

# Every status that the program has a name for stands in the table, and no other.
grep -o '= 12[0-9]' src/base/exitcode.h | grep -o '12[0-9]' | sort -u >"$scratch/has"
grep '^| 12[0-9]' README.md | cut -d'|' -f2 | grep -o '12[0-9]' | sort -u >"$scratch/says"
cmp -s "$scratch/has" "$scratch/says" || fault 'the table of exit statuses differs from exitcode.h'

# layers TESTS - the map of layers on standard input: a row for each, with tests, all of which exist.
# Prints what is wrong.
layers() {
	awk -F'|' -v names="$1" '
		BEGIN {
			while ((getline name <names) > 0)
				exists[name]
			n = split("input trust,tool policy,HITL,sandbox,limits,network,secrets," \
				"artifacts,lifecycle,audit", want, ",")
		}
		!/^\|/ || /^\|(---| layer )/ { next }
		{
			layer = $2
			sub(/:.*/, "", layer)
			gsub(/^ | $/, "", layer)
			rows[layer]++
			tests = split($3, part, "`")
			for (i = 2; i <= tests; i += 2)
				if (!(part[i] in exists))
					print layer ": no such test: " part[i]
			if (tests < 3)
				print layer ": no test"
		}
		END {
			for (i = 1; i <= n; i++) {
				if (rows[want[i]] != 1)
					print want[i] ": " rows[want[i]] + 0 " rows"
				delete rows[want[i]]
			}
			for (layer in rows)
				print layer ": no layer"
		}'
}
python3 -c 'import json, sys
print("\n".join(t["name"] for t in json.load(open(sys.argv[1]))))' \
	"$build/meson-info/intro-tests.json" >"$scratch/tests"
# These are left out of a build with sanitizers, and are files of the name.
basename -a -s .sh tests/live/[0-9]*.sh >>"$scratch/tests"
sed -n '/^## Layers of defence/,/^## Beside/p' README.md >"$scratch/layers"
layers "$scratch/tests" <"$scratch/layers" >"$scratch/wrong"
[ ! -s "$scratch/wrong" ] || fault "the map of layers: $(cat "$scratch/wrong")"
# shellcheck disable=SC2016 # the quotes of a name in Markdown
for how in 's/^| audit:.*//' 's/`14-audit`/`14-no-such-test`/' '/^| artifacts:/s/`//g' \
	's/^| secrets:/| secrecy:/' 's/^| limits:.*/&\n&/'; do
	sed "$how" "$scratch/layers" | layers "$scratch/tests" | grep -q . ||
		fault "self-test: a broken map of layers is accepted: $how"
done

# begins - whether the text on standard input has these two headings before all others.
begins() {
	[ "$(grep '^## ' | head -n 2)" = '## Quick start
## Threat model' ]
}
begins <README.md || fault 'it begins with the quick start and the threat model'
sed '/^## Threat model/d' README.md | begins && fault 'self-test: a text without a threat model is accepted'

# stands FILE PATTERN - whether a line of the file is like that.
stands() {
	grep -q -e "$2" -- "$1" 2>/dev/null
}
while read -r file pattern; do
	stands "$file" "$pattern" || fault "$file has no line like $pattern"
done <<'ROWS'
README.md only apt was run
README.md ^.*(ARCHITECTURE\.md).*(CONTRIBUTING\.md).*(SECURITY\.md)
.editorconfig ^root = true$
COPYING GNU LESSER GENERAL PUBLIC LICENSE$
COPYING Version 2\.1,
ARCHITECTURE.md ^## Floors$
ARCHITECTURE.md ^## Processes$
ARCHITECTURE.md ^## Who parses untrusted bytes$
CONTRIBUTING.md ^## Where does a new line go?$
SECURITY.md ^## How to report$
NEWS.md ^## agentbox [0-9]
ROWS
stands README.md '^## No such heading$' && fault 'self-test: an invented heading is found'
stands no-such-file . && fault 'self-test: an invented file is found'

# But for that map and the threat model, which are held by their rows.
[ "$(sed '/^## Layers of defence/,/^## Beside/d;/^## Threat model/,/^\[What is not/d' README.md | wc -l)" -le 250 ] ||
	fault 'more than 250 lines: what is detail belongs to the pages'

exit "$bad"
