#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# protect in git work trees: linked ones, submodules, hooksPath, includes. Commits work, what git on
# the host acts on stays, and a forged pointer gets nobody anything. DESIGN 3.1; P53, P54, P57, E13.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

if ! command -v git >/dev/null; then
	skip "git" "git is not installed"
	done_testing
fi
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
base_profile 'env: {pass: [GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL]}'

repo() { # DIR
	git -c init.defaultBranch=main init -q "$1"
	mkdir -p "$1/.git/hooks" "$1/.git/info"
	git -C "$1" commit -q --allow-empty -m one
}
repo "$WS/main"
git -C "$WS/main" worktree add -q "$WS/tree" -b side 2>"$T/err" || diag <"$T/err"
repo "$T/lib"
git -C "$WS/main" -c protocol.file.allow=always submodule --quiet add "$T/lib" sub 2>"$T/err" || diag <"$T/err"
git -C "$WS/main" commit -q -m sub
# Root owns what it made: the command is somebody else where ids are mapped.
[ "$CALLER" != root ] || chown -R --reference="$WS" "$WS/main" "$WS/tree"
host_git() {
	git -c safe.directory='*' "$@"
}

# --- commits, in each kind of work tree
for d in main tree main/sub; do
	before=$(host_git -C "$WS/$d" rev-list --count HEAD)
	expect_rc 0 "$d: status" ab --workdir "$WS/$d" -- git status
	expect_rc 0 "$d: add and commit" ab --workdir "$WS/$d" -- sh -c 'date >new && git add new && git commit -q -m two'
	is "$(host_git -C "$WS/$d" rev-list --count HEAD)" $((before + 1)) "$d: the commit is on the host"
done
expect_rc 0 "a linked work tree can be added" ab --workdir "$WS/main" -- git worktree add -q "$WS/more" -b more
check "and is there" test -f "$WS/more/.git"
rm -rf "$WS/more"
host_git -C "$WS/main" worktree prune

# --- what git on the host acts on
own=$WS/main/.git/worktrees/tree
mod=$WS/main/.git/modules/sub
for f in "$WS/main/.git/config" "$WS/main/.git/info/exclude" "$own/commondir" "$WS/tree/.git" "$mod/config" "$WS/main/sub/.git"; do
	name=${f#"$WS/"}
	outside Y "$name: write (control)" write "$f" "$(cat "$f")
"
	inside N "$name: write" write "$f" evil
	inside N "$name: rename" rename "$f" "$f.gone"
	inside N "$name: unlink" unlink "$f"
	inside N "$name: rename over it" rename "$WS/main/new" "$f"
done
for d in "$WS/main/.git/hooks" "$mod/hooks" "$mod/info"; do
	[ -d "$d" ] || continue
	inside N "${d#"$WS/"}: a new file in it" write "$d/pre-commit" evil
	inside N "${d#"$WS/"}: rename" rename "$d" "$d.gone"
done
for d in "$WS/main/.git" "$own" "$mod" "$WS/main/sub" "$WS/tree"; do
	inside N "${d#"$WS/"}: the directory cannot be moved" rename "$d" "$d.gone"
done
inside Y "objects (control)" write "$WS/main/.git/objects/probe" x
inside Y "index of the linked work tree (control)" write "$own/probe" x
rm -f "$WS/main/.git/objects/probe" "$own/probe"
expect_rc '1|4|128|255' "git config core.fsmonitor" ab --workdir "$WS/tree" -- git config core.fsmonitor ./e
expect_rc '1|4|128|255' "git config --worktree" ab --workdir "$WS/main" -- git config --worktree core.fsmonitor ./e
check_not "nothing of it is on the host" grep -rq fsmonitor "$WS/main/.git/config" "$mod/config"

# --- named by the configuration
mkdir -p "$WS/main/tools/hooks" "$WS/main/conf"
printf '[user]\n\tname = x\n' >"$WS/main/conf/git"
host_git -C "$WS/main" config core.hooksPath tools/hooks
host_git -C "$WS/main" config include.path ../conf/git
inside N "core.hooksPath: a new hook" write "$WS/main/tools/hooks/pre-commit" evil
inside N "core.hooksPath: what is above it" rename "$WS/main/tools" "$WS/main/tools2"
inside N "include.path: write" write "$WS/main/conf/git" evil
inside Y "beside them (control)" write "$WS/main/tools/plain" x
host_git -C "$WS/main" config --unset core.hooksPath
inside Y "no longer named: write (control)" write "$WS/main/tools/hooks/pre-commit" x
rm -f "$WS/main/tools/hooks/pre-commit"
# By ".." through a directory, in whose place a program could put another.
mkdir -p "$WS/main/x" "$WS/evil/x" "$WS/evil/tools/hooks"
host_git -C "$WS/main" config core.hooksPath x/../tools/hooks
inside N "core.hooksPath by ..: a new hook" write "$WS/main/tools/hooks/pre-commit" evil
inside N "the directory that it leaves: moved" rename "$WS/main/x" "$WS/main/y"
inside N "exchanged" rename "$WS/evil/x" "$WS/main/x"
expect_rc 1 "made a link" ab -- sh -c 'rmdir main/x 2>/dev/null && ln -s ../evil/x main/x'
inside Y "another directory (control)" rename "$WS/evil/x" "$WS/evil/y"
check "it is a directory still" test -d "$WS/main/x" -a ! -L "$WS/main/x"
rm -rf "$WS/evil" "$WS/main/x"
host_git -C "$WS/main" config core.hooksPath .
expect_rc 0 "a work tree whose hooks lie at its top is frozen there" ab -- true
inside N "its top" write "$WS/main/pre-commit" evil
host_git -C "$WS/main" config --unset core.hooksPath

# --- traps at the top of a work tree that is found
echo s >"$WS/tree/.env"
echo s >"$WS/main/sub/.npmrc"
mkdir "$WS/plain"
echo s >"$WS/plain/.env"
inside N "a trap in a linked work tree" write "$WS/tree/.env" x
inside N "a trap in a submodule" write "$WS/main/sub/.npmrc" x
inside Y "a directory that is no work tree (control)" write "$WS/plain/.env" x

# --- pointers that an earlier run made
repo "$T/secret"
before=$(tree_of "$T/secret")
forged() { # TEXT DESCRIPTION
	mkdir -p "$WS/forged"
	printf '%s\n' "$1" >"$WS/forged/.git"
	expect_rc 0 "forged: $2: a run goes on" ab -- true
	expect_rc 0 "forged: $2: nothing of it is there" ab -- sh -c '! test -e "$1" && ! grep -qF "$1" /proc/self/mountinfo' - "$T/secret"
	inside N "forged: $2: it is not written" write "$T/secret/.git/config" evil
}
forged "gitdir: $T/secret/.git" "another repository"
forged "gitdir: ../../secret/.git" "the same by .."
ln -s "$T/secret" "$WS/way"
forged "gitdir: ../way/.git" "the same by a link"
mkdir "$WS/own"
echo "ref: refs/heads/main" >"$WS/own/HEAD"
echo "$T/secret/.git" >"$WS/own/commondir"
forged "gitdir: ../own" "by commondir"
printf '[core]\n\thooksPath = %s\n\tworktree = %s\n[include]\n\tpath = %s\n' "$T/secret/.git/hooks" "$T/secret" \
	"$T/secret/.git/config" >"$WS/own/config"
rm "$WS/own/commondir"
forged "gitdir: ../own" "by its configuration"
mkfifo "$WS/own/pipe"
printf '[include]\n\tpath = pipe\n\tpath = /dev/zero\n' >"$WS/own/config"
forged "gitdir: ../own" "to a FIFO and a device"
is "$(tree_of "$T/secret")" "$before" "that repository is as it was"
rm -rf "$WS/forged" "$WS/own" "$WS/way"

# --- many linked work trees: one mount for all, and work goes on in the one that is here
for ((i = 0; i < 40; i++)); do
	mkdir "$WS/main/.git/worktrees/other$i"
	printf '../..\n' >"$WS/main/.git/worktrees/other$i/commondir"
	printf '%s\n' "/nowhere/$i/.git" >"$WS/main/.git/worktrees/other$i/gitdir"
	printf 'ref: refs/heads/main\n' >"$WS/main/.git/worktrees/other$i/HEAD"
done
[ "$CALLER" != root ] || chown -R --reference="$WS" "$WS/main/.git/worktrees"
expect_rc 0 "with 41 of them: a commit here" ab --workdir "$WS/tree" -- git commit -q --allow-empty -m three
inside N "another one: commondir" write "$WS/main/.git/worktrees/other7/commondir" evil
inside N "another one: its directory" rename "$WS/main/.git/worktrees/other7" "$WS/main/.git/worktrees/gone"
inside N "this one: commondir" write "$own/commondir" evil
inside N "this one: its directory" rename "$own" "$own.gone"
inside N "all of them" rename "$WS/main/.git/worktrees" "$WS/main/.git/gone"
inside Y "this one: its index (control)" write "$own/probe" x
expect_rc 120 "check: another one's index" "$AGENTBOX" check -p "$P" write_file "$WS/main/.git/worktrees/other7/index"
expect_rc 0 "check: this one's" "$AGENTBOX" check -p "$P" write_file "$own/index"
rm -rf "$WS"/main/.git/worktrees/other* "$own/probe"

# --- check says what the mounts do
expect_rc 120 "check: the configuration of the linked work tree's repository" \
	"$AGENTBOX" check -p "$P" write_file "$own/commondir"
expect_rc 0 "check: its index" "$AGENTBOX" check -p "$P" write_file "$own/index"

before=$(tree_of "$WS")
for ((i = 0; i < 8; i++)); do
	ab_start -- sleep 5 >/dev/null 2>&1
	sleep "0.0$i"
	kill -9 "$sup" 2>/dev/null
	wait "$sup" 2>/dev/null
done
is "$(tree_of "$WS")" "$before" "killed at any moment: the tree is as it was"
no_sandbox_left "nothing is left"
done_testing
