#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each name that `protect` knows, as a file, a directory and a link: what is done to it inside, beside
# the same acts outside. What is absent is told when it comes. DESIGN 3.1; E13, P34, P35.
. "$(dirname "$0")/lib.sh" || exit 1
as_callers

FROZEN=".envrc .mcp.json .vscode .idea .claude .codex .gemini .cursor .husky .npmrc .yarnrc.yml .pre-commit-config.yaml"
HIDDEN=".env .env.local .netrc"
NAMES="$FROZEN $HIDDEN"

cat >"$T/bin/acts.sh" <<'SH'
# acts.sh SHAPE NAME...: every act on each name, in the working directory. With $REMAKE it is made
# anew before each.
shape=$1
shift
make() {
	[ -n "$REMAKE" ] || return 0
	rm -rf "$n" moved other
	case $shape in
	file) echo old >"$n" ;;
	directory) mkdir "$n" && echo old >"$n/f" ;;
	link) ln -s "${LINK:-plain}" "$n" ;;
	esac
}
try() { # WHAT CMD...
	what=$1
	shift
	make
	if "$@" >/dev/null 2>&1; then echo "$n $what done"; else echo "$n $what refused"; fi
	rm -rf moved other 2>/dev/null
}
over() {
	if [ "$shape" = directory ]; then mkdir other; else echo evil >other; fi
	# A directory is replaced by an exchange: rename(2) takes none that holds something.
	if [ "$shape" = directory ]; then rm "$n/f" && mv -T other "$n"; else mv -fT other "$n"; fi
}
write() {
	if [ -d "$n" ]; then echo evil >"$n/new"; else echo evil >>"$n"; fi
}
for n; do
	try write write
	try rename mv -T "$n" moved
	try rename-over over
	try remove rm -r "$n"
	[ "$shape" = directory ] || try link-over ln -f plain "$n"
	[ "$shape" = directory ] || try symlink-over ln -sfT /tmp "$n"
done
SH

for shape in file directory link; do
	rm -rf "$T/control" "${WS:?}"/.[a-z]*
	mkdir "$T/control"
	echo plain | tee "$T/control/plain" >"$WS/plain"
	for n in $NAMES; do
		case $shape in
		file) echo old >"$WS/$n" ;;
		directory) mkdir "$WS/$n" && echo old >"$WS/$n/f" ;;
		link) ln -s plain "$WS/$n" ;;
		esac
	done
	before=$(tree_of "$WS")
	# shellcheck disable=SC2086
	(cd "$T/control" && REMAKE=1 sh "$T/bin/acts.sh" $shape $NAMES) >"$T/outside" 2>"$T/err"
	# shellcheck disable=SC2086
	ab -- sh "$T/bin/acts.sh" $shape $NAMES >"$T/inside" 2>"$T/err"
	is "$(grep -vc ' done$' "$T/outside")" 0 "a $shape: each act on each name, outside (control)"
	is "$(wc -l <"$T/inside")" "$(wc -l <"$T/outside")" "a $shape: all were tried ($(wc -l <"$T/inside"))"
	is "$(grep -v ' refused$' "$T/inside")" "" "a $shape: none inside"
	is "$(tree_of "$WS")" "$before" "a $shape: the host's tree is as it was"
	if [ "$shape" = file ]; then
		# shellcheck disable=SC2086
		is "$(ab -- sh -c 'for n; do grep -q old "$n" 2>/dev/null && printf "%s " "$n"; done' sh $NAMES)" "$FROZEN " \
			"a $shape: the frozen are read, the hidden are not"
	fi
done
rm -rf "$T/control" "${WS:?}"/.[a-z]*

# --- none of them: making one is told, all of them are
# shellcheck disable=SC2086
ab --json -- sh -c 'for n; do echo x >"$n"; done; echo x >other' sh $NAMES >"$T/out" 2>"$T/err"
json_is "$T/out" 'sorted(v["path"].rsplit("/", 1)[1] for v in o["violations"]) == sorted("'"$NAMES"'".split())' \
	"absent names that came are told, each of them"
rm -rf "${WS:?}"/.[a-z]* "$WS/other"

# --- links out of the root, as those who keep their dotfiles elsewhere have them (P34)
mkdir "$T/dotfiles"
echo theirs >"$T/dotfiles/npmrc"
ln -s "$T/dotfiles/npmrc" "$WS/.npmrc"
ln -s /usr/share "$WS/.vscode"
expect_rc 0 "links to elsewhere: the command starts" ab -- true
for f in .npmrc .vscode; do
	inside N "$f, a link to elsewhere: unlink" unlink "$WS/$f"
	inside N "$f: rename" rename "$WS/$f" "$WS/moved"
	inside N "$f: rename over it" rename "$WS/plain" "$WS/$f"
	check "$f: it is the link that it was" test -L "$WS/$f"
done
inside N ".npmrc: written through it" write "$WS/.npmrc" x
is "$(cat "$T/dotfiles/npmrc")" theirs "its end is as it was"
ln -s "$T/dotfiles/npmrc" "$WS/npmrc"
inside Y "another name: unlink (control)" unlink "$WS/npmrc"
rm -rf "${WS:?}"/.[a-z]*

# --- hooks that are a link, into the root and out of it (P35)
mkdir -p "$WS/.git/objects" "$WS/.git/refs" "$WS/tracked" "$WS/beside" "$T/elsewhere"
echo 'ref: refs/heads/main' >"$WS/.git/HEAD"
echo '[core]' >"$WS/.git/config"
for end in ../tracked "$T/elsewhere"; do
	ln -sfn "$end" "$WS/.git/hooks"
	expect_rc 0 "hooks -> ${end#"$T"}: the command starts" ab -- true
	inside N "hooks -> ${end#"$T"}: a new hook" write "$WS/.git/hooks/pre-commit" evil
	inside N "hooks -> ${end#"$T"}: the link is not removed" unlink "$WS/.git/hooks"
	inside N "hooks -> ${end#"$T"}: nor moved" rename "$WS/.git/hooks" "$WS/.git/old"
done
ln -sfn ../tracked "$WS/.git/hooks"
inside N "where they are: a new hook" write "$WS/tracked/pre-commit" evil
inside N "where they are: moved away" rename "$WS/tracked" "$WS/tracked2"
inside Y "beside them (control)" write "$WS/beside/pre-commit" x
inside Y "and moved (control)" rename "$WS/beside" "$WS/beside2"
check "nothing came to them" rmdir "$WS/tracked" "$T/elsewhere"
rm "$WS/.git/hooks"

# --- the other names of a git directory: as links into the root and out of it, and absent
mkdir -p "$WS/tracked/info" "$T/elsewhere/info"
for d in "$WS/tracked" "$T/elsewhere"; do
	printf '[core]\n' | tee "$d/config" >"$d/config.worktree"
	echo ../.git >"$d/commondir"
	echo x >"$d/info/exclude"
done
GIT="config config.worktree commondir info"
for end in ../tracked "$T/elsewhere"; do
	for n in $GIT; do ln -sfn "$end/$n" "$WS/.git/$n"; done
	rm -rf "$T/control"
	mkdir "$T/control"
	cp -r "$T/elsewhere" "$T/control/tracked"
	echo plain | tee "$T/control/plain" >"$WS/.git/plain"
	before=$(tree_of "$WS"; tree_of "$T/elsewhere")
	# shellcheck disable=SC2086
	(cd "$T/control" && for n in $GIT; do REMAKE=1 LINK=tracked/$n sh "$T/bin/acts.sh" link $n; done) >"$T/outside" 2>"$T/err"
	# shellcheck disable=SC2086
	ab -- sh -c 'cd .git && exec sh "$@"' sh "$T/bin/acts.sh" link $GIT >"$T/inside" 2>"$T/err"
	is "$(grep -c ' done$' "$T/outside")" 24 "git's names -> ${end#"$T"}: each act on each name, outside (control)"
	is "$(grep -c ' refused$' "$T/inside"; grep ' done$' "$T/inside")" 24 "git's names -> ${end#"$T"}: none inside"
	is "$(tree_of "$WS"; tree_of "$T/elsewhere")" "$before" "git's names -> ${end#"$T"}: the host's are as they were"
done
for n in $GIT; do rm "$WS/.git/$n"; done
expect_rc 0 "without any of them: the command starts" ab -- true
ab --json -- sh -c 'cd .git && mkdir info hooks && for n in config config.worktree commondir; do echo x >$n; done && echo x >packed-refs' \
	>"$T/out" 2>"$T/err"
json_is "$T/out" 'o["rc"] == 0 and sorted((v["path"].split("/.git/")[1], v["code"], v["protect"]) for v in o["violations"]) == [(n, "appeared", "freeze") for n in ("commondir", "config", "config.worktree", "hooks", "info")]' \
	"git's absent names that came are told, each of them"
check "and stay" test -d "$WS/.git/info" -a -s "$WS/.git/commondir" -a -s "$WS/.git/config.worktree"
no_sandbox_left "nothing is left"
done_testing
