#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The live suites of /src/suites, on the guest's own kernel. Each that says nothing, or only skips, is
# a failure.
ip link set lo up
for suite in $(cat /src/suites); do
	before=$SECONDS n=0
	while IFS= read -r line; do
		case $line in
		'ok '[0-9]* | 'not ok '[0-9]*)
			[[ $line == *'# SKIP'* ]] || n=$((n + 1))
			[[ $line =~ ^((not )?ok)\ [0-9]+\ -\ (.*)$ ]] &&
				line="${BASH_REMATCH[1]} - $suite: ${BASH_REMATCH[3]}"
			;;
		esac
		echo "$line"
	done < <(AGENTBOX=/usr/bin/agentbox PROBE=/usr/bin/probe INJECT=/usr/bin/inject DENY=/usr/bin/deny-syscall \
		AGENTBOX_SLOWER=4 bash /src/tests/live/"$suite".sh </dev/null 2>&1; echo "# status $?")
	is "$((n > 0))" 1 "$suite: $n checks of it were made"
	echo "# $suite: $((SECONDS - before)) s"
done
