#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Clients of every kind through a network of names, with nothing set up for them. The rows are in
# egress-battery.py. Root's over a link between two namespaces, the ordinary user's without one.
. "$(dirname "$0")/lib.sh" || exit 1
. "$(dirname "$0")/egress.sh"
LIVE_TIMEOUT=560

eval "$(declare -f live_setup | sed '1s/live_setup/egress_setup/')"
live_setup() {
	[ "$EUID" = 0 ] || return 0
	egress_setup "$@" || return 1
	local www=$LIVE/net/www repo=$LIVE/repo
	mkdir "$www" "$LIVE/clients" "$repo"
	"$PYTHON" -I "$LIVE/lib/egress-www.py" "$www"
	echo "what is in the repository" >"$repo/file"
	env -i PATH="$PATH" HOME="$LIVE" GIT_CONFIG_NOSYSTEM=1 sh -ec "
		cd '$repo'; git init -q -b main .; git add file
		git -c user.name=x -c user.email=x@example.test commit -q -m x
		git clone -q --bare . '$www/repo.git'; cd '$www/repo.git'; git update-server-info
		cd '$www/index'; git init -q -b main .; git add .
		git -c user.name=x -c user.email=x@example.test commit -q -m x
		git clone -q --bare . '$www/index.git'; cd '$www/index.git'; git update-server-info" 2>/dev/null
	gcc -O1 -static -w -o "$LIVE/clients/egress-static-glibc" "$1/tests/live/egress-static.c" 2>/dev/null
	musl-gcc -O1 -static -w -o "$LIVE/clients/egress-static-musl" "$1/tests/live/egress-static.c" 2>/dev/null
	if command -v javac >/dev/null; then
		cat >"$LIVE/Get.java" <<-'J'
			import java.net.*;
			import java.net.http.*;
			public class Get {
				public static void main(String[] a) throws Exception {
					var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(),
						HttpResponse.BodyHandlers.ofString());
					System.out.println(r.statusCode() + " " + r.body());
					System.exit(r.statusCode() == 200 ? 0 : 1);
				}
			}
		J
		javac -d "$LIVE/clients" "$LIVE/Get.java"
	fi
	if command -v go >/dev/null; then
		env -i PATH="$PATH" HOME="$LIVE" GO111MODULE=off CGO_ENABLED=0 GOCACHE="$LIVE/gocache" GOTOOLCHAIN=local \
			go build -o "$LIVE/clients/egress-go" "$1/tests/live/egress-get.go"
		rm -rf "$LIVE/gocache"
	fi
	chmod -R a+rX "$LIVE/net" "$LIVE/clients"
	return 0
}
as_callers root user

if [ ! -d "$LIVE/net" ]; then
	skip_without_root "clients through a network of names" "servers of its own need root"
	done_testing
fi
profile clients <<-YAML
	sandbox:
	  roots:
	    - {path: "$WS", mode: rw}
	    - {path: "$LIVE/net/cert.pem", at: /ca.pem, mode: ro}
	    - {path: "$LIVE/clients", at: /clients, mode: ro}
	  network:
	    allow: ["web.example.test", "*.wild.example.test:443", "only80.example.test:80", "git.example.test:22"]
	permissions:
	  agents: {me: allow}
YAML
way=()
[ "$CALLER" = root ] || way=("$DENY" EOPNOTSUPP sendto:100 --)
export BATTERY_PATH="$LIVE/clients:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
py "$LIVE/lib/egress-battery.py" "${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$P" >"$T/battery"
rc=$?
cat "$T/battery"
[ "$rc" = 0 ] || fail "the battery ended early, with status $rc"
LIVE_FAILED=$((LIVE_FAILED + $(grep -c '^not ok' "$T/battery")))
# --- packages from one mirror, as the lock file has them: R081
M=$WS/mirror
mkdir "$M"
echo '{"name": "m", "version": "1.0.0", "dependencies": {"hello-box": "1.0.0"}}' >"$M/package.json"
lock() { # INTEGRITY
	cat >"$M/package-lock.json" <<-J
		{"name": "m", "version": "1.0.0", "lockfileVersion": 3, "packages": {
		"": {"name": "m", "version": "1.0.0", "dependencies": {"hello-box": "1.0.0"}},
		"node_modules/hello-box": {"version": "1.0.0", "integrity": "$1",
		"resolved": "http://other.example.test/www/npm/hello-box-1.0.0.tgz"}}}
	J
}
lock "$(py -c 'import json, sys
print(json.load(open(sys.argv[1]))["versions"]["1.0.0"]["dist"]["integrity"])' "$LIVE/net/www/npm/hello-box.json")"
cat >"$T/mirror.yaml" <<-YAML
	extends: [builtin:npm-mirror]
	sandbox:
	  network: {allow: ["web.example.test"]}
	  env: {set: {npm_config_registry: "http://web.example.test/www/npm/"}}
YAML
mirror() {
	"${way[@]}" "$AGENTBOX" run -q --state "$STATE" -p "$T/mirror.yaml" -w "$M" -- "$@"
}
expect_rc 0 "npm-mirror: npm ci with the hash of the lock" mirror npm ci --fetch-retries 0
expect_out "hello of npm" "npm-mirror: the package is there" mirror node -p 'require("hello-box")'
cp "$M/package-lock.json" "$T/lock"
expect_rc "1|2" "npm-mirror: the lock is not the command's to write" mirror sh -c 'echo >>package-lock.json'
check "npm-mirror: and is as it was" cmp "$T/lock" "$M/package-lock.json"
expect_rc 0 "npm-mirror: what is installed is (control)" mirror sh -c 'echo >>node_modules/hello-box/index.js'
lock "sha512-$(head -c 64 /dev/zero | base64 -w 0)"
expect_rc 1 "npm-mirror: npm ci with another hash" mirror npm ci --fetch-retries 0
like "$(cat "$T/out" "$T/err")" EINTEGRITY "npm-mirror: says which check failed"
check_not "nothing that was not allowed was asked for" asked evil.test
check_not "no connection but the allowed ones" connected '^443 .*only80'
no_sandbox_left "no process is left"
done_testing
