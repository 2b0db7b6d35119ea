# SPDX-License-Identifier: LGPL-2.1-or-later
# lib.sh - what every live test starts with. Needs AGENTBOX and PROBE (the built programs).
#
#	. "$(dirname "$0")/lib.sh" || exit 1
#	as_callers [root] [user] [nested]	# default: all three
#	...body, run once for each caller that this machine can give...
#	done_testing
#
# root: only when the suite runs as root. user: a free uid, by setpriv, or the caller itself.
# nested: that user inside `unshare -r`. The body finds: T (its own directory), WS (the writable
# root), PROBE (as seen inside and outside), STATE (does not exist yet), P (a profile: WS rw, the
# probe's folder ro, one agent with everything), CALLER.
#
# A test that needs more than is there defines live_setup SOURCE before as_callers: it runs once, as
# the suite's own user, and may put things into $LIVE. When that makes $LIVE/walls.sh, each body has
# a network namespace of its own too, and the file is read by root in it; only root's suite has that.
#
# When root runs the suite, each body has mount, pid, ipc and uts namespaces of its own, in which
# /tmp, /dev/shm and /run are fresh and the root file system is read-only but for its own directory:
# whatever is left over is this test's, and a program under test that isolates nothing harms little.
set -u
umask 022
# How long something is waited for that must come: far more than any machine needs, so that only a
# fault reaches it. What must not be waited for takes longer than this by itself. AGENTBOX_SLOWER is for
# a processor that is not real: the ceiling of one wait is so many times as high, and that of a whole body,
# in which many things happen, so many times again.
EVER=$((60 * ${AGENTBOX_SLOWER:-1}))
EVER_MS=$((1000 * EVER))
# What a host that goes on as before does in far less time.
SOON_MS=$((10000 * ${AGENTBOX_SLOWER:-1}))
export LC_ALL=C.UTF-8

diag() {
	sed 's/^/#   /' | head -n "${1:-30}" | LC_ALL=C tr -d '\000-\010\013-\037'
}

pass() {
	echo "ok - $1"
}

fail() {
	echo "not ok - $1"
	LIVE_FAILED=$((LIVE_FAILED + 1))
}

# A skip names its reason; AGENTBOX_MUST_WORK=1 makes it a failure.
skip() {
	if [ "${AGENTBOX_MUST_WORK:-}" = 1 ]; then
		fail "$1 (must work, but: $2)"
	else
		echo "ok - $1 # SKIP $2"
	fi
}

# What the suite of an ordinary user cannot have is no failure of it; of root's it is one.
skip_without_root() { # DESCRIPTION REASON
	if [ "$CALLER" != root ] && [ -O "$LIVE" ]; then
		echo "ok - $1 # SKIP $2"
	else
		skip "$1" "$2"
	fi
}

# Whether this kernel gives the files of a tmpfs other owners in a sandbox, which root's needs: Linux 6.3.
tmpfs_maps_ids() {
	[ "$(printf '%s\n' 6.3 "$(uname -r | cut -d- -f1)" | sort -V | head -n 1)" = 6.3 ]
}

# A case that this caller cannot have by its nature (root's only, say) is no skip.
note() {
	echo "# $1"
}

is() { # GOT WANT DESCRIPTION
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		printf 'got  %s\nwant %s\n' "$1" "$2" | diag
	fi
}

like() { # TEXT ERE DESCRIPTION
	if [[ $1 =~ $2 ]]; then
		pass "$3"
	else
		fail "$3"
		printf 'got     %s\npattern %s\n' "$1" "$2" | diag
	fi
}

unlike() { # TEXT ERE DESCRIPTION
	if [[ $1 =~ $2 ]]; then
		fail "$3"
		printf 'got     %s\npattern %s\n' "$1" "$2" | diag
	else
		pass "$3"
	fi
}

check() { # DESCRIPTION CMD...
	local desc=$1
	shift
	if "$@" >"$T/out" 2>"$T/err"; then
		pass "$desc"
	else
		fail "$desc"
		cat "$T/out" "$T/err" | diag
	fi
}

check_not() { # DESCRIPTION CMD...
	local desc=$1
	shift
	if "$@" >"$T/out" 2>"$T/err"; then
		fail "$desc"
		cat "$T/out" "$T/err" | diag
	else
		pass "$desc"
	fi
}

# expect_rc leaves stdout in $T/out and stderr in $T/err. A status list is separated by "|".
expect_rc() { # STATUS DESCRIPTION CMD...
	local want=$1 desc=$2 rc=0
	shift 2
	"$@" >"$T/out" 2>"$T/err" || rc=$?
	if [[ "|$want|" == *"|$rc|"* ]]; then
		pass "$desc"
	else
		fail "$desc"
		{
			echo "status $rc, want $want"
			cat "$T/out" "$T/err"
		} | diag
	fi
}

expect_out() { # TEXT DESCRIPTION CMD...
	local want=$1 desc=$2 got rc=0
	shift 2
	got=$("$@" 2>"$T/err") || rc=$?
	if [ "$rc" = 0 ] && [ "$got" = "$want" ]; then
		pass "$desc"
	else
		fail "$desc"
		{
			printf 'status %s\ngot  %s\nwant %s\n' "$rc" "$got" "$want"
			cat "$T/err"
		} | diag
	fi
}

# The one function that asks for an act: Y must be `ok`, N must be the name of an errno, and
# anything else (the sandbox did not start, the probe did not run) fails either way.
probe_yn() { # Y|N|ERRNO DESCRIPTION CMD...
	local want=$1 desc=$2 out word got
	shift 2
	out=$("$@" 2>"$T/err" </dev/null | tr -d '\0')
	word=${out%%[[:space:]]*}
	case $word in
	ok) got=Y ;;
	E[A-Z]*) got=N ;;
	*) got='?' ;;
	esac
	PROBE_OUT=$out
	if [ "$got" = "$want" ] || [ "$word" = "$want" ]; then
		pass "$desc"
	else
		fail "$desc"
		{
			printf 'want %s, got: %s\n' "$want" "$out"
			cat "$T/err"
		} | diag
	fi
}

inside() { # Y|N|ERRNO DESCRIPTION ACT...: with $P and ABOPT
	local want=$1 desc=$2
	shift 2
	probe_yn "$want" "inside: $desc" ab "${ABOPT[@]}" -- "$PROBE" "$@"
}

outside() { # Y|N|ERRNO DESCRIPTION ACT...
	local want=$1 desc=$2
	shift 2
	probe_yn "$want" "outside: $desc" "$PROBE" "$@"
}

ab() {
	"$AGENTBOX" run --state "$STATE" -p "$P" "$@"
}

# In the background; $sup is agentbox itself (of a function call, $! is a shell).
ab_start() {
	"$AGENTBOX" run --state "$STATE" -p "$P" "$@" &
	sup=$!
}

# The text of a profile on stdin becomes $T/NAME.yaml, and P.
profile() { # NAME
	P=$T/$1.yaml
	cat >"$P"
}

base_profile() { # [LINES OF THE SANDBOX BLOCK]
	profile base <<-YAML
		version: 1
		sandbox:
		  roots:
		    - {path: "$WS", mode: rw}
		    - {path: "$T/bin", mode: ro}
		${1:+$(sed 's/^/  /' <<<"$1")}
		permissions:
		  agents: {me: allow}
	YAML
}

py() {
	"$PYTHON" -I "$@"
}

# json_is FILE EXPRESSION DESCRIPTION: a Python expression over `o`, the one object in the file.
json_is() {
	local out
	if out=$(py - "$1" "$2" 2>&1 <<'PY'
import base64, json, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
o = json.loads(text)
if not eval(sys.argv[2]):
    print("false:", sys.argv[2])
    print(text[:2000])
    sys.exit(1)
PY
	); then
		pass "$3"
	else
		fail "$3"
		tail -n 12 <<<"$out" | diag
	fi
}

json_get() { # FILE EXPRESSION
	py -c 'import json, sys
o = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2" 2>/dev/null
}

# init's name and our uid, and its parent is no supervisor of another test: an orphan, or ours.
is_own_init() { # PID
	local parent
	[ "$EUID" != 0 ] && [ -O "/proc/$1/comm" ] &&
		[ "$(cat "/proc/$1/comm" 2>/dev/null)" = agentbox ] || return 1
	parent=$(awk '/^PPid:/ { print $2 }' "/proc/$1/status" 2>/dev/null) || return 1
	[ "$(cat "/proc/$parent/comm" 2>/dev/null)" != agentbox ] ||
		tr '\0' ' ' 2>/dev/null <"/proc/$parent/cmdline" | grep -qF "$T"
}

# Processes of a sandbox of this test: in a pid namespace below ours, and with a mount of this
# test, its directory in their command line, or init. In a private pid namespace there is no other.
sandbox_pids() {
	local own st pid ns
	own=$(awk '/^NSpid:/ { print NF }' /proc/self/status)
	for st in /proc/[0-9]*/status; do
		pid=${st#/proc/}
		pid=${pid%/status}
		ns=$(awk '/^NSpid:/ { print NF }' "$st" 2>/dev/null) || continue
		[ "${ns:-0}" -gt "$own" ] || continue
		if [ "${LIVE_IS_PRIVATE:-0}" = 1 ] || grep -qF "$T" "/proc/$pid/mountinfo" 2>/dev/null ||
			tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$T" || is_own_init "$pid"; then
			echo "$pid"
		fi
	done
}

no_sandbox_left() { # DESCRIPTION: the kernel takes its time to end them
	local i left until=$((SECONDS + EVER))
	while :; do
		left=$(sandbox_pids)
		[ -n "$left" ] && [ "$SECONDS" -lt "$until" ] || break
		sleep 0.1
	done
	is "$left" "" "$1"
	[ -z "$left" ] || for i in $left; do
		echo "$i $(tr '\0' ' ' <"/proc/$i/cmdline") $(grep -E '^(State|Uid|PPid)' "/proc/$i/status" | tr '\n' ' ')"
	done | diag
}

# The host's pid of the command that has TOKEN as its last argument, waited for.
host_pid() { # TOKEN
	local st pid own until=$((SECONDS + EVER))
	own=$(awk '/^NSpid:/ { print NF }' /proc/self/status)
	while [ "$SECONDS" -lt "$until" ]; do
		for st in /proc/[0-9]*/status; do
			pid=${st#/proc/}
			pid=${pid%/status}
			if tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | tail -n 1 | grep -qxF "$1" &&
				[ "$(awk '/^Name:/ { print $2 }' "$st" 2>/dev/null)" != agentbox ] &&
				[ "$(awk '/^NSpid:/ { print NF }' "$st" 2>/dev/null)" -gt "$own" ]; then
				echo "$pid"
				return 0
			fi
		done
		sleep 0.1
	done
	return 1
}

wait_for() { # CMD...: until it succeeds
	local until=$((SECONDS + EVER))
	type -t "$1" >/dev/null || { fail "wait_for: $1 is no command" && return 1; }
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.05
	done
}

# Programs of the host are started while CMD runs: the slowest took $slowest ms. CMD's status is $rc.
beside() { # CMD...
	local from took
	"$@" &
	rc=0 slowest=0
	while :; do
		from=$(now_ms)
		/bin/true
		took=$(($(now_ms) - from))
		[ "$took" -le "$slowest" ] || slowest=$took
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	wait $! || rc=$?
}

soon_beside() { # DESCRIPTION
	is "$((slowest < SOON_MS ? 0 : slowest))" 0 "programs of the host start beside it: $1"
}

now_ms() {
	local t=${EPOCHREALTIME/./}
	echo $((t / 1000))
}

# What the workspace holds: names, types, modes, owners, contents.
tree_of() { # DIR
	(cd "$1" && find . -printf '%p %y %m %U:%G %l\n' | sort && find . -type f -print0 | sort -z |
		xargs -0r sha256sum)
}

done_testing() {
	echo "# done"
	[ "$LIVE_FAILED" = 0 ]
	exit
}

# --- the driver -------------------------------------------------------------------------------

live_body() {
	CALLER=$LIVE_CALLER
	T=$LIVE/$CALLER
	WS=$T/ws
	STATE=$T/state
	PROBE=$T/bin/probe
	AGENTBOX=$LIVE/agentbox
	ABOPT=()
	LIVE_FAILED=0
	PROBE_OUT=
	trap 'exit 1' TERM
	base_profile
	cd "$WS" || exit 1
}

live_free_uid() {
	local id=$((20000 + RANDOM % 20000))
	while getent passwd "$id" >/dev/null; do
		id=$((id + 1))
	done
	echo "$id"
}

live_prepare() { # CALLER
	local d=$LIVE/$1 own=$EUID
	mkdir "$d" "$d/bin" "$d/ws" "$d/home"
	cp "$PROBE" "$d/bin/probe"
	[ "$EUID" = 0 ] && [ "$1" != root ] && own=$LIVE_UID
	[ "$own" = "$EUID" ] || chown -R "$own:$own" "$d"
}

# shellcheck disable=SC2016 # for the shell inside
LIVE_WALLS='for d in /tmp /dev/shm /run; do mount -t tmpfs -o mode=1777 tmpfs "$d"; done &&
mount --bind "$LIVE" "$LIVE" && mount -o remount,bind,ro / || exit 99
if [ -f "$LIVE/walls.sh" ]; then . "$LIVE/walls.sh" || exit 99; fi
# No exec: this shell is pid 1 there and collects the orphans.
"$@"
exit $?'

live_run() { # CALLER
	local as=() wrap=() private=0 net=
	case $1:$EUID in
	user:0) as=(setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups) ;;
	nested:0) as=(setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups unshare -r) ;;
	nested:*) as=(unshare -r) ;;
	esac
	[ -f "$LIVE/walls.sh" ] && net=n
	if [ "$EUID" = 0 ] && unshare "-mpiuf$net" --mount-proc true 2>/dev/null; then
		private=1
		wrap=(unshare "-mpiuf$net" --mount-proc --propagation private --kill-child bash -c "$LIVE_WALLS" --)
	fi
	"${wrap[@]}" "${as[@]}" env -i --default-signal \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$LIVE/$1/home" \
		TERM=dumb LIVE_CALLER="$1" LIVE="$LIVE" LIVE_IS_PRIVATE=$private PYTHON="$PYTHON" \
		LIVE_UID="$LIVE_UID" INJECT="${INJECT:+$LIVE/inject}" DENY="${DENY:+$LIVE/deny-syscall}" \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}" \
		AGENTBOX_MUST_WORK="${AGENTBOX_MUST_WORK:-}" AGENTBOX_SLOWER="${AGENTBOX_SLOWER:-1}" \
		timeout -k 5 $((${LIVE_TIMEOUT:-600} * ${AGENTBOX_SLOWER:-1} ** 2)) bash "$LIVE/lib/${0##*/}" </dev/null 2>&1
}

live_can() { # CALLER
	case $1 in
	root) [ "$EUID" = 0 ] ;;
	user) true ;;
	nested)
		if [ "$EUID" = 0 ]; then
			setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups unshare -r true
		else
			unshare -r true
		fi 2>/dev/null
		;;
	esac
}

live_left() { # CALLER
	grep -lsxzF "LIVE=$LIVE" /proc/[0-9]*/environ | xargs -r grep -lsxzF "LIVE_CALLER=$1" | cut -d/ -f3
}
live_none_left() {
	[ -z "$(live_left "$1")" ]
}

live_all() {
	local c rc must=${AGENTBOX_MUST_WORK:-}
	for c in "$@"; do
		if ! live_can "$c"; then
			if [ "$must" = 1 ] && ! { [ "$c" = root ] && [ "$EUID" != 0 ]; }; then
				echo "not ok - $c: cannot be had here"
			else
				echo "ok - $c: all # SKIP this caller cannot be had here"
			fi
			continue
		fi
		live_prepare "$c"
		rc=0
		live_run "$c" >"$LIVE/out" || rc=$?
		sed -e "s/^ok - /ok - $c: /;s/^not ok - /not ok - $c: /;/^# done$/d" "$LIVE/out"
		grep -qx '# done' "$LIVE/out" ||
			echo "not ok - $c: the test ended early, with status $rc"
		# Root's have a pid namespace that ends them. `f &` of a function is a shell with a child.
		[ "$EUID" = 0 ] || wait_for live_none_left "$c" || {
			echo "not ok - $c: processes of the test are left"
			live_left "$c" | xargs -r ps -o pid,args -p | diag
		}
	done
}

as_callers() {
	[ -n "${LIVE_CALLER:-}" ] && { live_body; return; }
	: "${AGENTBOX:?the built program}" "${PROBE:?the built probe}"
	local here
	here=$(cd "$(dirname "$0")" && pwd)
	PYTHON=
	for c in /usr/bin/python3 "$(command -v python3)"; do
		[ -x "$c" ] && [ -z "$PYTHON" ] && PYTHON=$c
	done
	LIVE_UID=$EUID
	[ "$EUID" = 0 ] && LIVE_UID=$(live_free_uid)
	export LIVE
	LIVE=$(mktemp -d /var/tmp/agentbox-live.XXXXXX)
	trap 'rm -rf --one-file-system "$LIVE"' EXIT
	trap 'exit 1' INT TERM HUP
	chmod 755 "$LIVE"
	mkdir "$LIVE/lib"
	install -m 755 "$AGENTBOX" "$LIVE/agentbox"
	[ -z "${INJECT:-}" ] || install -m 755 "$INJECT" "$LIVE/inject"
	[ -z "${DENY:-}" ] || install -m 755 "$DENY" "$LIVE/deny-syscall"
	cp "$here"/*.sh "$here"/*.py "$LIVE/lib/" 2>/dev/null
	cp -r "$here/../profiles" "$LIVE/profiles"
	cp -r "$here/../../profiles" "$LIVE/shipped"
	if declare -F live_setup >/dev/null; then live_setup "$here/../.."; fi
	[ $# -gt 0 ] || set -- root user nested
	live_all "$@" | awk '
		/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - "); if (/^not/) bad++ }
		!/^(ok|not ok|#)/ { sub(/^/, "# ") }
		{ print; fflush() }
		END { print "1.." n + 0; exit bad > 0 || n == 0 }'
	exit
}
