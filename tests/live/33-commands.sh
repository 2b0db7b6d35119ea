#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# commands: which files can be executed inside, for the whole tree of processes; and what the list
# does not limit. DESIGN 3.1; R054, R055, R057, R124.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

ab --json -- true >"$T/json"
if [ "$(json_get "$T/json" "o['mechanisms']['landlock']")" = none ]; then
	skip "commands" "this kernel has no Landlock"
	done_testing
fi
list() {
	base_profile "commands: [$1]"
}

# --- the command itself
list 'cat, "gi?", /usr/bin/true'
expect_rc 0 "a listed name" ab -- cat /dev/null
expect_rc 0 "a listed path, by its name" ab -- true
expect_rc 121 "a name that is not listed" ab -- id
like "$(cat "$T/err")" "'id' is none of the sandbox's commands" "and why"
expect_rc 121 "a path that is not" ab -- /usr/bin/id
expect_rc 121 "-c without sh in the list" ab -c id
expect_rc 127 "a name that nothing has" ab -- no-such-program
expect_rc 121 "a loader is no command" ab -- "$(py -c 'import re
print(re.search(rb"/lib[^\0]*ld-[^\0]*\.so[.0-9]*", open("/bin/true", "rb").read()).group().decode())')" /usr/bin/id
ab --json -- id >"$T/json" 2>/dev/null
json_is "$T/json" "o['rc'] == 121 and o['decision']['code'] == 'sandbox_deny' and 'commands' in o['reason']" \
	"the result: sandbox_deny, with that reason"
ab --json -- true >"$T/json"
json_is "$T/json" "o['mechanisms']['commands'] == 'landlock'" "the result names what holds it"
expect_rc 121 "check says the same" "$AGENTBOX" check -p "$P" run_command id
expect_rc 0 "and allows the listed" "$AGENTBOX" check -p "$P" run_command cat x
list ''
expect_rc 121 "an empty list is no command" ab -- true
base_profile
expect_rc 0 "no list: every command (control)" ab -- id

# --- what they start: find must not start sh (R055)
list find
out=$(ab -- find / -maxdepth 0 -exec sh -c id \; 2>/dev/null)
is "$out" "" "find does not start a shell"
list 'find, sh, id'
like "$(ab -- find / -maxdepth 0 -exec sh -c id \; 2>/dev/null)" 'uid=' "with both listed it does (control)"
list 'sh, ls, cp, "chmod", mkdir, ln, cat, base64'
refused() { # DESCRIPTION SCRIPT: status 126 from a shell that goes on
	expect_out 126 "$1" ab -c "($2) >/dev/null 2>&1; echo \$?"
}
started() {
	expect_out 0 "$1" ab -c "($2) >/dev/null 2>&1; echo \$?"
}
started "a listed program from a shell (control)" 'ls /'
refused "a program of the base" '/usr/bin/id'
refused "by another path" '/proc/self/root/usr/bin/id'
refused "by a link made in the scratch" 'ln -s /usr/bin/id /tmp/l; /tmp/l'
started "a link to a listed one (control)" 'ln -s /usr/bin/ls /tmp/l; /tmp/l'
refused "through /proc/self/fd" 'exec 7</usr/bin/id; /proc/self/fd/7'
for d in "$WS" /tmp /var/tmp /home/agent /dev/shm; do
	refused "a copy of it in $d" "cp /usr/bin/id $d/x; $d/x"
	refused "a copy of a listed one in $d" "cp /usr/bin/ls $d/x; $d/x"
	refused "a script in $d" "printf '#!/bin/sh\n' >$d/y; chmod 755 $d/y; $d/y"
done
rm -f "$WS/x" "$WS/y"
started "a script as a shell's argument: code, not a command (what the list does not limit)" \
	"echo 'ls /' >/tmp/z; sh /tmp/z"

# --- the loader starts whatever it can read, so it starts nothing by itself
loader=$(py -c 'import re
print(re.search(rb"/lib[^\0]*ld-[^\0]*\.so[.0-9]*", open("/bin/ls", "rb").read()).group().decode())')
outside_rc=0
"$loader" /usr/bin/id >/dev/null || outside_rc=$?
is "$outside_rc" 0 "outside: $loader /usr/bin/id (control)"
refused "the loader as a command: $loader /usr/bin/id" "$loader /usr/bin/id"
refused "with a listed program" "$loader /usr/bin/ls"
refused "by its real path" "$(readlink -f "$loader") /usr/bin/id"
refused "a copy of it" "cp $loader /tmp/ld; /tmp/ld /usr/bin/id"
refused "as a script's interpreter" "printf '#!$loader /usr/bin/id\n' >/tmp/s; chmod 755 /tmp/s; /tmp/s"
expect_rc 0 "it cannot be written to" ab -c "! (echo x >$loader) && ! (echo x >>$(readlink -f "$loader"))" 2>/dev/null
list "sh, \"$loader\""
started "listed itself it is a command (what the profile says)" "$loader /usr/bin/id"

# --- memory is no file
list "sh, \"$PYTHON\""
expect_out 38 "memfd_create is ENOSYS" ab -- "$PYTHON" -I -c 'import os
try: os.memfd_create("x"); print(0)
except OSError as e: print(e.errno)'
base_profile
expect_out 0 "without a list it is there (control)" ab -- "$PYTHON" -I -c 'import os
try: os.memfd_create("x"); print(0)
except OSError as e: print(e.errno)'
list "\"$PYTHON\""
expect_out 13 "an interpreter that is listed starts no other program" ab -- "$PYTHON" -I -c 'import os
try: os.execv("/usr/bin/id", ["id"])
except OSError as e: print(e.errno)'
# Not stopped: commands does not limit code
expect_out code "but it runs any code: the list is of files" ab -- "$PYTHON" -I -c 'print("code")'
cp "$PROBE" "$WS/lib.so"
expect_out 1 "and no machine code from what is writable: mmap is refused there" ab -- "$PYTHON" -I -c \
	'import mmap
f = open("lib.so", "rb")
try: mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE); print(0)
except OSError as e: print(e.errno)'
rm -f "$WS/lib.so"

# --- a library is code, not a command: what the list does not limit, and what noexec does
if command -v cc >/dev/null; then
	cat >"$T/evil.c" <<-'C'
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((constructor)) static void run(void) { write(1, "library\n", 8); _exit(0); }
	C
	cc -shared -fPIC -o "$T/bin/evil.so" "$T/evil.c" 2>/dev/null
	cp "$T/bin/evil.so" "$WS/evil.so"
	list sh,ls
	expect_out library "a library of a read-only root gets into a listed program" \
		ab -c "LD_PRELOAD=$T/bin/evil.so ls /"
	out=$(ab -c "LD_PRELOAD=$WS/evil.so ls / >/dev/null" 2>&1)
	unlike "$out" '^library' "one of a writable root does not"
	base_profile
	expect_out library "without a list it does (control)" ab -c "LD_PRELOAD=$WS/evil.so ls /"
	rm -f "$WS/evil.so"
else
	skip "a library in a listed program" "no cc here"
fi

# --- scripts
printf '#!%s -I\nimport os\nprint("script", flush=True)\nos.execv("/usr/bin/id", ["id"])\n' "$PYTHON" >"$T/bin/tool"
chmod 755 "$T/bin/tool"
list "\"$T/bin/tool\""
out=$(ab -- "$T/bin/tool" 2>/dev/null)
is "$out" script "a listed script brings its interpreter, and that one starts nothing else"
expect_rc 121 "which is no command itself" ab -- "$PYTHON" -c 1
list "\"$T/bin/*\""
expect_rc 0 "a pattern of a directory" ab -- "$PROBE" exists /
expect_rc 121 "and of no other" ab -- true

# --- profiles that make no sense
list "'git status'"
expect_rc 125 "a command line is no command" ab -- git status
like "$(cat "$T/err")" 'base.yaml:[0-9]+:[0-9]+: .*is a command line' "and says where"
cp /bin/true "$WS/tool"
list "\"$WS/tool\""
expect_rc 125 "a file that programs may write to" ab -- "$WS/tool"
like "$(cat "$T/err")" 'lies where programs may write' "and says why"
rm -f "$WS/tool"
cp /bin/true "$T/bin/linked"
list "\"$T/bin/linked\""
expect_rc 0 "a file of a read-only root (control)" ab -- "$T/bin/linked"
ln "$T/bin/linked" "$WS/other-name"
expect_rc 125 "one with another name in a writable one" ab -- "$T/bin/linked"
like "$(cat "$T/err")" 'base.yaml:[0-9]+:[0-9]+: .*has 2 names \(hard links\): copy it' "and says why"
rm -f "$WS/other-name" "$T/bin/linked"
base_profile $'commands: [ls]\nallowed_commands: [ls]'
expect_rc 125 "two spellings" ab -- ls
base_profile "allowed_commands: [ls]"
expect_rc 0 "the short form" ab -- ls
expect_rc 121 "and what it leaves out" ab -- id
base_profile $'commands: [ls]\nnested_sandboxes: true'
expect_rc 125 "beside nested sandboxes" ab -- ls
no_sandbox_left "nothing is left"
done_testing
