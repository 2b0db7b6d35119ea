#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules: globs, and the five-rule policy whose catch-all must leave no dot path open. What nothing
# backs yet for programs is answered by check and refused by run, beside the same profile without it.
. "${0%/*}/lib.sh"
as_callers
for d in workspace/src workspace/.git reports; do
	mkdir -p "$T/d/$d"
done
for f in workspace/.env workspace/notes.txt workspace/src/main.c workspace/src/.env reports/q3.md; do
	echo "$f" >"$T/d/$f"
done
c() {
	"$AGENTBOX" check -p "$P" "$@"
}

# --- five rules (R020), in the words of the tool they come from
profile five <<YAML
sandbox:
  roots:
    - {path: "$T/d/workspace", at: /workspace, mode: rw}
    - {path: "$T/d/reports", at: /reports, mode: rw}
  protect: {except: [.env]}
permissions:
  agents:
    a:
      rules:
        - {operations: [read, write], paths: ["/workspace/.env", "/secrets/**"], mode: deny}
        - {operations: [write], paths: ["/reports/**"], mode: interrupt}
        - {operations: [read], paths: ["/workspace/**", "/reports/**"], mode: allow}
        - {operations: [write], paths: ["/workspace/**"], mode: allow}
        - {operations: [read, write], paths: ["/**"], mode: deny}
YAML
expect_rc 0 "five rules: reading the workspace" c read_file /workspace/notes.txt
expect_rc 0 "writing there" c write_file /workspace/new.txt
expect_rc 120 "its .env is not read" c read_file /workspace/.env
expect_rc 120 "nor written" c write_file /workspace/.env
expect_rc 0 "reading a report" c read_file /reports/q3.md
expect_rc 122 "writing one waits for a person" c write_file /reports/q3.md
expect_rc 120 "a secret" c read_file /secrets/key
expect_rc 120 "a hidden secret" c read_file /secrets/.token
expect_rc 120 "a key elsewhere" c read_file /root/.ssh/id_rsa
expect_rc 120 "a dot file elsewhere" c write_file /outside/.bashrc
expect_rc 120 "a git hook, which is protected" c write_file /workspace/.git/hooks/pre-commit
expect_rc 0 "a dot file in the workspace (control)" c read_file /workspace/src/.env

# --- globs (R022), R023 is in the table of broken profiles
profile globs <<YAML
sandbox: {roots: [{path: "$T/d/workspace", at: /workspace, mode: rw}]}
permissions:
  agents:
    me:
      rules:
        - {operations: [read], paths: ["/**/.env"], mode: deny}
        - {operations: [read], paths: ["/workspace/{src,lib}/*.[ch]", "/workspace/n*"], mode: allow}
        - {operations: [read], paths: ["/workspace/docs/**/*.md"], mode: allow}
        - {operations: [execute], commands: ["*"], mode: allow}
YAML
expect_rc 0 "alternatives, star and set" c read_file /workspace/src/main.c
expect_rc 120 "another ending" c read_file /workspace/src/main.o
expect_rc 120 "deeper down" c read_file /workspace/src/x/main.c
expect_rc 0 "a star at the end" c read_file /workspace/notes.txt
expect_rc 120 "in another case" c read_file /workspace/Notes.txt
globs=$P
for f in src/.env .env; do
	expect_rc 120 "'**' reaches dot paths: $f" c read_file "/workspace/$f"
done
mkdir -p "$T/d/workspace/docs/a/.b"
expect_rc 0 "any depth, dot names too" c read_file /workspace/docs/a/.b/c.md
expect_rc 0 "none at all" c read_file /workspace/docs/c.md
expect_rc 120 "another root of the same prefix" c read_file /workspace/docs2/c.md

# --- what no mount stands for yet
expect_rc 125 "a run with such rules is refused" ab -- true
like "$(cat "$T/err")" "globs.yaml:6:11: '/\*\*/.env' is finer than the root '/workspace'.*'check' answers" \
	"at the rule, and says why"
check_not "and leaves no record" test -e "$STATE"
sed '/\.env\|docs/d; s#"/workspace/{.*#"/work{space,}/**"], mode: allow}#' "$globs" >"$T/whole.yaml"
P=$T/whole.yaml
expect_out workspace/notes.txt "the same with a pattern that covers the root runs (control)" \
	ab -- cat /workspace/notes.txt
done_testing
