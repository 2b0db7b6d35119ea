#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What holds for every caller: the same result as root, as a user and in a user namespace.
# R044-R046, R052, R056, R057; DESIGN 6.2, 6.3, 6.8, 8.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

# --- the thread itself
expect_out "hello" "a command runs and its output arrives" ab -- echo hello
echo before >edit.txt
expect_rc 0 "a shell edits a real tree" ab -- sh -c 'sed -i s/before/after/ edit.txt && mkdir d && echo n >d/new'
is "$(cat edit.txt)" after "the edit landed on the host"
is "$(stat -c %u:%g d/new)" "$(stat -c %u:%g "$WS")" "what it made has the owner of the workspace"
is "$(stat -c %a d/new)" 644 "with the plain mode of umask 022"
check "the host removes what the sandbox made" rm -r d

# --- identity
base_profile
ab -- "$PROBE" ids >"$T/ids" 2>&1
like "$(cat "$T/ids")" '^ok uid=[1-9][0-9]* euid=[1-9]' "inside, the uid is not 0"
ab_start -- "$PROBE" sleep 600 "tok-$$-$CALLER"
pid=$(host_pid "tok-$$-$CALLER")
if [ -n "$pid" ]; then
	uids=$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$pid/status")
	if [ "$CALLER" = root ]; then
		unlike " $uids " ' 0 ' "outside, none of its uids is root's"
		is "$(awk '/^Gid:/ { print ($2 == 0 || $3 == 0 || $4 == 0) }' "/proc/$pid/status")" 0 \
			"outside, none of its gids is root's"
	else
		is "$uids" "$EUID $EUID $EUID $EUID" "outside, its uids are the caller's"
	fi
	is "$(awk '/^Groups:/ { print NF - 1 }' "/proc/$pid/status")" \
		"$([ "$CALLER" = root ] && echo 0 || awk '/^Groups:/ { print NF - 1 }' /proc/self/status)" \
		"outside, its supplementary groups are none for root, else the caller's"
	is "$(awk '/^NoNewPrivs:/ { print $2 }' "/proc/$pid/status")" 1 "outside, no_new_privs is seen"
	is "$(grep -c '^Cap\(Inh\|Prm\|Eff\|Bnd\|Amb\):.*[1-9a-f]' "/proc/$pid/status")" 0 \
		"outside, its capability sets are seen empty"
	init=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status")
	is "$(grep -c '^Cap\(Inh\|Prm\|Eff\|Bnd\|Amb\):.*[1-9a-f]' "/proc/$init/status")" 0 \
		"init has no capability either"
	is "$(awk '/^NoNewPrivs:/ { print $2 }' "/proc/$init/status")" 1 "init has no_new_privs"
	[ "$CALLER" != root ] ||
		unlike " $(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$init/status") " ' 0 ' \
			"init is not root outside"
else
	fail "the running command is found on the host"
fi
kill "$sup" 2>/dev/null
wait "$sup" 2>/dev/null

if [ "$CALLER" = root ]; then
	# A workspace of somebody else: files get that owner, whoever started agentbox.
	mkdir "$T/other"
	chown 31234:31235 "$T/other"
	profile other <<-YAML
		sandbox: {roots: [{path: "$T/other", mode: rw}, {path: "$T/bin", mode: ro}]}
		permissions: {agents: {me: allow}}
	YAML
	expect_rc 0 "a root caller works in a user's tree" ab -- sh -c "echo x >$T/other/f"
	is "$(stat -c %u:%g "$T/other/f")" 31234:31235 "and what it writes there belongs to that user"
	base_profile
fi

# --- privileges
expect_rc 1 "no capability in any set, bounding and ambient too" ab -- grep -qE '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status
expect_rc 0 "of which there are five (control)" ab -- sh -c 'test "$(grep -cE "^Cap(Inh|Prm|Eff|Bnd|Amb):.0{16}$" /proc/self/status)" = 5'
expect_out "ok NoNewPrivs=1" "no_new_privs is set" ab -- "$PROBE" status NoNewPrivs
inside N "setuid 0" setuid 0
inside N "mount a tmpfs" mount-tmpfs /tmp
inside N "remount the base for writing" mount-remount /usr
inside N "unmount the workspace" umount "$WS"
inside N "setgroups" setgroups0
# The same by who may, outside: in namespaces of its own.
if [ "$CALLER" != user ]; then
	probe_yn Y "outside: mount a tmpfs (control)" unshare -m "$PROBE" mount-tmpfs /tmp
	outside Y "setuid 0 (control)" setuid 0
fi
[ "$CALLER" != root ] || outside Y "setgroups (control)" setgroups0
outside Y "chmod without set-id bits (control)" chmod "$WS/edit.txt" 755
inside Y "chmod without set-id bits" chmod "$WS/edit.txt" 755
expect_rc 0 "chmod 4755 is tried" ab -- sh -c 'cp /bin/true suid && chmod 4755 suid; true'
[ "$CALLER" != root ] ||
	unlike "$(stat -c %u:%a suid)" '^0:[4-7][0-7][0-7][0-7]$' "no set-uid file of root's comes out of a sandbox"
rm -f suid

# --- the view
inside Y "write in the workspace" write "$WS/f" x
inside EROFS "write in the base" write /usr/f x
inside EROFS "write in the read-only root" write "$T/bin/f" x
inside EROFS "write at the top" write /f x
inside Y "read the base" read /etc/passwd
inside Y "write in the scratch" write /tmp/f x
echo s >"$T/secret"
outside Y "the same file (control)" read "$T/secret"
inside ENOENT "the host's file outside of the roots does not exist" exists "$T/secret"
inside ENOENT "the caller's home" exists "$HOME"
outside Y "the caller's home (control)" exists "$HOME"
inside ENOENT "the state directory" exists "$STATE"
inside ENOENT "the profile" exists "$P"
outside Y "the profile (control)" read "$P"
inside ENOENT "/root" exists /root
outside Y "/root (control)" exists /root
expect_out 1 "the home inside is the agent's" ab -- sh -c 'test "$HOME" = /home/agent && test -w "$HOME" && echo 1'
expect_rc 0 "an /etc that works" ab -- sh -c 'getent passwd "$(id -u)" && id -un && getent hosts localhost && test -r /etc/nsswitch.conf'
expect_out agent "the user has a name" ab -- id -un
expect_rc 0 "/dev has what programs need" ab -- bash -c \
	'echo x >/dev/null && head -c 8 /dev/zero >/dev/full; head -c 4 /dev/urandom | wc -c | grep -qx 4 && cat <(echo a) >/dev/null && echo x >/dev/stderr && test "$(stat -c %a /dev/shm)" = 1777'
inside Y "/dev/null (control)" exists /dev/null
disk=$(find /dev -xdev -type b -print -quit 2>/dev/null)
for dev in "${disk:-/dev/vda}" /dev/mem /dev/kmsg; do
	inside N "$dev" exists "$dev"
	if [ -e "$dev" ]; then
		outside Y "$dev (control)" exists "$dev"
	else
		note "$dev is not on this host"
	fi
done

# --- namespaces
for n in user mnt pid net ipc uts cgroup; do
	own=$(readlink /proc/self/ns/$n)
	other=$(ab -- readlink /proc/self/ns/$n 2>/dev/null)
	like "$other" "^$n:\[[0-9]+\]\$" "the $n namespace can be read inside"
	is "$([ "$own" != "$other" ] && echo differs)" differs "the $n namespace is another one"
done
expect_out agentbox "the host name is the sandbox's" ab -- uname -n
base_profile "hostname: other"
expect_out other "the profile names the host" ab -- uname -n
base_profile
out=$(ab -- "$PROBE" session 2>"$T/err")
like "$out" '^ok pid=([0-9]+) .*tty=no' "no terminal is behind the command"
like "$out" 'sid=[1-9]' "the command's session is one of the sandbox"
like "$out" 'pid=([2-9]|[1-9][0-9]) ppid=1 ' "the command is a child of pid 1"

# --- exit statuses
expect_rc 0 "true" ab -- true
expect_rc 3 "a status is passed on" ab -- sh -c 'exit 3'
expect_rc 255 "255 too" ab -- sh -c 'exit 255'
expect_rc 125 "a command's own 125 too" ab -- sh -c 'exit 125'
expect_rc 137 "KILL is 128+9" ab -- sh -c 'kill -9 $$'
expect_rc 143 "TERM is 128+15" ab -- sh -c 'kill -TERM $$'
expect_rc 139 "SEGV is 128+11" ab -- "$PROBE" signal 11
expect_rc 127 "not found in PATH" ab -- no-such-program
expect_rc 127 "not found by path" ab -- "$WS/no-such-program"
echo text >plain
expect_rc 126 "found but not executable" ab -- "$WS/plain"
expect_rc 126 "a directory is not executable" ab -- "$WS"
printf '#!/no/such/interpreter\n' >script
chmod 755 script
expect_rc '126|127' "a script whose interpreter is missing" ab -- "$WS/script"
expect_rc 121 "--workdir outside of the sandbox" ab --workdir "$T/home" -- true
expect_rc 0 "--workdir inside (control)" ab --workdir /tmp -- true
expect_rc '121|127' "a program that only the host has" ab -- "$T/../agentbox" --help
expect_rc 124 "a timeout" ab --timeout 200ms -- sleep 300
expect_rc 125 "no command" ab
expect_rc 125 "an unknown option" ab --no-such-option -- true
expect_rc 125 "no profile" "$AGENTBOX" run --state "$STATE" -- true
expect_rc 125 "a profile that is not there" "$AGENTBOX" run --state "$STATE" -p "$T/none.yaml" -- true
expect_rc 120 "an agent that is not declared" ab -a stranger -- true
expect_rc 0 "the declared one (control)" ab -a me -- true

# --- argv is not parsed and not expanded
expect_out '-h --profile=/x $(id)' "options after -- are the command's" ab -- echo -h '--profile=/x' '$(id)'
expect_out '--' "a second -- too" ab -- echo --
expect_out in "-c is sh -c, inside" ab -c 'echo in'
expect_out "a b" "-c keeps its string whole" ab -c 'echo "a b"'
expect_rc 125 "-c and a command together" ab -c 'echo in' -- echo out
cp "$(type -P true)" "./--profile=x"
chmod 755 "./--profile=x"
expect_rc 0 "a program whose name looks like an option" ab -- "./--profile=x"
expect_out '' "nothing of agentbox is in the output" ab -- true
is "$(ab -- true 2>&1)" "" "nor on stderr"

# --- the working directory
mkdir -p sub
expect_out "$WS/sub" "the caller's directory, when it lies in a root" sh -c "cd sub && exec $AGENTBOX run --state $STATE -p $P -- pwd"
expect_out "$WS" "else the first root" sh -c "cd / && exec $AGENTBOX run --state $STATE -p $P -- pwd"

# --- limits that hold for every program
is "$(ab -- "$PROBE" umask)" "ok 0022" "the umask is 022"
is "$(umask 077 && ab -- "$PROBE" umask)" "ok 0022" "whatever the caller's"
like "$(ab -- "$PROBE" rlimit 4)" '^ok 1 1$' "no core files"
cat >"$T/bin/core.py" <<'PY'
import os, resource, signal
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
print("dumped" if os.WCOREDUMP(os.waitpid(pid, 0)[1]) else "none")
PY
if [ "$(ulimit -Hc 2>/dev/null)" != 0 ] && [ "$(py "$T/bin/core.py")" = dumped ]; then
	pass "outside: a crash leaves a core (control)"
else
	note "this host takes no cores"
fi
rm -f "$WS"/core*
expect_out none "a crash leaves none, whatever limit the program asks for" ab -- "$PYTHON" -I "$T/bin/core.py"
is "$(compgen -G "$WS/core*")" "" "and no file"
expect_rc 0 "a full scratch is an error of the writer" ab -- sh -c \
	'dd if=/dev/zero of=/tmp/b bs=1M count=2048 2>&1 | grep -q "No space"'
expect_rc 1 "nothing of it is there in the next run" ab -- test -e /tmp/b
no_sandbox_left "no process of a sandbox is left"
done_testing
