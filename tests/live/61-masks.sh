#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules that are finer than a root, as programs meet them: masks, freezes, exceptions, patterns,
# what is not there yet, hard links, and names of every kind. DESIGN 5.4; P47, E4, E5.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

# rules FILE-RULES [ROOT KEYS]: then everything else in the root is allowed.
rules() {
	profile rules <<-YAML
		version: 1
		sandbox:
		  roots:
		    - {path: "$WS"${2:-}}
		    - {path: "$T/bin", mode: ro}
		permissions:
		  agents:
		    me:
		      rules:
		$(sed 's/^/        - /' <<<"$1")
		        - {operations: [read, write], paths: ["/**"], mode: allow}
		        - {operations: [execute], commands: ["*"], mode: allow}
	YAML
}
own() {
	[ "$CALLER" != root ] || chown -R --reference="$T/home" "$WS"
}
mkdir -p "$WS/a/b/c" "$WS/docs/deep" "$WS/reports"
for f in secret a/secret a/b/c/f docs/x.key docs/deep/y.key docs/plain reports/q3 top.key; do
	echo "content of $f" >"$WS/$f"
done
own

# --- a file, its writing, a directory
rules "{operations: [read, write], paths: ['$WS/secret'], mode: deny}
{operations: [write], paths: ['$WS/reports/q3'], mode: interrupt}
{operations: [read, write], paths: ['$WS/a/b/**'], mode: deny}"
outside Y "secret (control)" read "$WS/secret"
expect_rc 0 "a denied file: its content is not there" ab -- sh -c '! grep -q content secret'
for act in write unlink; do
	inside N "a denied file: $act" "$act" "$WS/secret" x
done
inside N "a denied file: rename" rename "$WS/secret" "$WS/s2"
inside N "a denied file: link" link "$WS/secret" "$WS/s2"
inside N "a denied file: rename over it" rename "$WS/docs/plain" "$WS/secret"
inside Y "an interrupt on writing: read" read "$WS/reports/q3"
inside N "an interrupt on writing: write" write "$WS/reports/q3" x
inside N "an interrupt on writing: rename" rename "$WS/reports/q3" "$WS/reports/q4"
expect_rc 0 "a denied directory is empty" ab -- sh -c 'test -z "$(ls a/b 2>/dev/null)" && ! cat a/b/c/f 2>/dev/null'
inside N "a denied directory: a new file" write "$WS/a/b/new" x
inside N "what is above it cannot be moved away" rename "$WS/a" "$WS/aa"
inside Y "beside them: write (control)" write "$WS/a/secret" x
inside Y "beside them: rename (control)" rename "$WS/docs/plain" "$WS/docs/plain2"
mv "$WS/docs/plain2" "$WS/docs/plain"
is "$(cat "$WS/secret" "$WS/a/b/c/f")" "content of secret
content of a/b/c/f" "the host's are as they were"
expect_rc 120 "check says so: secret" "$AGENTBOX" check -p "$P" read_file "$WS/secret"
expect_rc 122 "check says so: the report" "$AGENTBOX" check -p "$P" write_file "$WS/reports/q3"

# --- exceptions, in the order of the rules
rules "{operations: [write], paths: ['$WS/a/b/**'], mode: allow}
{operations: [write], paths: ['$WS/a/**'], mode: deny}"
inside N "a frozen directory" write "$WS/a/secret" x
inside N "a new name there" write "$WS/a/new" x
inside Y "the exception below it" write "$WS/a/b/c/f" x
inside Y "a new name in the exception" write "$WS/a/b/new" x
inside N "the exception cannot be moved" rename "$WS/a/b" "$WS/a/bb"
rm -f "$WS/a/b/new"

# --- a pattern meets a directory only by its own name, not by a link to it (P36)
mkdir "$T/pkg"
echo "content of pkg" | tee "$T/pkg/.env" >"$T/pkg/plain"
ln -s "$T/pkg" "$WS/in"
ln -s /nowhere/at/all "$WS/dangling"
rules "{operations: [read, write], paths: ['/**/.env'], mode: deny, absent: report}"
expect_rc 0 "a link out of the root does not stop a run" ab -- sh -c '! cat in/.env 2>/dev/null && test -L in'
is "$(cat "$WS/in/.env")" "content of pkg" "outside: it leads there (control)"
sed -i "s|- {path: \"$T/bin\", mode: ro}|&\n    - {path: \"$T/pkg\", mode: ro}|" "$P"
expect_out "content of pkg" "where it leads to a root: what is not denied (control)" ab -- cat in/plain
expect_rc 0 "where it leads to a root: what is denied, by either name" ab -- \
	sh -c '! grep -q content in/.env && ! grep -q content "$1/.env"' - "$T/pkg"
rm "$WS/in" "$WS/dangling"

# --- patterns: on what is there; what comes is told, when the rule says so
rules "{operations: [read, write], paths: ['$WS/**/*.key'], mode: deny, absent: report}"
for f in top.key docs/x.key docs/deep/y.key; do
	expect_rc 0 "a pattern: $f is not read" ab -- sh -c '! grep -q content "$1"' - "$f"
	inside N "a pattern: $f is not written" write "$WS/$f" x
done
inside N "a pattern: what is above stays" rename "$WS/docs" "$WS/docs2"
inside Y "a pattern: another name (control)" write "$WS/docs/plain" x
ab --json -- sh -c 'echo x >docs/new.key; echo x >docs/new' >"$T/out" 2>"$T/err"
json_is "$T/out" '[(v["code"], v["path"].rsplit("/", 1)[1]) for v in o["violations"]] == [("appeared", "new.key")]' \
	"a name that came is told"
rm -f "$WS"/docs/new*
rules "{operations: [read, write], paths: ['$WS/**/*.key'], mode: deny}"
expect_rc 125 "without that word the rule is refused" ab -- true
like "$(cat "$T/err")" "rules.yaml:10:11: .*may match names that a program makes later.*absent: report" "and says what to do"
rules "{operations: [read, write], paths: ['$WS/**/*.key'], mode: deny}" ", mode: ro"
expect_rc 0 "in a read-only root it holds as it is" ab -- sh -c '! grep -q content top.key && grep -q content secret'
rules "{operations: [write], paths: ['$WS/none'], mode: deny}"
expect_rc 125 "a name that is not there is refused" ab -- true
like "$(cat "$T/err")" "rules.yaml:10:11: .*names nothing that exists in a writable root" "at its rule"
rules "{operations: [write], paths: ['$WS/none'], mode: deny, absent: report}"
ab --json -- sh -c 'echo x >none' >"$T/out" 2>"$T/err"
json_is "$T/out" '[(v["code"], v["protect"]) for v in o["violations"]] == [("appeared", "freeze")]' "or told"
check "and stays" test -s "$WS/none"
rm -f "$WS/none"
rules "{operations: [write], paths: ['$WS/no/such/name'], mode: deny, absent: report}"
expect_rc 0 "a name below what is not there either (P38)" ab --json -- sh -c 'mkdir -p no/such && echo x >no/such/name'
json_is "$T/out" '[v["code"] for v in o["violations"]] == ["appeared"]' \
	"is told when it comes"
rm -rf "$WS/no"
rules "{operations: [read, write], paths: ['$WS/secret'], mode: deny, strict: true}"
expect_rc 125 "strict: a file in a writable root" ab -- true
rules "{operations: [read, write], paths: ['$WS/a/**'], mode: deny, strict: true}"
expect_rc 0 "strict: a directory (control)" ab -- sh -c '! cat a/secret 2>/dev/null'

# --- the base: what a rule names is masked, a catch-all hides nothing
rules "{operations: [read], paths: [/etc/hostname, '/usr/share/doc/**'], mode: deny}"
expect_rc 0 "a part of the base" ab -- sh -c 'test -z "$(cat /etc/hostname 2>/dev/null)$(ls /usr/share/doc 2>/dev/null)" && ls /usr/bin >/dev/null'

# --- other names of a hidden file
mkdir "$WS/links"
ln "$WS/secret" "$WS/links/alias"
rules "{operations: [read, write], paths: ['$WS/secret'], mode: deny}"
expect_rc 0 "a hard link to it is hidden too" ab -- sh -c '! grep -q content links/alias secret'
inside N "and is not written" write "$WS/links/alias" x
rm "$WS/links/alias"
echo other >"$WS/links/alias"
expect_rc 0 "another file of that name (control)" ab -- grep -q other links/alias

# --- by a link of the base, from "/", and what is mounted by itself
readable() { # DESCRIPTION FILE: by a profile without the rule
	rules "{operations: [read], paths: [/nowhere], mode: deny, absent: report}"
	inside Y "$1 (control)" read "$2"
}
readable "a program of the base" /bin/ls
rules "{operations: [read], paths: [/bin/ls], mode: deny}
{operations: [read], paths: ['/usr/**'], mode: allow}"
for f in /bin/ls /usr/bin/ls; do
	# Root inside may be kernel uid 0 without capabilities: a mask is empty to everybody.
	expect_rc 0 "a name behind a link of the base: $f" ab -- sh -c '! test -s "$1" && test -s "$2"' - "$f" /usr/bin/cat
done
rules "{operations: [read], paths: ['/*/bin/ls', '/b*/cat'], mode: deny, absent: report}"
expect_rc 0 "patterns from /" ab -- sh -c '! test -s /usr/bin/ls && ! test -s /usr/bin/cat && test -s /usr/bin/env'
expect_rc 120 "check says so" "$AGENTBOX" check -p "$P" read_file /bin/ls
expect_rc 120 "of a name that no rule has" "$AGENTBOX" check -p "$P" read_file /usr/bin/cat
expect_rc 0 "and of one beside it (control)" "$AGENTBOX" check -p "$P" read_file /usr/bin/env
rules "{operations: [read], paths: [/dev/zero], mode: deny}"
expect_rc 1 "a device" ab -- head -c 1 /dev/zero
expect_rc 0 "the others (control)" ab -- sh -c ': </dev/null && head -c 1 /dev/urandom >/dev/null'
rules "{operations: [read], paths: [/dev/full], mode: deny}"
expect_rc 0 "one that no rule names (control)" ab -- head -c 1 /dev/zero
rules "{operations: [write], paths: [/dev/zero], mode: deny}"
expect_rc 125 "writing to a device that may be read" ab -- true
like "$(cat "$T/err")" "rules.yaml:10:11: '/dev/zero' is a device.*deny reading too" "at the rule, and says what to do"
for p in /proc/cpuinfo /tmp/x /var/tmp /home/agent/.ssh /dev/shm/x '/dev/**' /dev/fd; do
	rules "{operations: [read], paths: ['$p'], mode: deny}"
	expect_rc 125 "no mount holds $p" ab -- true
	like "$(cat "$T/err")" "rules.yaml:10:11: '[^']*' cannot be enforced for programs.*leave it out of the rule" "$p: at the rule, and says what to do"
	expect_rc 125 "lint finds $p" "$AGENTBOX" lint "$P"
	expect_rc "120|121" "check answers of $p" "$AGENTBOX" check -p "$P" read_file "${p%/\*\*}/x"
done
rules "{operations: [read], paths: ['/nowhere/**'], mode: deny}
{operations: [read, write], paths: ['$WS/**'], mode: allow}
{operations: [execute], commands: ['*'], mode: allow}
{operations: [read, write], paths: ['/var/**', '/home/**', '/**'], mode: deny}"
expect_rc 0 "a deny of all the rest leaves base, devices and scratch" \
	ab -- sh -c 'head -c 1 /dev/zero >/tmp/x && cat /tmp/x >"$HOME/x" && ls /usr >/var/tmp/x && ls /proc/self >/dev/shm/x'

# --- other names of what lies below a hidden or frozen directory
rules "{operations: [read, write], paths: ['$WS/a/b/**'], mode: deny}
{operations: [write], paths: ['$WS/docs/**'], mode: deny}"
ln "$WS/a/b/c/f" "$WS/links/below"
ln "$WS/docs/plain" "$WS/links/plain"
own
expect_rc 0 "a hard link of a file below a hidden directory" ab -- sh -c '! grep -q content links/below && grep -q "" links/plain'
inside N "and is not written" write "$WS/links/below" x
inside N "one of a file below a frozen directory" write "$WS/links/plain" x
inside N "it cannot be replaced" rename "$WS/top.key" "$WS/links/plain"
expect_rc 120 "check says so: hidden" "$AGENTBOX" check -p "$P" read_file "$WS/links/below"
expect_rc 120 "check says so: frozen" "$AGENTBOX" check -p "$P" write_file "$WS/links/plain"
expect_rc 0 "check says so: it is read (control)" "$AGENTBOX" check -p "$P" read_file "$WS/links/plain"
rm "$WS/links/below" "$WS/links/plain"
echo other >"$WS/links/plain"
own
inside Y "another file of that name (control)" write "$WS/links/plain" x
mkdir "$WS/a/b/shut"
own
chmod 0 "$WS/a/b/shut"
if ls "$WS/a/b/shut" >/dev/null 2>&1; then
	expect_rc 0 "a closed directory in it, which this caller can list" ab -- true
else
	expect_rc 125 "a closed directory in it" ab -- true
	like "$(cat "$T/err")" "a/b/shut is protected and cannot be listed.*chmod u.rx" "is named, with what to do"
fi
rmdir "$WS/a/b/shut"

# --- one part of the host by two roots
mkdir -p "$T/outer/in/d"
for f in .env in/.env in/f in/d/x; do
	echo "content of $f" >"$T/outer/$f"
done
[ "$CALLER" != root ] || chown -R --reference="$T/home" "$T/outer"
overlap() { # RULE
	profile overlap <<-YAML
		sandbox:
		  roots: [{path: "$T/outer", at: /outer}, {path: "$T/outer/in", at: /in}, {path: "$T/bin", mode: ro}]
		permissions:
		  agents:
		    me:
		      rules:
		        - $1
		        - {operations: [read, write], paths: ["/**"], mode: allow}
		        - {operations: [execute], commands: ["*"], mode: allow}
	YAML
}
overlap "{operations: [read, write], paths: [/outer/in/f, '/in/d/**'], mode: deny}"
expect_rc 0 "what is hidden by one name is so by the other" \
	ab -- sh -c 'cd / && ! grep -q content in/.env outer/in/.env in/f outer/in/f && ! cat in/d/x outer/in/d/x 2>/dev/null'
for f in /in/.env /outer/in/.env /in/f /outer/in/f /in/d/x /outer/in/d/x; do
	inside N "not written: $f" write "$f" x
	expect_rc 120 "check says so: $f" "$AGENTBOX" check -p "$P" read_file "$f"
done
overlap "{operations: [write], paths: [/outer/in/f], mode: deny}"
inside Y "another rule: one that is no longer hidden (control)" write /in/d/x "content of in/d/x"
inside N "frozen by the outer name" write /outer/in/f x
inside N "and by the inner one" write /in/f x
inside Y "it is read by both (control)" read /in/f
rm -rf "$T/outer"

# --- a root below what is hidden
mkdir -p "$WS/private/in"
own
profile below <<-YAML
	sandbox:
	  roots: [{path: "$WS"}, {path: "$WS/private/in"}, {path: "$T/bin", mode: ro}]
	  protect: {hide: [private]}
	permissions: {agents: {me: allow}}
YAML
expect_rc 125 "a root in a hidden directory" ab -- true
like "$(cat "$T/err")" "below.yaml:2:11: root '[^']*': [^ ]*/private is hidden there, and the root '[^']*/private/in' with it" "is named, with what to do"
sed -i "s#private/in\"}#private/in\", at: /in}#" "$P"
expect_rc 0 "shown elsewhere (control)" ab -- sh -c 'test -d /in && echo x >/in/new && ! test -e private/in'
rm -rf "$WS/private"

# --- a root that no run takes is refused by every verb
for dir in /etc "$WS"; do
	rc=125
	[ "$dir" = /etc ] || rc=0
	profile named <<-YAML
		sandbox: {roots: [{path: "$dir", at: /x}]}
		permissions: {agents: {me: allow}}
		tests: [{action: read_file, resource: /x/y, decision: allow}]
	YAML
	expect_rc $rc "lint: root $dir" "$AGENTBOX" lint "$P"
	expect_rc $rc "test: root $dir" "$AGENTBOX" test "$P"
	expect_rc $rc "run: root $dir" ab -- true
done

# --- a link that a rule names
ln -s a/secret "$WS/way"
ln -s docs "$WS/dir"
own
rules "{operations: [read, write], paths: ['$WS/way'], mode: deny}
{operations: [write], paths: ['$WS/dir'], mode: interrupt}"
expect_rc 0 "a link: by its name and by that of its target" ab -- sh -c '! grep -q content way && ! grep -q content a/secret'
for f in way a/secret; do
	expect_rc 120 "check says so: $f" "$AGENTBOX" check -p "$P" read_file "$WS/$f"
done
for f in dir/plain docs/plain; do
	expect_rc 122 "check: what waits for a person: $f" "$AGENTBOX" check -p "$P" write_file "$WS/$f"
	inside N "and binds programs as a denial: $f" write "$WS/$f" x
done
expect_rc 0 "check: reading there (control)" "$AGENTBOX" check -p "$P" read_file "$WS/docs/plain"
expect_rc 0 "check: another file (control)" "$AGENTBOX" check -p "$P" read_file "$WS/top.key"
rules "{operations: [read, write], paths: ['$WS/a/secret'], mode: deny}"
expect_rc 120 "check: a link to what is denied" "$AGENTBOX" check -p "$P" read_file "$WS/way"
expect_rc 0 "is so in a run" ab -- sh -c '! grep -q content way'
rm "$WS/way" "$WS/dir"
expect_rc 0 "check: without the rule's file (control)" "$AGENTBOX" check -p "$P" read_file "$WS/docs/plain"

# --- somebody on the host puts another file in the place of a masked one, in the first second and later
rules "{operations: [read, write], paths: ['$WS/secret', '$WS/a/b/**'], mode: deny}
{operations: [write], paths: ['$WS/reports/q3'], mode: deny}"
mkdir "$WS/sync"
own
cat >"$T/bin/replaced.sh" <<'SH'
for n in 1 2; do
	: >"sync/up$n"
	while ! test -e "sync/go$n"; do sleep 0.05; done
	i=0
	while grep -q content secret || sh -c ': >>reports/q3' 2>/dev/null || grep -q content a/b/x 2>/dev/null; do
		i=$((i + 1))
		test $i -lt 1200 || exit 9
		sleep 0.05
	done
	grep -q "content $n" top.key && grep -q "content $n" reports/q3 || exit 8
	mv secret moved 2>/dev/null && exit 7
	mv reports reported 2>/dev/null && exit 6
	sleep 1.5
done
SH
ab --json -- sh "$T/bin/replaced.sh" >"$T/out" 2>"$T/err" &
job=$!
for n in 1 2; do
	wait_for test -e "$WS/sync/up$n" || fail "the command runs"
	for f in secret reports/q3 top.key; do
		echo "content $n" >"$T/new"
		mv "$T/new" "$WS/$f"
		[ "$CALLER" != root ] || chown --reference="$T/home" "$WS/$f"
	done
	if [ $n = 2 ]; then
		mv "$WS/a/b" "$WS/a/b.old"
		mkdir "$WS/a/b"
		echo "content of a/b/x" >"$WS/a/b/x"
	fi
	: >"$WS/sync/go$n"
done
wait "$job"
json_is "$T/out" 'o["status"] == "exited" and o["exit_code"] == 0' "the new file is covered, and the one that nobody masks is read (control)"
json_is "$T/out" '[(v["code"], v["path"].split("/ws/")[1], v["protect"]) for v in o["violations"]] == [("remasked", "a/b", "hide"), ("remasked", "reports/q3", "freeze"), ("remasked", "secret", "hide")]' "and is told"
like "$(tail -n 1 "$STATE/audit.jsonl")" '"code":"remasked"' "and is in the audit log"
like "$(cat "$T/err")" "was replaced during the run: .* did not hold for a moment" "one line says so"
is "$(cat "$WS/secret" "$WS/reports/q3")" "content 2
content 2" "the host's are as the host left them"
rm -rf "$WS/a/b" "$WS/sync" "$T/bin/replaced.sh"
mv "$WS/a/b.old" "$WS/a/b"
for f in secret reports/q3 top.key; do
	echo "content of $f" >"$WS/$f"
done
own

# --- names of every kind: as a root, in a rule, behind a mask
odd=('a b' 'a:b' 'a,b' 'a\b' 'é😀' '-x' $'new\nline' 'trail ' '..x' $'bad\xff' "quo'te" '[set]' 'st*r')
for name in "${odd[@]}"; do
	r=$T/odd/$name
	mkdir -p "$r/$name"
	echo content >"$r/$name/.env"
	echo content >"$r/.env"
	[ "$CALLER" != root ] || chown -R --reference="$T/home" "$T/odd"
	shown=$(printf %q "$name")
	echo content >"$r/secret"
	cat >"$T/odd.yaml" <<-'YAML'
		params: {workspace: {required: true}}
		sandbox:
		  roots: [{path: "${workspace}", at: /w}]
		  protect: {depth: 1}
		permissions: {agents: {me: allow}}
	YAML
	cat >"$T/odd-rule.yaml" <<-'YAML'
		params: {workspace: {required: true}}
		sandbox: {roots: ["${workspace}"]}
		permissions:
		  agents:
		    me:
		      rules:
		        - {operations: [read, write], paths: ["${workspace}/secret"], mode: deny}
		        - {operations: [read, write], paths: ["/**"], mode: allow}
		        - {operations: [execute], commands: ["*"], mode: allow}
	YAML
	P=$T/odd.yaml
	expect_rc 0 "$shown: masks below such a name" ab -w "$T/odd/$name" -- \
		sh -c 'cd /w && ! grep -q content .env "$1/.env" && ! echo x 2>/dev/null >"$1/.env"' - "./$name"
	expect_rc 0 "$shown: what is above stays" ab -w "$r" -- sh -c '! mv "/w/./$1" /w/moved 2>/dev/null && test -e "/w/$1"' - "$name"
	P=$T/odd-rule.yaml
	expect_rc 0 "$shown: a root and a rule with it" ab -w "$r" -- \
		sh -c 'cd "$1" && ls | grep -q secret && ! grep -q content secret && echo y >fine' - "$r"
done
rm -rf "$T/odd"

# --- thousands of attempts to move a mask away, from four processes at once
rules "{operations: [read, write], paths: ['$WS/a/b/c/f'], mode: deny}
{operations: [write], paths: ['$WS/docs/deep/**'], mode: deny}"
before=$(tree_of "$WS")
expect_out "0 0" "2,000 renames each of what is above a mask, while others read and write there" \
	ab --timeout 100s -- "$PYTHON" -I -c '
import os
def attempt(i):
    moved = leaked = 0
    for n in range(500):
        for src, dst in (("a", "aa"), ("a/b", "a/bb"), ("a/b/c", "x%d" % i), ("docs", "d%d" % i)):
            try:
                os.rename(src, dst)
                moved += 1
                os.rename(dst, src)
            except OSError:
                pass
        for path in ("a/b/c/f", "a/bb/c/f", "aa/b/c/f", "x%d/f" % i):
            try:
                leaked += "content" in open(path).read()
            except OSError:
                pass
        try:
            open("docs/deep/new", "w").close()
            leaked += 1
        except OSError:
            pass
    return moved, leaked
ends = []
for i in range(4):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, b"%d %d" % attempt(i))
        os._exit(0)
    os.close(w)
    ends.append(r)
got = [[int(v) for v in os.read(r, 64).split()] for r in ends]
print(*map(sum, zip(*got)))'
is "$(tree_of "$WS")" "$before" "and the tree is as it was"
expect_rc 0 "a directory without a mask below can be moved (control)" ab -- sh -c 'mv links l2 && mv l2 links'

# --- a root below a frozen directory keeps its own guards
mkdir -p "$WS/.vscode/repo"
echo E >"$WS/.vscode/repo/.envrc"
profile nested <<-YAML
	sandbox:
	  roots:
	    - {path: "$WS", mode: rw}
	    - {path: "$WS/.vscode/repo", mode: rw}
	    - {path: "$T/bin", mode: ro}
	permissions: {agents: {me: allow}}
YAML
inside Y "a file of a root below a frozen directory" write "$WS/.vscode/repo/plain" x
inside N "one that is frozen there" write "$WS/.vscode/repo/.envrc" x
inside N "the frozen directory itself" write "$WS/.vscode/x" x
rm -rf "$WS/.vscode"

# --- a name that is allowed, with a denied directory of that name: nothing keeps one from being made
rules "{operations: [read, write], paths: ['$WS/new'], mode: allow}
{operations: [read, write], paths: ['$WS/new/**'], mode: deny}"
expect_rc 125 "a denied directory that does not exist" ab -- true
echo file >"$WS/new"
expect_rc 125 "or is a file yet" ab -- true
rm "$WS/new"
mkdir "$WS/new"
expect_rc 0 "one that exists (control)" ab -- true
rmdir "$WS/new"

# --- many at once, killed at any moment: the tree is what it was
rules "{operations: [read, write], paths: ['$WS/secret', '$WS/a/b/**'], mode: deny}
{operations: [read, write], paths: ['$WS/**/*.key'], mode: deny, absent: report}"
before=$(tree_of "$WS")
for ((i = 0; i < 16; i++)); do
	(
		for ((k = 0; k < 3; k++)); do
			"$AGENTBOX" run --state "$STATE" -p "$P" -- sleep 3 >/dev/null 2>&1 &
			sleep "0.$(((i * 3 + k) % 10))"
			kill -9 $!
			wait $!
		done
	) 2>/dev/null &
done
wait
is "$(tree_of "$WS")" "$before" "16 at once, each killed three times"
no_sandbox_left "nothing is left"
done_testing
