#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ./bootstrap on machines that are made up here: which install line it prints, who may install, and
# that nothing is built where something is missing. Nothing of this machine is installed or built.
#
#	bootstrap.sh SOURCE
set -u
source=$1
top=$(mktemp -d /var/tmp/agentbox-bootstrap.XXXXXX)
trap 'rm -rf "$top"' EXIT
n=0 failed=0
# Where these folders are those of all programs, no machine without a compiler can be made up.
if (PATH=/usr/sbin:/sbin; command -v cc || command -v meson || command -v ninja) >/dev/null; then
	echo "1..0 # SKIP /usr/sbin holds the compiler here"
	exit 0
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
	rm -rf "${top:?}/bin" "$top/clone"
	mkdir "$top/bin" "$top/clone"
	cp "$source/bootstrap" "$top/clone/"
	for p in sh bash sed awk cat grep ls mktemp rm env dirname mkdir chmod printf touch true; do
		ln -s "$(type -P "$p")" "$top/bin/$p"
	done
	tool id 'echo "$FAKE_UID"'
	tool sudo 'echo "sudo $*" >>"$LOG"; [ -n "$FAKE_SUDO" ] || exit 1; shift; [ "$1" = true ] || exec "$@"'
	for p; do
		tool "$p" 'echo "'"$p"' $* (${DEBIAN_FRONTEND-})" >>"$LOG"; case $* in *install*|*add*|-S*) [ -z "$FAKE_EMPTY" ] && exec bring ;; esac; exit 0'
	done
	tool bring 'for p in cc pkg-config; do printf "#!/bin/sh\nexit 0\n" >"$BIN/$p"; chmod 755 "$BIN/$p"; done
printf "#!/bin/sh\necho meson \$* >>\"\$LOG\"\nfor d; do case \$d in */build) mkdir -p \$d/src/cli; touch \$d/build.ninja ;; esac; done\n" >"$BIN/meson"
printf "#!/bin/sh\necho ninja \$* >>\"\$LOG\"\nprintf \"#!/bin/sh\\\\necho agentbox \\\\\$*\\\\n\" >\$2/src/cli/agentbox; chmod 755 \$2/src/cli/agentbox\n" >"$BIN/ninja"
chmod 755 "$BIN/meson" "$BIN/ninja"'
}
tool() { # NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$top/bin/$1"
	chmod 755 "$top/bin/$1"
}
bootstrap() { # UID SUDO EMPTY ARGS...: rc, $top/out, $top/err, $top/log
	: >"$top/log"
	rc=0
	env -i PATH="$top/bin" BIN="$top/bin" LOG="$top/log" FAKE_UID="$1" FAKE_SUDO="$2" FAKE_EMPTY="$3" \
		sh "$top/clone/bootstrap" "${@:4}" >"$top/out" 2>"$top/err" </dev/null || rc=$?
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
for words in '' 'nonsense' 'build now' 'test now'; do
	# shellcheck disable=SC2086
	bootstrap 0 '' '' $words
	is "$rc:$(grep -c '^usage: ./bootstrap' "$top/err"):$(wc -l <"$top/log")" 1:3:0 "bootstrap $words: how it is used, and nothing else"
done
echo "1..$n"
exit $failed
