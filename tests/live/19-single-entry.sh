#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# One way in: no verb that acts for an agent executes, or opens what was asked for, without a decision
# that says allow. The same agent but for its rules is the control (R035).
. "${0%/*}/lib.sh"
as_callers
if ! command -v strace >/dev/null || ! strace -o "$T/trace" true 2>/dev/null; then
	skip "what the launcher asks of the kernel" "no strace here"
	done_testing
fi
# Deeper than the levels at which a root is looked through for sockets.
D=$WS/a/b/asked-for-dir
F=$D/asked-for
mkdir -p "$D"
echo text >"$F"
install -m 755 /dev/stdin "$D/asked-for.sh" <<<$'#!/bin/sh\nexit 0'
profile single <<YAML
sandbox: {roots: [{path: "$WS", mode: rw}]}
permissions:
  agents:
    may: allow
    waits:
      rules:
        - {operations: [read, write], paths: ["$WS/**"], mode: interrupt}
        - {operations: [execute], commands: ["*"], mode: interrupt}
    none: {rules: [{operations: [read], paths: [/elsewhere/**], mode: allow}]}
YAML

# Verbs that do nothing on behalf of an agent but answer, and so take no way in. A verb that is in
# neither list is new, and belongs into one of them.
ANSWERS=(check audit doctor selftest explain lint test profiles init schema help)
is "$("$AGENTBOX" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort)" \
	"$(printf '%s\n' run tool "${ANSWERS[@]}" | sort)" "run and tool are the verbs that act"

trace() { # AGENT VERB ARGS...
	local agent=$1 verb=$2
	shift 2
	strace -f -s 4096 -e trace=%process,%file,unshare,setns,write,pwrite64,writev -o "$T/trace" \
		"$AGENTBOX" "$verb" --state "$STATE" -p "$P" -a "$agent" "$@" \
		>"$T/out" 2>"$T/err" <<<new
}
# Of a process that nobody may look into strace cannot read a name: it counts as the one asked for.
OPENS='^[0-9]+ +open(at2?)?\(([^,]*, )?("[^"]*asked-for|0x[0-9a-f]+, )'
# What makes a process or a namespace, executes, or opens the resource for more than its name. The
# first line is agentbox itself.
acts() {
	sed 1d "$T/trace" | grep -E "^[0-9]+ +(clone3?|v?fork|unshare|setns|execve(at)?)\(|$OPENS" |
		grep -v 'O_PATH'
}
# The record of the decision, and whatever executes or opens the resource, in their order.
order() {
	sed 1d "$T/trace" | grep -E '"\{\\"v\\":1,.*\\"event\\":\\"decision|^[0-9]+ +execve\(|'"$OPENS" |
		grep -v O_PATH | sed -E 's/^[0-9]+ +(write|pwrite64|writev)\(.*/decision/; s/^[0-9]+ +(exec|open).*/act/' | uniq
}
while read -r verb args; do
	args=${args//@F/$F}
	args=${args//@D/$D}
	read -ra args <<<"$args"
	what="$verb ${args[*]//$WS\//}"
	for agent in none:120 waits:122 nobody:120; do
		trace "${agent%:*}" "$verb" "${args[@]}"
		is "$?" "${agent#*:}" "$what: ${agent%:*} gets ${agent#*:}"
		is "$(acts)" "" "$what: and nothing was started or opened"
		unlike "$(cat "$T/out")" '(^|[^a-z])text' "$what: nor told"
	done
	trace may "$verb" "${args[@]}"
	is "$?" 0 "$what: who may does (control)"
	unlike "$(acts)" "^\$" "$what: by what was looked for above"
	is "$(order)" $'decision\nact' "$what: after the decision is written"
	echo text >"$F"
done <<'ROWS'
run -- cat @F
run -- sh @D/asked-for.sh
run -- @D/asked-for.sh
run -c @D/asked-for.sh
run -i -- cat @F
run --json -- cat @F
tool read @F
tool --json read @F
tool write @F
tool ls @D
ROWS
no_sandbox_left "no process is left"
done_testing
