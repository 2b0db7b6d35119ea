#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hosts that cannot build a sandbox, made here (reference: KERNEL C6): each refuses the run, runs
# nothing, and is named by doctor in the same words. P62, P74, P75, P79; R037, R038, R072, R089.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

doctor() {
	"$AGENTBOX" doctor --state "$STATE" "$@"
}

base_profile
tree_of "$WS" >"$T/before"
expect_rc 0 "a host that works" doctor
like "$(cat "$T/out")" 'sandbox ready: yes' "in words"
unlike "$(cat "$T/out")" $'\033' "without colour"
expect_rc 0 "the same in JSON" doctor --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["policy_ready"] is None' "sandbox_ready"
json_is "$T/out" 'all(c["ok"] is not False for c in o["checks"] if c["required"])' "every check is ok"
json_is "$T/out" '{"version","kernel","identity","mechanisms","checks","uncovered"} <= set(o)' "its keys"
json_is "$T/out" '{c["name"] for c in o["checks"]} >= {"user_namespace","mount_namespace","pid_namespace","net_namespace","id_maps","propagation","root","proc","pivot","loopback","keyring","landlock"}' \
	"every part has a check"
json_is "$T/out" 'len(o["uncovered"]) > 3' "and it says what is not covered"
check_not "it makes no state" test -e "$STATE"
expect_rc 125 "arguments are refused" doctor now

# --- the two states
expect_rc 0 "with a profile" doctor -p "$P" --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["policy_ready"] is True' "both are ready"
json_is "$T/out" '[r["mode"] for r in o["effective"]["roots"]] == ["rw", "ro"] and o["effective"]["network"] == "none"' \
	"what it comes to"
good=$P
base_profile "netwrok: none"
expect_rc 125 "a profile that does not load" doctor -p "$P" --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["policy_ready"] is False' "is not the sandbox's fault"
json_is "$T/out" '[c["cause"] for c in o["checks"] if c["ok"] is False][0].endswith("(did you mean '"'network'"'?)")' \
	"and has its cause"
profile absent <<-YAML
	sandbox: {roots: ["$T/no-such"]}
	permissions: {agents: {me: allow}}
YAML
expect_rc 125 "a root that is absent" doctor -p "$P" --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["policy_ready"] is False' "the same"
profile nobody <<-YAML
	sandbox: {roots: []}
	permissions: {agents: {}}
YAML
expect_rc 125 "nobody is declared" doctor -p "$P" --json
# A kernel may lack what only some networks need.
json_is "$T/out" '[c["name"] for c in o["checks"] if c["ok"] is False and c["name"] != "any_port"] == ["agents"]' "the same"
base_profile 'env: {set: {SOME_TOKEN: zz-secret-zz}}'
expect_rc 0 "a profile with a secret" doctor -p "$P" --json
unlike "$(cat "$T/out")" 'zz-secret' "no value is printed"
like "$(cat "$T/out")" 'SOME_TOKEN' "the name is (control)"
base_profile 'env: {pass: [NEEDED_KEY, OTHER_KEY], required: [NEEDED_KEY, OTHER_KEY]}'
OTHER_KEY=zz-secret-zz expect_rc 125 "a variable that is required and not there" doctor -p "$P" --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["policy_ready"] is False' "is not the sandbox's fault"
unlike "$(cat "$T/out")" 'zz-secret' "no value is printed"
OTHER_KEY=x expect_rc 125 "a run is refused" ab -- true
cp "$T/err" "$T/said"
OTHER_KEY=x doctor -p "$P" --json >"$T/out"
cause=$(json_get "$T/out" '[c["cause"] for c in o["checks"] if c["ok"] is False and c["name"] == "env"][0]')
like "$cause" 'missing: NEEDED_KEY ' "it is named"
is "$(cat "$T/said")" "agentbox: $cause" "in the same words"
NEEDED_KEY=x OTHER_KEY=x expect_rc 0 "with both of them (control)" doctor -p "$P" --json
json_is "$T/out" 'o["policy_ready"] is True and [c["ok"] for c in o["checks"] if c["name"] == "env"] == [True]' "the profile works"
base_profile
tree_of "$WS" >"$T/after"
check "nothing in the workspace has changed" cmp "$T/before" "$T/after"

# --- hosts that cannot. The command would leave a mark.
P=$good
refused() { # NAME PATTERN WRAPPER...
	local name=$1 pattern=$2
	shift 2
	expect_rc 125 "$name: the run is refused" "$@" "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c "echo x >$WS/marker"
	cp "$T/err" "$T/said"
	check_not "$name: nothing ran" test -e "$WS/marker"
	expect_rc 125 "$name: doctor says no" "$@" "$AGENTBOX" doctor --json
	json_is "$T/out" 'o["sandbox_ready"] is False' "$name: sandbox_ready"
	json_is "$T/out" 'len([c for c in o["checks"] if c["required"] and c["ok"] is False]) == 1' \
		"$name: one check failed"
	local cause remedy
	cause=$(json_get "$T/out" '[c["cause"] for c in o["checks"] if c["required"] and c["ok"] is False][0]')
	remedy=$(json_get "$T/out" '[c["remedy"] for c in o["checks"] if c["required"] and c["ok"] is False][0]')
	like "$cause" "$pattern" "$name: the cause"
	is "$(grep -cF -- "($cause; $remedy)" "$T/said")" 1 "$name: the run said the same cause and remedy"
	"$@" "$AGENTBOX" doctor | grep -qF -- "$cause" && pass "$name: so does doctor in words" ||
		fail "$name: so does doctor in words"
}

# In the new namespace alone: it is that namespace's own limit.
# shellcheck disable=SC2016
refused "no user namespaces" 'user.max_user_namespaces is 0' \
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' -
# shellcheck disable=SC2016
refused "no net namespaces" 'user.max_net_namespaces is 0' \
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' -
refused "clone3: EPERM" 'seccomp filter .*Seccomp: 2' "$DENY" EPERM clone3 --
refused "clone3: ENOSYS" 'seccomp filter .*Seccomp: 2' "$DENY" ENOSYS clone3 --
refused "no mounts" 'seccomp filter .*Seccomp: 2' \
	"$DENY" EPERM mount mount_setattr open_tree fsopen fsmount move_mount pivot_root --
refused "mount_setattr: ENOSYS" 'seccomp filter .*Seccomp: 2' "$DENY" ENOSYS mount_setattr --
refused "pivot_root: EPERM" 'seccomp filter .*Seccomp: 2' "$DENY" EPERM pivot_root --
refused "openat2: ENOSYS" 'seccomp filter .*Seccomp: 2' "$DENY" ENOSYS openat2 --
refused "setsid: EPERM" 'seccomp filter .*Seccomp: 2' "$DENY" EPERM setsid --
expect_rc 0 "a filter that is not in the way (control)" "$DENY" EPERM fsopen -- true

# --- a resolver that makes up addresses ---
"$AGENTBOX" doctor --json >"$T/out" 2>/dev/null
json_is "$T/out" '[c["ok"] for c in o["checks"] if c["name"] == "resolver"] == [True]' "the resolver of this host is an ordinary one"
# shellcheck disable=SC2016
tun=(unshare -Urn sh -c 'ip link set lo up && ip addr add 198.18.0.1/30 dev lo && exec "$@"' -)
expect_rc 0 "with an interface of clash or sing-box a sandbox can be built" "${tun[@]}" "$AGENTBOX" doctor --json
json_is "$T/out" '[(c["ok"], c["required"]) for c in o["checks"] if c["name"] == "resolver"] == [(False, False)]' "but the resolver makes up addresses"
like "$(cat "$T/out")" '198.18.0.1 on lo; clash[^}]*private_ranges: \[198.18.0.0/15\]' "which is told, with the remedy"
echo 'sandbox: {network: {allow: [example.org], private_ranges: [198.18.0.0/15]}}
permissions: {agents: {me: allow}}' >"$T/tun.yaml"
"${tun[@]}" "$AGENTBOX" doctor --json -p "$T/tun.yaml" >"$T/out" 2>"$T/err"
json_is "$T/out" '[c["ok"] for c in o["checks"] if c["name"] == "resolver"] == [True]' "a profile that has it is told nothing"

# Root of a mount and a pid namespace of its own, as in a container. Root has the right already.
own=(unshare -mpf --mount-proc)
[ "$EUID:$CALLER" = 0:root ] || own=(unshare -Urmpf --mount-proc)
# shellcheck disable=SC2016
masked=("${own[@]}" sh -c 'mount -t tmpfs tmpfs /proc/fs || exit 99; "$@"' -)
refused "masked /proc" 'procfs.*masked' "${masked[@]}"
# shellcheck disable=SC2016
readonly=("${own[@]}" sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys || exit 99; "$@"' -)
refused "read-only /proc/sys" 'procfs.*masked or read-only' "${readonly[@]}"
expect_rc 0 "the same without a mask (control)" "${own[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- true

mkdir "$T/root"
# shellcheck disable=SC2016
refused "chroot" 'in a chroot' "${own[@]}" \
	sh -c 'mount --rbind / "$1" && mount -t proc proc "$1/proc" || exit 99; d=$1; shift; chroot "$d" "$@"' - "$T/root"

if [ "$CALLER" = root ]; then
	refused "root without capabilities" 'no capabilities' setpriv --bounding-set=-all --inh-caps=-all
fi

# --- what needs nothing of the host but the kernel: no PATH, no variable, another sandbox around
expect_rc 0 "without any environment" env -i "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c true
expect_rc 0 "with an empty PATH" env -i PATH= "$AGENTBOX" run --state "$STATE" -p "$P" -- sh -c true
if command -v bwrap >/dev/null && bwrap --unshare-user --dev-bind / / true 2>/dev/null; then
	expect_out in "inside a user namespace of bwrap's" bwrap --unshare-user --dev-bind / / \
		"$AGENTBOX" run --state "$STATE" -p "$P" -- echo in
else
	skip "inside a user namespace of bwrap's" "no bwrap that works here"
fi

# --- inside agentbox itself
cp "$AGENTBOX" "$T/bin/agentbox"
cat >"$WS/inner.sh" <<-'SH'
	mkdir /tmp/ws
	printf 'sandbox: {roots: [/tmp/ws]}\npermissions: {agents: {me: allow}}\n' >"$HOME/inner.yaml"
	"$1" run --state "$HOME/state" -p "$HOME/inner.yaml" -- sh -c 'echo x >/tmp/ws/marker'
	echo "rc=$?"
	test -e /tmp/ws/marker && echo marked
	"$1" doctor --json >/tmp/d.json
	echo "doctor=$?"
	cat /tmp/d.json
SH
ab -- sh ./inner.sh "$T/bin/agentbox" >"$T/out" 2>"$T/err"
like "$(cat "$T/out")" '^rc=125' "inside itself: refused"
unlike "$(cat "$T/out")" 'marked' "inside itself: nothing ran"
like "$(cat "$T/err")" 'inside of another agentbox' "inside itself: it says so"
like "$(cat "$T/out")" 'doctor=125' "inside itself: so does doctor"
sed -n 's/^{/{/p' "$T/out" >"$T/inner.json"
json_is "$T/inner.json" '[c["cause"] for c in o["checks"] if c["required"] and c["ok"] is False] and all("another agentbox" in c["cause"] for c in o["checks"] if c["required"] and c["ok"] is False)' \
	"inside itself: in the same words"
rm "$WS/inner.sh"

# --- degrade: [no_proc]
base_profile "degrade: [no_proc]"
cp "$LIVE/lib/mount-calls.py" "$T/bin/"
expect_rc 0 "degrade is for where it is needed" ab --json -- test -e /proc/self
json_is "$T/out" 'o["mechanisms"]["proc"] == "own"' "else /proc is the sandbox's own"
degraded() {
	"${masked[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" "$@"
}
expect_rc 0 "masked /proc, degraded: it runs" degraded --json -- sh -c 'echo x >marker; cat /proc/self/comm'
json_is "$T/out" 'o["mechanisms"]["proc"] == "outer" and o["output"] == "cat\n"' "and says so in the result"
json_is "$T/out" 'o["mechanisms"]["nested_userns"] == "seccomp"' "the filter alone stops user namespaces"
like "$(cat "$T/err")" 'degraded \(no_proc\)' "and on stderr"
degraded_tool() {
	"${masked[@]}" "$AGENTBOX" tool -q --state "$STATE" -p "$P" "$@"
}
expect_rc 0 "a file tool writes there too" degraded_tool write "$WS/by-tool" <<<one
expect_rc 0 "and over what it wrote" degraded_tool write "$WS/by-tool" <<<two
expect_out two "which it reads" degraded_tool read "$WS/by-tool"
expect_rc 0 "and the base" degraded_tool read /etc/passwd
check "the command ran" test -e marker
rm -f marker
like "$(cat "$STATE/audit.jsonl")" '"proc":"outer"' "and it is in the audit log"
probe_yn EPERM "degraded: a user namespace" degraded -- sh -c 'unshare -U true 2>&1 | grep -q "not permitted" && echo EPERM || echo ok'
expect_rc 0 "outside it is no error (control)" unshare -U true
expect_rc 0 "doctor agrees" "${masked[@]}" "$AGENTBOX" doctor --state "$STATE" -p "$P" --json
json_is "$T/out" 'o["sandbox_ready"] is True and o["mechanisms"]["proc"] == "outer"' "in the same words"
probe_yn EROFS "degraded: /proc is read-only" degraded -- "$PROBE" write /proc/self/comm x
probe_yn Y "degraded: it can be read (control)" degraded -- "$PROBE" read /proc/self/comm
probe_yn N "degraded: sysctls" degraded -- "$PROBE" sysctl /proc/sys/net/ipv4/ip_forward
probe_yn N "degraded: a remount" degraded -- "$PROBE" mount-remount /proc
probe_yn N "degraded: an unmount" degraded -- "$PROBE" umount /proc/fs
expect_rc 0 "degraded: the host's mask is still there" degraded -- sh -c 'test -z "$(ls /proc/fs)"'
# A process of the same user outside, in the same /proc.
# shellcheck disable=SC2016
beside=("${own[@]}" sh -c 'mount -t tmpfs tmpfs /proc/fs || exit 99
	SECRET=zz-secret sleep 600 & until grep -qa zz-secret /proc/$!/environ; do sleep 0.05; done
	"$@"; rc=$?; kill $!; exit $rc' -)
expect_rc 0 "outside, its environment can be read (control)" "${beside[@]}" \
	sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | grep -qa zz-secret'
expect_rc 1 "degraded: not by a program inside" "${beside[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- \
	sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | grep -qa zz-secret'
expect_rc 1 "degraded: nor its root directory" "${beside[@]}" "$AGENTBOX" run --state "$STATE" -p "$P" -- \
	sh -c 'for r in /proc/[0-9]*/root; do ls "$r/home" >/dev/null 2>&1 && [ "$(readlink "$r")" != / ] && exit 0; ls "$r$HOME/../../root" >/dev/null 2>&1 && exit 0; done; exit 1'
# Programs, where a part of /proc is read-only, as Docker makes it. A debugger finds no process there by
# the number that it has inside: it sets no breakpoints, as the man page says.
cat >"$T/bin/programs.sh" <<'SH'
t() { echo "== $1"; shift; "$@" 2>&1; echo "status $?"; }
rm -rf work && mkdir work && cd work || exit 1
cat >h.c <<'C'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int f(int x) { return x + 41; }
int main(void)
{
	int s = 0;
	if (fork() == 0)
		_exit(3);
	wait(&s);
	printf("%d\n", f(WEXITSTATUS(s)));
	return 0;
}
C
t bash bash -c 'cat <(echo a) <<<here; coproc cat; echo co >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"'
t coreutils sh -c 'seq 1 50000 | sort -R | sort -n -S 64K | tail -n 1; ls /dev/fd/0; echo x | cat /dev/stdin; mktemp -d >/dev/null && nproc'
t gcc gcc -g -o h h.c
t program ./h
t git sh -c 'export GIT_CONFIG_GLOBAL=$PWD/g GIT_CONFIG_NOSYSTEM=1; git config --global user.name t
	git config --global user.email t@example.org; git init -q r && echo a >r/a && git -C r add a &&
	git -C r commit -qm first && git clone -q r s && git -C s log --format=%s && git -C s gc -q'
t python python3 -c 'import multiprocessing as m, subprocess
print(subprocess.run(["true"]).returncode)
with m.get_context("forkserver").Pool(2) as p: print(sum(p.map(abs, range(10))))'
t strace sh -c 'strace -f -o trace -e trace=wait4 ./h && grep -c exited trace'
t gdb sh -c 'gdb -nx -batch -ex "file ./h" -ex "print f" -ex "info line f" | sed "s/0x[0-9a-f]*/ADDRESS/g"'
SH
break="gdb -nx -batch -ex 'break f' -ex run -ex bt -ex kill work/h 2>&1"
missing=
for p in gcc git python3 strace gdb; do command -v $p >/dev/null || missing="$missing $p"; done
degraded_readonly() {
	"${readonly[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" "$@"
}
if [ -n "$missing" ]; then
	skip "programs, degraded" "no$missing"
elif [ "$CALLER" != nested ]; then
	want=$("${own[@]}" bash "$T/bin/programs.sh" 2>&1)
	is "$(grep -c '^status 0$' <<<"$want")" 8 "programs outside (control)"
	like "$("${own[@]}" sh -c "$break")" 'f \(x=3\)' "a breakpoint outside (control)"
	is "$(degraded_readonly -- bash "$T/bin/programs.sh" 2>&1)" "$want" "read-only /proc/sys, degraded: programs as outside"
	like "$(degraded_readonly -- sh -c "$break")" 'Cannot insert breakpoint' "read-only /proc/sys, degraded: no breakpoint is set"
	rm -rf "$WS/work"
fi
for how in masked read-only; do
	[ $how = masked ] && wrapper=("${masked[@]}") || wrapper=("${readonly[@]}")
	out=$("${wrapper[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- "$PYTHON" -I "$T/bin/mount-calls.py" 2>&1)
	is "$(grep -cE ' (EPERM|ENOSYS)$' <<<"$out"; grep -vE ' (EPERM|ENOSYS)$' <<<"$out")" 15 \
		"$how /proc, degraded: none of the calls about mounts and namespaces"
	for request in 0x5412 0x100005412; do
		probe_yn EPERM "$how /proc, degraded: TIOCSTI as $request" \
			"${wrapper[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" -- "$PROBE" call ioctl -1 $request 0
	done
done
out=$(unshare -rm "$PYTHON" -I "$T/bin/mount-calls.py" 2>&1)
is "$(grep -cvE ' (EPERM|ENOSYS)$' <<<"$out"; grep -E ' (EPERM|ENOSYS)$' <<<"$out")" 15 "each of them outside, with rights (control)"
outside EBADF "TIOCSTI (control)" call ioctl -1 0x5412 0
expect_rc 0 "read-only /proc/sys, degraded: it runs" degraded_readonly --json -- cat /proc/self/comm
json_is "$T/out" 'o["mechanisms"]["proc"] == "outer" and o["output"] == "cat\n"' "and says so in the result"
probe_yn EROFS "read-only /proc/sys, degraded: /proc is read-only" degraded_readonly -- "$PROBE" write /proc/self/comm x
probe_yn N "read-only /proc/sys, degraded: sysctls" degraded_readonly -- "$PROBE" sysctl /proc/sys/net/ipv4/ip_forward
probe_yn N "read-only /proc/sys, degraded: a remount" degraded_readonly -- "$PROBE" mount-remount /proc
expect_rc 125 "any other refusal of a proc is none to degrade for" \
	"$DENY" ENOSYS fsmount -- "$AGENTBOX" run --state "$STATE" -p "$P" -- true

# --- groups that cannot be left
if [ "$CALLER" = root ]; then
	gid=$(getent group disk | cut -d: -f3)
	setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --groups "${gid:-6}" "$AGENTBOX" doctor --json >"$T/out" 2>"$T/err"
	json_is "$T/out" '[g for g in o["identity"]["groups"] if g["opens"]]' "doctor tells a dangerous group"
	setpriv --reuid "$LIVE_UID" --regid "$LIVE_UID" --clear-groups "$AGENTBOX" doctor --json >"$T/out" 2>"$T/err"
	json_is "$T/out" 'not o["identity"]["groups"]' "and none where there is none (control)"
	expect_rc 0 "root's own are dropped" doctor --json
	json_is "$T/out" 'o["identity"]["kind"] == "mapped" and not o["identity"]["groups"]' "and not told"
fi
no_sandbox_left "no process of a sandbox is left"
done_testing
