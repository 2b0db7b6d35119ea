#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ./bootstrap on machines that are made up here: which install line it prints, who may install, that
# nothing is built where something is missing, and which builds and tests `test` and .ci/run are made
# of. Nothing of this machine is installed or built.
#
#	bootstrap.sh SOURCE
set -u
source=$1
top=$(mktemp -d /var/tmp/agentbox-bootstrap.XXXXXX)
trap 'rm -rf "$top"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)')
n=0 failed=0
# The folders of the system's own programs are of such a machine too: where they are those of all
# programs, the compiler of this one would be seen.
sbin=/usr/sbin:/sbin
if [ "$(grep -cF ":$sbin" "$source/bootstrap")" != 1 ]; then
	echo "Bail out! bootstrap looks elsewhere than in $sbin"
	exit 1
fi

ok() { # STATUS DESCRIPTION
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/#   /' "$top/err" "$top/log"
	fi
}
is() { # GOT WANT DESCRIPTION
	[ "$1" = "$2" ]
	ok $? "$3"
	[ "$1" = "$2" ] || printf '#   got  %s\n#   want %s\n' "$1" "$2"
}
says() { # PATTERN DESCRIPTION: on standard error
	grep -qE -- "$1" "$top/err"
	ok $? "$2"
}

# The programs of such a machine. What a package manager installs is made by `bring`.
machine() { # MANAGER...
	local p
	rm -rf "${top:?}/bin" "$top/sbin" "$top/clone"
	mkdir -p "$top/bin" "$top/sbin" "$top/clone/.ci"
	sed "s|:$sbin|:$top/sbin|" "$source/bootstrap" >"$top/clone/bootstrap"
	cp "$source/.ci/run" "$top/clone/.ci/"
	chmod 755 "$top/clone/bootstrap"
	for p in sh bash sed awk cat grep ls ln mktemp nice rm env dirname mkdir chmod printf touch true; do
		ln -s "$(type -P "$p")" "$top/bin/$p"
	done
	tool id 'echo "$FAKE_UID"'
	tool sudo 'echo "sudo $*" >>"$LOG"; [ -n "$FAKE_SUDO" ] || exit 1; shift; [ "$1" = true ] || exec "$@"'
	for p; do
		tool "$p" 'echo "'"$p"' $* (${DEBIAN_FRONTEND-})" >>"$LOG"; case $* in *install*|*add*|-S*) [ -z "$FAKE_EMPTY" ] && exec bring "$@" ;; esac; exit 0'
	done
	# The commands of the packages that it is asked for, as the table of needs has them for apt.
	tool bring 'for p in $(awk -v line=" $* " "\$1 ~ /^(build|test)\$/ && sub(/^cmd:/, \"\", \$2) && index(line, \" \" \$3 \" \") { print \$2 }" "$CLONE/bootstrap"); do
	[ ! -e "$BIN/$p" ] || continue
	case $p in
	meson | ninja) ln -s "$BIN/brought-$p" "$BIN/$p" ;;
	python3) ln -s "$PYTHON" "$BIN/$p" ;;
	*) printf "#!/bin/sh\nexit 0\n" >"$BIN/$p"; chmod 755 "$BIN/$p" ;;
	esac
done'
	tool brought-meson 'echo "meson $* (CC=${CC-} must=${AGENTBOX_MUST_WORK-})" >>"$LOG"
case $1 in
setup) for d; do case $d in */build | */build-*) mkdir -p "$d/src/cli" "$d/meson-logs" "$d/meson-private"; touch "$d/build.ninja" ;; esac; done ;;
test)
	dir=$3
	while [ "$1" != --logbase ]; do shift; done
	result=OK
	[ "$2" != "$FAKE_FAIL" ] || result=FAIL
	echo "{\"result\": \"$result\"}" >"$dir/meson-logs/$2.json"
	[ "$result" = OK ]
	;;
esac'
	tool brought-ninja 'echo "ninja $*" >>"$LOG"
printf "#!/bin/sh\necho agentbox \$*\n" >"$2/src/cli/agentbox"; chmod 755 "$2/src/cli/agentbox"'
}
tool() { # NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$top/bin/$1"
	chmod 755 "$top/bin/$1"
}
on() { # UID SUDO EMPTY CMD...: rc, $top/out, $top/err, $top/log
	: >"$top/log"
	rc=0
	env -i PATH="$top/bin" BIN="$top/bin" CLONE="$top/clone" PYTHON="$python" LOG="$top/log" FAKE_UID="$1" \
		FAKE_SUDO="$2" FAKE_EMPTY="$3" FAKE_FAIL="${fake_fail-}" "${@:4}" >"$top/out" 2>"$top/err" </dev/null || rc=$?
}
bootstrap() { # UID SUDO EMPTY ARGS...
	on "$1" "$2" "$3" sh "$top/clone/bootstrap" "${@:4}"
}
built() { # DESCRIPTION
	grep -q '^meson setup -Dbuildtype=release ' "$top/log" && grep -q '^ninja .*src/cli/agentbox' "$top/log"
	ok $? "$1"
}
not_built() { # DESCRIPTION
	! grep -qE '^(meson|ninja)' "$top/log"
	ok $? "$1"
}

machine apt-get
bootstrap 1000 '' '' build
is "$rc" 1 "neither root nor sudo: it stops"
says 'apt-get install -y --no-install-recommends gcc libc6-dev meson ninja-build pkg-config libyaml-dev' \
	"having printed the install line"
says 'run the line above as root' "and what to do with it"
is "$(grep -c '^apt-get' "$top/log")" 0 "nothing is installed"
not_built "nothing is built"

bootstrap 1000 yes '' build
is "$rc" 0 "sudo that asks for no password: it goes on"
is "$(grep -c '^sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install' "$top/log")" 1 "it installs by sudo -n"
says 'apt-get install' "and has printed the line too"
built "then it builds a release"

machine apt-get
bootstrap 0 '' '' build
is "$rc" 0 "root: it goes on"
is "$(grep -c '^apt-get install .*(noninteractive)' "$top/log"):$(grep -c ^sudo "$top/log")" 1:0 "it installs by itself"
built "then it builds"
bootstrap 0 '' '' build
is "$rc:$(grep -c apt-get "$top/log")" 0:0 "where nothing is missing, nothing is installed"
bootstrap 1000 '' '' run -p p.yaml -- sh -c 'a b'
is "$rc:$(cat "$top/out")" '0:agentbox run -p p.yaml -- sh -c a b' "run: the program gets the words, and its output is alone"

machine apt-get
bootstrap 0 '' yes build
is "$rc" 1 "an install that brings nothing"
says 'still missing after the install: cmd:cc ' "says what is missing"
not_built "and nothing is built"
machine
bootstrap 0 '' '' build
is "$rc" 1 "no package manager"
says 'no known package manager; what is missing: cmd:cc ' "says what is missing"
for row in 'dnf:dnf install -y .* gcc .*libyaml-devel' 'pacman:pacman -S .* libyaml' 'zypper:zypper .*install .*libyaml-devel' 'apk:apk add .*yaml-dev'; do
	machine "${row%%:*}"
	bootstrap 1000 '' '' build
	is "$rc" 1 "${row%%:*}: it stops"
	says "${row#*:}" "${row%%:*}: with its own line and names"
done
# --- the tests
logged() { # PATTERN DESCRIPTION [TIMES]: once
	is "$(grep -cE -- "^$1\$" "$top/log")" "${3:-1}" "$2"
}
machine apt-get
bootstrap 1000 '' '' test
is "$rc" 1 "test, neither root nor sudo: it stops"
says 'apt-get install .* clang .*bubblewrap ' "having printed a line with what only tests need"
not_built "and nothing is built"

bootstrap 0 '' '' test
is "$rc" 0 "test, root: it goes on"
c=$top/clone
logged "meson setup -Dbuildtype=release -Dwerror=true $c/build $c \(CC=gcc must=\)" "gcc, release, warnings are errors"
logged "meson setup -Dbuildtype=debugoptimized -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false $c/build-asan $c \(CC=clang must=\)" \
	"clang, with the sanitizers of addresses and undefined behaviour"
logged "meson setup -Dbuildtype=release -Dwerror=true $c/build-clang $c \(CC=clang must=\)" "clang, release"
logged "ninja -C $c/build" "all of it is built"
for d in build-asan build-clang; do
	logged "ninja -C $c/$d" "$d: the same, beside the tests of the first, and looked at before its own" 2
done
logged "meson test -C $c/build .*--no-suite tidy .*" "every test of the first"
logged "meson test -C $c/build .*--suite tidy .*" "and clang-tidy, by itself"
logged "meson test -C $c/build-asan .*--suite unit --suite fuzz .*" "unit and fuzz with the sanitizers"
logged "meson test -C $c/build-clang .* child-symbols .*" "with clang what it optimises to"
is "$(tail -n 1 "$top/out")" 'agentbox: 4 passed, 0 failed, 0 skipped' "the last line has the tests of all builds"
sort "$top/log" >"$top/log.test"
mv "$top/bin/ip" "$top/sbin/"
bootstrap 1000 '' '' test
is "$rc:$(grep -cE 'apt-get|setup' "$top/log")" 0:0 "what lies in the system's own folder is there; what is configured is used"
mv "$top/sbin/ip" "$top/bin/"
for fake_fail in bootstrap-gcc bootstrap-tidy bootstrap-asan bootstrap-clang; do
	bootstrap 0 '' '' test
	is "$rc:$(grep -cE '^agentbox: [0-9]+ passed, 1 failed, 0 skipped$' "$top/out")" 1:1 "tests that fail ($fake_fail): so does it"
done
fake_fail=
machine apt-get
on 0 '' '' "$top/clone/.ci/run"
is "$rc" 0 ".ci/run: it goes on"
is "$(sed 's/ must=1)/ must=)/' "$top/log" | sort)" "$(cat "$top/log.test")" "the same builds and tests"
is "$(grep -c '^meson ' "$top/log"):$(grep -c '^meson .* must=1)$' "$top/log")" 7:7 "in which a skip is a failure"

for words in '' 'nonsense' 'build now' 'test now'; do
	# shellcheck disable=SC2086
	bootstrap 0 '' '' $words
	is "$rc:$(grep -c '^usage: ./bootstrap' "$top/err"):$(wc -l <"$top/log")" 1:3:0 "bootstrap $words: how it is used, and nothing else"
done
echo "1..$n"
exit $failed
