#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# protect: known traps at the top level of each root hold for what exists at the start, and
# nothing is made on the host for it. R087, DESIGN 3.1, 5.4; P100.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

tree() {
	rm -rf "$WS"
	mkdir -p "$WS/.git/hooks" "$WS/.git/info" "$WS/.git/objects" "$WS/.git/refs" "$WS/.vscode" "$WS/sub"
	cd "$WS" || exit 1
	echo s >.env
	echo s >.env.prod
	echo s >.env.example
	echo s >.netrc
	echo s >.envrc
	echo s >.mcp.json
	echo s >.vscode/tasks.json
	echo s >.npmrc
	echo s >sub/.env
	printf '[core]\n\trepositoryformatversion = 0\n' >.git/config
	echo 'ref: refs/heads/main' >.git/HEAD
	printf '[core]\n\tsparseCheckout = false\n' >.git/config.worktree
	echo ../.git >.git/commondir
	echo x >.git/info/exclude
	echo x >.git/hooks/pre-commit.sample
	echo s >plain
}
tree
cp "$P" "$WS/agent.yaml"

# --- hidden: no read, no write, no removal
for f in .env .env.prod .netrc; do
	outside Y "$f is read (control)" read "$WS/$f"
	expect_rc 0 "$f: its content cannot be read" ab -- sh -c "! grep -q s $f"
	inside N "$f: write" write "$WS/$f" evil
	inside N "$f: unlink" unlink "$WS/$f"
	inside N "$f: rename" rename "$WS/$f" "$WS/moved"
	inside N "$f: rename over it" rename "$WS/plain" "$WS/$f"
	inside N "$f: link to it" link "$WS/$f" "$WS/linked"
	is "$(cat "$WS/$f")" s "$f: the host's is as it was"
	check "$f: plain was not moved" test -e "$WS/plain"
done
for f in .env.example sub/.env; do
	inside Y "$f is no trap: read" read "$WS/$f"
	inside Y "$f: write" write "$WS/$f" s
done
inside Y "another file: unlink (control)" unlink "$WS/sub/.env"

# --- frozen: read, but no write, removal or rename
for f in .envrc .mcp.json .npmrc .git/config .git/config.worktree .git/commondir .git/info/exclude .git/hooks/pre-commit.sample .vscode/tasks.json; do
	inside Y "$f: read" read "$WS/$f"
	inside N "$f: write" write "$WS/$f" evil
	inside N "$f: unlink" unlink "$WS/$f"
done
for f in .envrc .git/config .git/config.worktree .git/commondir .git/info .git/hooks .vscode; do
	inside N "$f: rename" rename "$WS/$f" "$WS/gone"
done
inside N "a new hook" write "$WS/.git/hooks/pre-commit" evil
inside N "a new file of patterns" write "$WS/.git/info/attributes" evil
inside N "a new editor task" write "$WS/.vscode/new.json" evil
inside N "the directory above is pinned" rename "$WS/.git" "$WS/git2"
inside N "and cannot be replaced" rmdir "$WS/.git/hooks"
inside Y "work in .git goes on (control)" write "$WS/.git/index" x
inside Y "objects too (control)" mkdir "$WS/.git/objects/ab"
inside Y "another directory can be moved (control)" rename "$WS/sub" "$WS/sub2"
inside N "chmod of a frozen file" chmod "$WS/.git/config" 777
inside Y "chmod of another (control)" chmod "$WS/plain" 640

# --- the profile itself, when it lies in a root
P=$WS/agent.yaml
expect_rc 0 "a profile in a root: the command runs" ab -- true
expect_rc 0 "its text cannot be read" ab -- sh -c '! grep -q agents agent.yaml'
inside N "nor written" write "$WS/agent.yaml" evil
inside N "nor moved" rename "$WS/agent.yaml" "$WS/b.yaml"
inside N "nor removed" unlink "$WS/agent.yaml"
mkdir -p "$WS/conf/deep"
cp "$T/base.yaml" "$WS/conf/deep/p.yaml"
P=$WS/conf/deep/p.yaml
inside N "deeper too: write" write "$P" evil
inside N "and its ancestors cannot be moved" rename "$WS/conf" "$WS/conf2"
inside N "none of them" rename "$WS/conf/deep" "$WS/conf/deep2"
expect_rc 0 "its text cannot be read" ab -- sh -c '! grep -q agents conf/deep/p.yaml'
base_profile

# --- the profile's own lists
echo s >"$WS/secret.pem"
echo s >"$WS/frozen.txt"
base_profile "protect: {hide: ['*.pem'], freeze: [frozen.txt], except: [.envrc]}"
inside N "hide by a pattern" write "$WS/secret.pem" x
expect_rc 0 "is not read" ab -- sh -c '! grep -q s secret.pem'
inside N "freeze by name" write "$WS/frozen.txt" x
inside Y "is read" read "$WS/frozen.txt"
inside Y "except lifts a default" write "$WS/.envrc" x
inside N "the other defaults stay" write "$WS/.mcp.json" x
base_profile

# --- many masks, and links as traps
for ((i = 0; i < 50; i++)); do echo s >"$WS/.env.n$i"; done
expect_rc 0 "50 hidden files" ab -- sh -c '! cat .env.n* 2>/dev/null | grep -q s'
rm "$WS"/.env.n*
rm "$WS/.env"
ln -s plain "$WS/.env"
rc=0
ab -- sh -c 'echo evil >.env' >/dev/null 2>&1 || rc=$?
is "$(cat "$WS/plain")" s "a .env that is a link: nothing is written through it ($rc)"
ln -sfn /nowhere/at/all "$WS/.env"
expect_rc '0|125' "a dangling .env is no crash" ab -- true
check_not "and nothing is made" test -e /nowhere
rm "$WS/.env"

# --- no ghost files, whatever happens
tree
before=$(tree_of "$WS")
ab -- true
is "$(tree_of "$WS")" "$before" "a run that does nothing changes nothing"
for ((i = 0; i < 20; i++)); do
	ab_start -- sleep 5 >/dev/null 2>&1
	pid=$sup
	sleep "0.0$((i % 10))"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
done
is "$(tree_of "$WS")" "$before" "nor do 20 that are killed at any moment"
out=$(ab -- sh -c 'ls -A' 2>/dev/null | sort | tr '\n' ' ')
like "$out" '^\.env \.env\.example \.env\.prod \.envrc \.git ' "a listing shows the names"

# --- deeper, when the profile asks
mkdir -p "$WS/a/b"
echo s >"$WS/a/.env"
echo s >"$WS/a/b/.npmrc"
echo s >"$WS/a/b/plain"
inside Y "below the top: no trap by default" write "$WS/a/.env" s
base_profile "protect: {depth: 1}"
inside N "depth 1: one level below" write "$WS/a/.env" x
inside Y "depth 1: two levels below" write "$WS/a/b/.npmrc" s
base_profile "protect: {depth: 2}"
inside N "depth 2: two levels below" write "$WS/a/b/.npmrc" x
inside N "depth 2: what is above it stays" rename "$WS/a" "$WS/aa"
inside Y "depth 2: beside it (control)" write "$WS/a/b/plain" s
base_profile "protect: {depth: 17}"
expect_rc 125 "more depth than there may be" ab -- true
rm -rf "$WS/a"
base_profile

# --- protected names that come during the run are told, and stay
rm -f "$WS/.env.new" "$WS/.claude"
ab --json -- true >"$T/out" 2>"$T/err"
json_is "$T/out" 'o["violations"] == []' "nothing came, nothing is told"
is "$(cat "$T/err")" "" "nor said"
ab --json -- sh -c 'echo x >.env.new; mkdir .claude; echo x >other' >"$T/out" 2>"$T/err"
json_is "$T/out" '[(v["code"], v["path"].rsplit("/", 1)[1], v["protect"]) for v in o["violations"]] == [("appeared", ".claude", "freeze"), ("appeared", ".env.new", "hide")]' \
	"names that came are in the result"
json_is "$T/out" 'o["rc"] == 0 and o["status"] == "exited"' "the run is none the worse for it"
like "$(cat "$T/err")" '\.claude appeared during the run' "one line says so"
# Not stopped: protect is a list of traps, not a boundary
check "they are still there" test -s "$WS/.env.new" -a -d "$WS/.claude"
like "$(tail -n 1 "$STATE/audit.jsonl")" '"violations":\[\{"code":"appeared"' "and in the audit log"
ab -q -- sh -c 'echo y >>.env.new || true; echo x >.netrc.x' >"$T/out" 2>"$T/err"
unlike "$(cat "$T/err")" appeared "what was there at the start is no news"
# Somebody on the host replaces a hidden file while the command waits for it.
ab --json -- sh -c ': >up; while ! test -e go; do sleep 0.05; done; rm -f go up' >"$T/out" 2>"$T/err" &
job=$!
wait_for test -e "$WS/up" || fail "the command runs"
echo newsecret >"$WS/tmp-env"
mv "$WS/tmp-env" "$WS/.env.prod"
: >"$WS/go.new"
[ "$CALLER" != root ] || chown --reference="$WS" "$WS/go.new"
mv "$WS/go.new" "$WS/go"
wait "$job"
# Whether there was the time to cover it again is for 61-masks.
json_is "$T/out" '[(v["code"] in ("replaced", "remasked"), v["path"].rsplit("/", 1)[1]) for v in o["violations"]] == [(True, ".env.prod")]' \
	"a hidden file that the host replaced is told"
rm -rf "$WS/.env.new" "$WS/.claude" "$WS/other" "$WS/.netrc.x"
echo s >"$WS/.env.prod"
before=$(tree_of "$WS")

# --- two runs in one tree do not disturb each other (P41)
for ((i = 0; i < 12; i++)); do
	ab -- sh -c 'for i in 1 2 3 4 5; do ls .git/hooks >/dev/null && test -e .env || exit 1; done' >/dev/null 2>"$T/err$i" || : >"$T/bad$i" &
done
wait
is "$(ls "$T"/bad* 2>/dev/null | wc -l)" 0 "12 at once in one tree"
is "$(tree_of "$WS")" "$before" "and the tree is as it was"
no_sandbox_left "nothing is left"
done_testing
