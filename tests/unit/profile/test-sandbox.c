/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common.h"
#include "profile/dump.h"

static void test_roots_values(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p =
		common_good(t, &a,
			    "sandbox:\n"
			    "  roots:\n"
			    "    - .\n"
			    "    - ./x\n"
			    "    - y/z/\n"
			    "    - ~/data\n"
			    "    - {path: /opt/tool, at: /tool, mode: ro}\n"
			    "    - {path: /srv/out, at: /tmp/out, mode: rw, optional: true}\n"
			    "permissions: {}\n");
	static const struct {
		const char *path, *at;
		enum profile_mode mode;
		bool optional;
		unsigned line;
	} want[] = {
		{ "/srv/p", "/srv/p", PROFILE_MODE_RIGHTS, false, 3 },
		{ "/srv/p/x", "/srv/p/x", PROFILE_MODE_RIGHTS, false, 4 },
		{ "/srv/p/y/z", "/srv/p/y/z", PROFILE_MODE_RIGHTS, false, 5 },
		{ "/home/u/data", "/home/u/data", PROFILE_MODE_RIGHTS, false, 6 },
		{ "/opt/tool", "/tool", PROFILE_MODE_RO, false, 7 },
		{ "/srv/out", "/tmp/out", PROFILE_MODE_RW, true, 8 },
	};

	if (p == NULL || !tap_int(t, (long long)p->sandbox.roots.n, ARRAY_SIZE(want), "six roots"))
		goto out;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct profile_root *r = &p->sandbox.roots.v[i];

		tap_str(t, r->path, want[i].path, "path");
		tap_str(t, r->at, want[i].at, "at");
		tap_int(t, r->mode, want[i].mode, "mode");
		tap_int(t, r->optional, want[i].optional, "optional");
		tap_int(t, r->pos.line, want[i].line, "line");
		tap_int(t, r->pos.col, 7, "column");
		tap_str(t, r->pos.file, "p.yaml", "file");
	}
out:
	arena_free(&a);
}

static const struct common_row roots[] = {
	{ SANDBOX("roots: []"), 0, 0, NULL },
	{ SANDBOX("roots: [/a, /b]"), 0, 0, NULL },
	{ SANDBOX("roots: [/a, {path: /b, at: /a}]"), 1, 23, "two roots at '/a'" },
	{ SANDBOX("roots: [/a, /a/b]"), 0, 0, NULL },
	{ SANDBOX("roots: [/a//b]"), 1, 19, "'//'" },
	{ SANDBOX("roots: [{path: /etc, at: /x}]"), 1, 19, "root '/etc' is or contains /etc" },
	{ SANDBOX("roots: [/w, {path: /, at: /x}]"), 1, 23, "is or contains /" },
	{ SANDBOX("roots: [/home]"), 1, 19, "it would hide /home/agent" },
	{ SANDBOX("roots: [{path: /home, at: /x}]"), 1, 19, "is or contains /home" },
	{ SANDBOX("roots: [{path: /sys/kernel, at: /x}]"), 1, 19, "kernel file system" },
	{ SANDBOX("roots: [{path: /etc/x, at: /x}]"), 0, 0, NULL },
	{ SANDBOX("roots: [/a/./b]"), 1, 19, "without '.'" },
	{ SANDBOX("roots: [../x]"), 1, 19, "without '..'" },
	{ SANDBOX("roots: [/a/../b]"), 1, 19, "without '..'" },
	{ SANDBOX("roots: [..x, x.., ...]"), 0, 0, NULL },
	{ SANDBOX("roots: [~]"), 1, 19, "has no value" },
	{ SANDBOX("roots: ['~']"), 1, 19, "only as '~/name'" },
	{ SANDBOX("roots: [~bob/x]"), 1, 19, "only as '~/name'" },
	{ SANDBOX("roots: ['']"), 1, 19, "empty" },
	{ SANDBOX("roots: [\"a\\tb\"]"), 1, 19, "tab or a line break" },
	{ SANDBOX("roots: [[x]]"), 1, 19, "a root must be a map, not a list" },
	{ SANDBOX("roots: {a: b}"), 1, 18, "'roots' must be a list, not a map" },
	{ SANDBOX("roots: [{at: /x}]"), 1, 19, "needs a 'path'" },
	{ SANDBOX("roots: [{path: x, mdoe: ro}]"), 1, 29, "unknown key 'mdoe'" },
	{ SANDBOX("roots: [{path: x, mode: r}]"), 1, 35, "'mode' must be ro or rw, not 'r'" },
	{ SANDBOX("roots: [{path: x, mode: overlay}]"), 1, 35, "'mode' must be ro or rw" },
	{ SANDBOX("roots: [{path: x, optional: 1}]"), 1, 39, "true or false" },
	{ SANDBOX("roots: [{path: x, labels: x}]"), 1, 29, "unknown key 'labels'" },
	/* at */
	{ SANDBOX("roots: [{path: x, at: x}]"), 1, 33, "must start with '/'" },
	{ SANDBOX("roots: [{path: x, at: ~/x}]"), 1, 33, "as seen inside" },
	{ SANDBOX("roots: [{path: x, at: /x/}]"), 1, 33, "slash at the end" },
	{ SANDBOX("roots: [{path: x, at: /x/../y}]"), 1, 33, "without '..'" },
	{ SANDBOX("roots: [{path: x, at: /}]"), 1, 33, "cannot be '/'" },
	{ SANDBOX("roots: [/]"), 1, 19, "choose another place with 'at'" },
	{ SANDBOX("roots: [/usr/src/linux]"), 1, 19, "/usr is not for roots: choose" },
	{ SANDBOX("roots: [{path: /usr/src/linux, at: /linux}]"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: x, at: /usr}]"), 1, 33, "/usr is not for roots" },
	{ SANDBOX("roots: [{path: x, at: /usrx}]"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: x, at: /bin}]"), 1, 33, "/bin is not" },
	{ SANDBOX("roots: [{path: x, at: /sbin/a}]"), 1, 33, "/sbin is not" },
	{ SANDBOX("roots: [{path: x, at: /lib}]"), 1, 33, "/lib is not" },
	{ SANDBOX("roots: [{path: x, at: /lib32}]"), 1, 33, "/lib32 is not" },
	{ SANDBOX("roots: [{path: x, at: /lib64/a}]"), 1, 33, "/lib64 is not" },
	{ SANDBOX("roots: [{path: x, at: /libx32}]"), 1, 33, "/libx32 is not" },
	{ SANDBOX("roots: [{path: x, at: /etc/a}]"), 1, 33, "/etc is not" },
	{ SANDBOX("roots: [{path: x, at: /opt/a}]"), 1, 33, "/opt is not" },
	{ SANDBOX("roots: [{path: x, at: /nix/store}]"), 1, 33, "/nix is not" },
	{ SANDBOX("roots: [{path: x, at: /gnu/store}]"), 1, 33, "/gnu is not" },
	{ SANDBOX("roots: [{path: x, at: /proc/1}]"), 1, 33, "/proc is not" },
	{ SANDBOX("roots: [{path: x, at: /dev/shm}]"), 1, 33, "/dev is not" },
	{ SANDBOX("roots: [{path: x, at: /sys}]"), 1, 33, "/sys is not" },
	{ SANDBOX("roots: [{path: x, at: /run/a}]"), 1, 33, "/run is not" },
	{ SANDBOX("roots: [{path: x, at: /tmp}]"), 1, 33, "would hide /tmp" },
	{ SANDBOX("roots: [{path: x, at: /tmp/x}]"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: x, at: /var/tmp}]"), 1, 33, "would hide /var/tmp" },
	{ SANDBOX("roots: [{path: x, at: /var}]"), 1, 33, "would hide /var/tmp" },
	{ SANDBOX("roots: [{path: x, at: /var/lib/x}]"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: x, at: /home}]"), 1, 33, "would hide /home/agent" },
	{ SANDBOX("roots: [{path: x, at: /home/agent}]"), 1, 33, "would hide /home/agent" },
	{ SANDBOX("roots: [{path: x, at: /home/agent/x}]"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: x, at: /home/other}]"), 0, 0, NULL },
};

static const struct common_row blocks[] = {
	{ SANDBOX("base: host"), 0, 0, NULL },
	{ SANDBOX("base: minimal"), 0, 0, NULL },
	{ SANDBOX("base: Host"), 1, 17, "'base' must be host or minimal, not 'Host'" },
	{ SANDBOX("base: [host]"), 1, 17, "'base' must be host or minimal, not a list" },
	{ SANDBOX("base: {}"), 1, 17, "needs 'path', or 'from: host' with 'add'" },
	{ SANDBOX("base: {path: /x}"), 0, 0, NULL },
	{ SANDBOX("base: {path: ''}"), 1, 24, "'path' is empty" },
	{ SANDBOX("base: {path: ../x}"), 1, 24, "without '..'" },
	{ SANDBOX("base: {path: /x, from: host}"), 1, 28, "either a 'path', or 'from'" },
	{ SANDBOX("base: {path: /x, add: [/y]}"), 1, 28, "either a 'path', or 'from'" },
	{ SANDBOX("base: {from: path}"), 1, 24, "'from' must be host or minimal" },
	{ SANDBOX("base: {add: [/y]}"), 1, 17, "needs 'path', or 'from: host'" },
	{ SANDBOX("base: {from: host, ad: [/y]}"), 1, 30, "unknown key 'ad'" },
	{ SANDBOX("base: {from: host, add: /y}"), 1, 35, "'add' must be a list" },
	{ SANDBOX("base: {from: host, add: []}"), 0, 0, NULL },
	{ SANDBOX("base: {from: minimal, add: [~/.nvm, /opt/x, y]}"), 0, 0, NULL },
	{ SANDBOX("base: {from: host, add: [/proc/1]}"), 1, 36, "/proc inside is the sandbox's" },
	{ SANDBOX("base: {from: host, add: [/run/x]}"), 1, 36, "/run inside is the sandbox's" },
	{ SANDBOX("base: {from: host, add: [/tmp]}"), 1, 36, "would hide /tmp" },
	{ SANDBOX("base: {from: host, add: [/tmp/x]}"), 0, 0, NULL },
	{ SANDBOX("base: {from: host, add: [/var]}"), 1, 36, "would hide /var/tmp" },
	{ SANDBOX("base: {from: host, add: [/home]}"), 1, 36, "would hide /home/agent" },
	{ SANDBOX("base: {from: host, add: [/]}"), 1, 36, "would hide /tmp" },
	{ SANDBOX("base: {from: host, add: [/a/b, /a]}"), 1, 42, "lie in each other" },
	{ SANDBOX("base: {from: host, add: [/a, /a]}"), 1, 40, "lie in each other" },
	{ SANDBOX("base: {from: host, add: [/a, /ab]}"), 0, 0, NULL },
	/* An added tree and a root, in either order of the keys. */
	{ SANDBOX("base: {from: host, add: [/a/b]}, roots: [/a]"), 1, 36,
	  "the root at '/a' (line 1)" },
	{ SANDBOX("roots: [/a/b], base: {from: host, add: [/a]}"), 1, 51, "the root at '/a/b'" },
	{ SANDBOX("roots: [{path: /a, at: /z}], base: {from: host, add: [/a/b]}"), 0, 0, NULL },
	{ SANDBOX("roots: [{path: /b, at: /a}], base: {from: host, add: [/a]}"), 1, 65,
	  "the root at '/a'" },
	{ SANDBOX("network: none"), 0, 0, NULL },
	{ SANDBOX("network: host"), 0, 0, NULL },
	{ SANDBOX("network: Host"), 1, 20, "none or host, not 'Host'" },
	{ SANDBOX("network: "), 1, 20, "none or host, not nothing" },
	{ SANDBOX("network: {publish: [8080, '9000:3000', '127.0.0.2:8080:8080']}"), 0, 0, NULL },
	{ SANDBOX("network: {publish: ['[::1]:8080:80', '[::1]:8081:65535']}"), 0, 0, NULL },
	{ SANDBOX("network: {host_ports: [1, 65535]}"), 0, 0, NULL },
	{ SANDBOX("network: {host_ports: [65536]}"), 1, 34, "'65536' must be a port" },
	{ SANDBOX("network: {host_ports: [80, 81, 80]}"), 1, 42, "port 80 stands there twice" },
	{ SANDBOX("network: {publish: [0]}"), 1, 31, "'0' must be PORT" },
	{ SANDBOX("network: {publish: [65536]}"), 1, 31, "'65536' must be PORT" },
	{ SANDBOX("network: {publish: ['80:']}"), 1, 31, "'80:' must be PORT" },
	{ SANDBOX("network: {publish: [':80']}"), 1, 31, "':80' must be PORT" },
	{ SANDBOX("network: {publish: ['127.0.0.1:80']}"), 1, 31, "must be PORT" },
	{ SANDBOX("network: {publish: ['::1:80:80']}"), 1, 31, "must be PORT" },
	{ SANDBOX("network: {publish: ['[127.0.0.1]:80:80']}"), 1, 31, "must be PORT" },
	{ SANDBOX("network: {publish: ['[::1]80:80']}"), 1, 31, "must be PORT" },
	{ SANDBOX("network: {publish: ['80:80:80:80']}"), 1, 31, "must be PORT" },
	{ SANDBOX("hostname: a-1"), 0, 0, NULL },
	{ SANDBOX("hostname: a.b"), 1, 21, "'hostname' must be" },
	{ SANDBOX("hostname: -a"), 1, 21, "'hostname' must be" },
	{ SANDBOX("hostname: a-"), 1, 21, "'hostname' must be" },
	{ SANDBOX("hostname: ''"), 1, 21, "'hostname' must be" },
	{ SANDBOX("hostname: a_b"), 1, 21, "'hostname' must be" },
	{ SANDBOX("hostname: "
		  "a23456789012345678901234567890123456789012345678901234567890123"),
	  0, 0, NULL },
	{ SANDBOX("hostname: "
		  "a234567890123456789012345678901234567890123456789012345678901234"),
	  1, 21, "1 to 63" },
	{ SANDBOX("hostname: \"${uid}\""), 1, 21, "does not take ${...}" },
	{ SANDBOX("workdir: /a/b"), 0, 0, NULL },
	{ SANDBOX("workdir: /"), 0, 0, NULL },
	{ SANDBOX("workdir: a"), 1, 20, "must start with '/'" },
	{ SANDBOX("workdir: /a/"), 1, 20, "slash at the end" },
	{ SANDBOX("workdir: /a/.."), 1, 20, "without '..'" },
	{ SANDBOX("scratch: {size: 64K}"), 0, 0, NULL },
	{ SANDBOX("scratch: {size: 63K}"), 1, 27, "at least 64K" },
	{ SANDBOX("scratch: {size: 0M}"), 1, 27, "must not be zero" },
	{ SANDBOX("scratch: {size: 0}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 1T}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 1MB}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 1k}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 1.5M}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: -1M}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: +1M}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 01M}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: 1 M}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: unlimited}"), 1, 27, "size with its unit" },
	{ SANDBOX("scratch: {size: [1M]}"), 1, 27,
	  "size with its unit (K, M or G), such as 256M, "
	  "not a list" },
	{ SANDBOX("scratch: {size: 8589934591G}"), 0, 0, NULL },
	{ SANDBOX("scratch: {size: 8589934592G}"), 1, 27, "too large" },
	{ SANDBOX("scratch: {size: 18446744073709551617G}"), 1, 27, "too large" },
	{ SANDBOX("scratch: {files: 64}"), 0, 0, NULL },
	{ SANDBOX("scratch: {files: 63}"), 1, 28, "at least 64" },
	{ SANDBOX("scratch: {files: 0}"), 1, 28, "must not be zero" },
	{ SANDBOX("scratch: {files: 1K}"), 1, 28, "without a unit" },
	{ SANDBOX("scratch: {files: 0x10}"), 1, 28, "without a unit" },
	{ SANDBOX("scratch: {files: 1_000}"), 1, 28, "without a unit" },
	{ SANDBOX("scratch: 256M"), 1, 20, "sandbox.scratch must be a map, not '256M'" },
	{ SANDBOX("limits: {timeout: 1ms, output: 1K}"), 0, 0, NULL },
	{ SANDBOX("limits: {timeout: 0s}"), 1, 29, "must not be zero" },
	{ SANDBOX("limits: {timeout: 1}"), 1, 29, "duration with its unit" },
	{ SANDBOX("limits: {timeout: 1d}"), 1, 29, "duration with its unit" },
	{ SANDBOX("limits: {timeout: 1h30m}"), 1, 29, "duration with its unit" },
	{ SANDBOX("limits: {output: 0K}"), 1, 28, "a positive size" },
	{ SANDBOX("limits: {output: 100}"), 1, 28, "a positive size" },
	{ SANDBOX("limits: {grace: 1ms, cpu_time: 1s, processes: 1, open_files: 1, file_size: 1K, "
		  "on_output_limit: kill}"),
	  0, 0, NULL },
	{ SANDBOX("limits: {grace: 0s}"), 1, 27, "must not be zero" },
	{ SANDBOX("limits: {cpu_time: 999ms}"), 1, 30, "whole seconds" },
	{ SANDBOX("limits: {cpu_time: 1500ms}"), 1, 30, "whole seconds" },
	{ SANDBOX("limits: {processes: 0}"), 1, 31, "must not be zero" },
	{ SANDBOX("limits: {processes: 4194304}"), 0, 0, NULL },
	{ SANDBOX("limits: {processes: 4194305}"), 1, 31, "at most 4194304" },
	{ SANDBOX("limits: {open_files: 1K}"), 1, 32, "without a unit" },
	{ SANDBOX("limits: {file_size: 1}"), 1, 31, "a positive size" },
	{ SANDBOX("limits: {on_output_limit: drop}"), 1, 37, "drain or kill" },
	{ SANDBOX("limits: {memory: 4M, cpus: 0.01, disk: 1K, enforce: kernel}"), 0, 0, NULL },
	{ SANDBOX("limits: {memory: 4095K}"), 1, 28, "at least 4M" },
	{ SANDBOX("limits: {memory: 64}"), 1, 28, "a positive size" },
	{ SANDBOX("limits: {cpus: 2}"), 0, 0, NULL },
	{ SANDBOX("limits: {cpus: 1024}"), 0, 0, NULL },
	{ SANDBOX("limits: {cpus: 1024.001}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: 0.009}"), 1, 26, "from 0.01 to 1024" },
	{ SANDBOX("limits: {cpus: 0.0101}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: 1.}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: .5}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: 1.2.3}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: -1}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {cpus: 99999999999999999999}"), 1, 26, "at most three decimals" },
	{ SANDBOX("limits: {disk: 0K}"), 1, 26, "a positive size" },
	{ SANDBOX("limits: {enforce: maybe}"), 1, 29, "any or kernel" },
	{ SANDBOX("max_output_bytes: 100"), 0, 0, NULL },
	{ SANDBOX("max_output_bytes: 1K"), 1, 29, "without a unit" },
	{ SANDBOX("max_output_bytes: 0"), 1, 29, "must not be zero" },
	{ SANDBOX("timeout_seconds: 1s"), 1, 28, "without a unit" },
	{ SANDBOX("runtime: subprocess"), 0, 0, NULL },
	{ SANDBOX("runtime: namespace"), 0, 0, NULL },
	{ SANDBOX("runtime: docker"), 1, 20, "subprocess or namespace, not 'docker'" },
	{ SANDBOX("allow_network: false"), 0, 0, NULL },
	{ SANDBOX("allow_network: true"), 1, 26, "write 'network: host'" },
	{ SANDBOX("allow_network: no"), 1, 26, "true or false" },
	/* both spellings */
	{ SANDBOX("allowed_roots: [/a], roots: [/a]"), 1, 32, "'roots' and 'allowed_roots'" },
	{ SANDBOX("network: none, allow_network: false"), 1, 11, "'network' and 'allow_network'" },
	{ SANDBOX("max_output_bytes: 1, limits: {output: 1K}"), 1, 11,
	  "'max_output_bytes' and 'limits.output'" },
	{ SANDBOX("timeout_seconds: 1, limits: {timeout: 1s}"), 1, 11,
	  "'timeout_seconds' and 'limits.timeout'" },
	{ SANDBOX("timeout_seconds: 1, limits: {output: 1K}"), 0, 0, NULL },
	/* protect */
	{ SANDBOX("protect: {hide: [a, '*.pem', '[ab]c', '[]]x', .git/x]}"), 0, 0, NULL },
	{ SANDBOX("protect: {hide: [a/b/c]}"), 1, 28, "DIR/NAME" },
	{ SANDBOX("protect: {hide: [a/*]}"), 1, 28, "DIR/NAME without patterns" },
	{ SANDBOX("protect: {hide: [/a]}"), 1, 28, "not the name of a file" },
	{ SANDBOX("protect: {freeze: [a/]}"), 1, 30, "not the name of a file" },
	{ SANDBOX("protect: {freeze: [..]}"), 1, 30, "not the name of a file" },
	{ SANDBOX("protect: {freeze: [../a]}"), 1, 30, "not the name of a file" },
	{ SANDBOX("protect: {freeze: [a/.]}"), 1, 30, "not the name of a file" },
	{ SANDBOX("protect: {except: ['']}"), 1, 30, "not the name of a file" },
	{ SANDBOX("protect: {depth: 17}"), 1, 28, "at most 16" },
	{ SANDBOX("protect: {depth: -1}"), 1, 28, "whole number" },
	{ SANDBOX("protect: {depth: 1K}"), 1, 28, "whole number" },
	{ SANDBOX("protect: {depth: [1]}"), 1, 28, "depth" },
	{ SANDBOX("protect: {except: ['{a,b}']}"), 1, 30, "only * ? and [...]" },
	{ SANDBOX("protect: {except: ['[a']}"), 1, 30, "'[' without ']'" },
	{ SANDBOX("protect: {except: ['[]']}"), 1, 30, "'[' without ']'" },
	{ SANDBOX("protect: {absent: refuse}"), 1, 21, "unknown key 'absent'" },
	{ SANDBOX("protect: {depht: 1}"), 1, 21, "unknown key 'depht'" },
	/* env */
	{ SANDBOX("env: {pass: [A, a_1, 'LC_*', '*']}"), 0, 0, NULL },
	{ SANDBOX("env: {pass: [1A]}"), 1, 24, "not the name of a variable" },
	{ SANDBOX("env: {pass: [A=b]}"), 1, 24, "not the name of a variable" },
	{ SANDBOX("env: {pass: ['A?']}"), 1, 24, "not the name of a variable" },
	{ SANDBOX("env: {pass: ['']}"), 1, 24, "not the name of a variable" },
	{ SANDBOX("env: {pass: A}"), 1, 23, "'pass' must be a list" },
	{ SANDBOX("env: {deny: [A-B]}"), 1, 24, "not the name of a variable" },
	{ SANDBOX("env: {set: {A: 1, B: '', C: yes, D: \"a\\nb\"}}"), 0, 0, NULL },
	{ SANDBOX("env: {set: {'A*': 1}}"), 1, 23, "not the name of a variable" },
	{ SANDBOX("env: {set: {A: }}"), 1, 26, "has no value" },
	{ SANDBOX("env: {set: {A: [b]}}"), 1, 26, "'A' must be one value, not a list" },
	{ SANDBOX("env: {set: [A]}"), 1, 22, "must be a map of names" },
	/* devices, sockets */
	{ SANDBOX("devices: []"), 0, 0, NULL },
	{ SANDBOX("devices: [/dev/kvm, /dev/dri/renderD128]"), 0, 0, NULL },
	{ SANDBOX("devices: [kvm]"), 1, 21, "must be the path of a device below /dev" },
	{ SANDBOX("devices: [/dev]"), 1, 21, "below /dev" },
	{ SANDBOX("devices: [/dev/../etc/x]"), 1, 21, "below /dev" },
	{ SANDBOX("devices: /dev/kvm"), 1, 20, "must be a list" },
	{ SANDBOX("sockets: []"), 0, 0, NULL },
	{ SANDBOX("sockets: [/run/pg/.s.PGSQL.5432, ~/x.sock, ./y.sock]"), 0, 0, NULL },
	{ SANDBOX("sockets: [/usr/x.sock]"), 1, 21, "/usr is not for sockets" },
	{ SANDBOX("sockets: [/dev/log]"), 1, 21, "/dev is not for sockets" },
	{ SANDBOX("sockets: [/x]"), 1, 21, "cannot be a socket inside" },
	{ SANDBOX("sockets: [/run/a/../b]"), 1, 21, "without '..'" },
	{ SANDBOX("unix_sockets: private"), 0, 0, NULL },
	{ SANDBOX("unix_sockets: none"), 0, 0, NULL },
	{ SANDBOX("unix_sockets: host"), 1, 25, "must be private or none" },
	/* commands */
	{ SANDBOX("commands: []"), 0, 0, NULL },
	{ SANDBOX("commands: [git, 'python3*', /usr/bin/make, '/opt/x/bin/*', '[', a-b.c]"), 0, 0,
	  NULL },
	{ SANDBOX("allowed_commands: [git]"), 0, 0, NULL },
	{ SANDBOX("commands: [git], allowed_commands: [git]"), 1, 11, "two spellings" },
	{ SANDBOX("commands: git"), 1, 21, "must be a list" },
	{ SANDBOX("commands: ['git status']"), 1, 22, "is a command line" },
	{ SANDBOX("commands: ['']"), 1, 22, "names no file" },
	{ SANDBOX("commands: [/usr/bin/]"), 1, 22, "names no file" },
	{ SANDBOX("commands: [..]"), 1, 22, "names no file" },
	{ SANDBOX("commands: [./x]"), 1, 22, "a name, or an absolute path" },
	{ SANDBOX("commands: [bin/x]"), 1, 22, "a name, or an absolute path" },
	{ SANDBOX("commands: [/usr//x]"), 1, 22, "a name, or an absolute path" },
	{ SANDBOX("commands: ['/usr/*/x']"), 1, 22, "in its last part alone" },
	{ SANDBOX("nested_sandboxes: true"), 0, 0, NULL },
	{ SANDBOX("nested_sandboxes: 'true'"), 1, 29, "without quotes" },
	/* not in this version */
	{ SANDBOX("syscalls: {preset: strict}"), 0, 0, NULL },
	{ SANDBOX("syscalls: {}"), 0, 0, NULL },
	{ SANDBOX("syscalls: {preset: lax}"), 1, 30, "must be default or strict" },
	{ SANDBOX("syscalls: strict"), 1, 21, "sandbox.syscalls must be a map" },
	{ SANDBOX("syscalls: {allowed: []}"), 1, 22, "(did you mean 'allow'?)" },
	{ SANDBOX("syscalls: {deny: [ptrace, kill, mseal, bpf]}"), 0, 0, NULL },
	{ SANDBOX("syscalls: {deny: [ptrac]}"), 1, 29, "'ptrac' (did you mean 'ptrace'?)" },
	{ SANDBOX("syscalls: {deny: [Ptrace]}"), 1, 29, "(did you mean 'ptrace'?)" },
	{ SANDBOX("syscalls: {deny: [101]}"), 1, 29, "unknown system call '101'" },
	{ SANDBOX("syscalls: {deny: ['']}"), 1, 29, "unknown system call ''" },
	{ SANDBOX("syscalls: {deny: [kill, execve]}"), 1, 35, "without 'execve'" },
	{ SANDBOX("syscalls: {deny: [exit_group]}"), 1, 29, "without 'exit_group'" },
	{ SANDBOX("syscalls: {deny: ptrace}"), 1, 28, "must be a list" },
	{ SANDBOX("syscalls: {allow: [userns, keyrings, setid_bits]}"), 0, 0, NULL },
	{ SANDBOX("syscalls: {allow: [io_uring, setid_bits]}"), 0, 0, NULL },
	{ SANDBOX("syscalls: {allow: [io_uring]}"), 1, 29, "opens setid_bits too" },
	{ SANDBOX("syscalls: {allow: [user_ns]}"), 1, 30, "(did you mean 'userns'?)" },
	{ SANDBOX("syscalls: {allow: [bpf]}"), 1, 30, "no single system calls" },
	{ SANDBOX("limits: {swap: 64M}"), 1, 20, "unknown key 'swap'" },
};

static void test_defaults(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p = common_good(t, &a, "sandbox: {}\npermissions: {}\n");
	const struct profile_sandbox *s;

	if (p == NULL)
		goto out;
	s = &p->sandbox;
	tap_int(t, (long long)s->roots.n, 0, "no roots");
	tap_int(t, (long long)s->scratch_bytes, 256 << 20, "scratch size");
	tap_int(t, (long long)s->scratch_files, 65536, "scratch files");
	tap_int(t, s->network, PROFILE_NETWORK_NONE, "no network");
	tap_int(t, s->base, PROFILE_BASE_HOST, "the host's base");
	tap_str(t, s->base_path, NULL, "no path of a base");
	tap_int(t, (long long)s->base_add.n, 0, "nothing added to it");
	tap_str(t, s->hostname, "agentbox", "hostname");
	tap_int(t, s->syscalls_preset, PROFILE_PRESET_DEFAULT, "preset");
	tap_int(t, s->syscalls_open, 0, "no group is open");
	tap_int(t, (long long)s->syscalls_deny.n, 0, "nothing is denied");
	tap_str(t, s->workdir, NULL, "no workdir");
	tap_int(t, s->limits.timeout_ms.set, false, "no timeout");
	tap_int(t, s->limits.output_bytes.set, false, "no output limit");
	tap_int(t, (long long)s->limits.grace_ms.value, 5000, "grace");
	tap_int(t, (long long)s->limits.processes.value, 4096, "processes");
	tap_int(t, (long long)s->limits.open_files.value, 1024, "open files");
	tap_int(t, s->limits.file_bytes.set || s->limits.cpu_time_ms.set, false, "no other limit");
	tap_int(t, s->limits.enforce, PROFILE_ENFORCE_ANY, "any mechanism");
	tap_int(t, s->limits.on_output_limit, PROFILE_OUTPUT_DRAIN, "output is drained");
	tap_int(t, (long long)s->hide.n, 3, "hide");
	tap_int(t, (long long)s->freeze.n, 17, "freeze");
	tap_int(t, (long long)s->except.n, 5, "except");
	tap_int(t, (long long)s->protect_depth, 0, "depth");
	tap_str(t, s->hide.v[1].pattern, ".env.*", "hide .env.*");
	tap_str(t, s->freeze.v[14].pattern, ".git/hooks", "freeze .git/hooks");
	tap_int(t, s->user, PROFILE_USER_CALLER, "user: the caller");
	tap_int(t, s->require, 0, "nothing required");
	tap_int(t, s->degrade, 0, "no weaker mode");
	tap_int(t, (long long)p->permissions.agents.n, 0, "no agents");
out:
	arena_free(&a);
}

static void test_values(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p =
		common_good(t, &a,
			    SANDBOX("protect: {hide: [x], freeze: [y], except: [z]}, "
				    "scratch: {size: 2G, files: 70}, workdir: /w, network: host, "
				    "env: {pass: [P], set: {A: 1, B: ''}, deny: [D]}, "
				    "limits: {timeout: 90m, output: 3K}, hostname: h, "
				    "syscalls: {preset: strict, deny: [kill], allow: [keyrings]}"));
	const struct profile_sandbox *s;

	if (p == NULL)
		goto out;
	s = &p->sandbox;
	tap_str(t, s->hide.v[3].pattern, "x", "hide: added after the defaults");
	tap_str(t, s->freeze.v[17].pattern, "y", "freeze: the same");
	tap_str(t, s->except.v[5].pattern, "z", "except: the same");
	tap_int(t, (long long)s->scratch_bytes, 2LL << 30, "size");
	tap_int(t, (long long)s->scratch_files, 70, "files");
	tap_str(t, s->workdir, "/w", "workdir");
	tap_int(t, s->workdir_pos.line, 1, "workdir line");
	tap_int(t, s->network, PROFILE_NETWORK_HOST, "network");
	tap_str(t, s->env_pass.v[0].name, "P", "pass");
	tap_str(t, s->env_deny.v[0].name, "D", "deny");
	tap_str(t, s->env_set.v[0].name, "A", "set name");
	tap_str(t, s->env_set.v[0].value, "1", "set value: a number as its text");
	tap_str(t, s->env_set.v[1].value, "", "set value: empty");
	tap_int(t, (long long)s->limits.timeout_ms.value, 90 * 60 * 1000, "timeout");
	tap_int(t, (long long)s->limits.output_bytes.value, 3072, "output");
	tap_str(t, s->hostname, "h", "hostname");
	tap_int(t, s->syscalls_preset, PROFILE_PRESET_STRICT, "preset");
	tap_int(t, s->syscalls_open, FILTER_KEYRINGS, "group");
	tap_str(t, s->syscalls_deny.v[0].name, "kill", "deny");
	tap_int(t, s->syscalls_pos.line, 1, "syscalls line");
out:
	arena_free(&a);
}

static void test_base(struct tap *t)
{
	static const struct {
		const char *text;
		enum profile_base base;
		const char *path, *add, *json;
	} rows[] = {
		{ SANDBOX("base: host"), PROFILE_BASE_HOST, NULL, NULL, "\"base\":\"host\"" },
		{ SANDBOX("base: {from: host}"), PROFILE_BASE_HOST, NULL, NULL,
		  "\"base\":\"host\"" },
		{ SANDBOX("base: minimal"), PROFILE_BASE_MINIMAL, NULL, NULL,
		  "\"base\":\"minimal\"" },
		{ SANDBOX("base: {path: rootfs/}"), PROFILE_BASE_PATH, "/srv/p/rootfs", NULL,
		  "\"base\":{\"path\":\"/srv/p/rootfs\"}" },
		{ SANDBOX("base: {from: minimal, add: [~/.nvm]}"), PROFILE_BASE_MINIMAL, NULL,
		  "/home/u/.nvm", "\"base\":{\"add\":[\"/home/u/.nvm\"],\"from\":\"minimal\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena a = { 0 };
		const struct profile *p = common_good(t, &a, rows[i].text);
		json_t *o = p == NULL ? NULL : profile_sandbox_json(p);
		char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);

		if (p != NULL) {
			tap_int(t, p->sandbox.base, rows[i].base, "base");
			tap_str(t, p->sandbox.base_path, rows[i].path, "its path");
			tap_str(t,
				p->sandbox.base_add.n == 0 ? NULL : p->sandbox.base_add.v[0].path,
				rows[i].add, "what is added");
			tap_int(t, p->sandbox.base_pos.col, 17, "its place");
			tap_ok(t, text != NULL && strstr(text, rows[i].json) != NULL, "in JSON: %s",
			       rows[i].json);
		}
		free(text);
		json_decref(o);
		arena_free(&a);
	}
}

static const struct common_row identities[] = {
	{ SANDBOX("user: caller"), 0, 0, NULL },
	{ SANDBOX("user: root"), 0, 0, NULL },
	{ SANDBOX("user: 0"), 0, 0, NULL },
	{ SANDBOX("user: 65533"), 0, 0, NULL },
	{ SANDBOX("user: 65534"), 1, 17, "must not be 65534" },
	{ SANDBOX("user: 4294967294"), 0, 0, NULL },
	{ SANDBOX("user: 4294967295"), 1, 17, "must be caller or root" },
	{ SANDBOX("user: -1"), 1, 17, "must be caller or root" },
	{ SANDBOX("user: Root"), 1, 17, "must be caller or root" },
	{ SANDBOX("user: [root]"), 1, 17, "must be one value" },
	{ SANDBOX("user: null"), 1, 17, "has no value" },
	{ SANDBOX("require: []"), 0, 0, NULL },
	{ SANDBOX("require: [unprivileged_identity]"), 0, 0, NULL },
	{ SANDBOX("require: unprivileged_identity"), 1, 20, "must be a list" },
	{ SANDBOX("require: [unprivileged]"), 1, 21, "must be unprivileged_identity, not" },
	{ SANDBOX("degrade: [no_proc]"), 0, 0, NULL },
	{ SANDBOX("degrade: [no_proc, no_proc]"), 0, 0, NULL },
	{ SANDBOX("degrade: [no_net]"), 1, 21, "must be no_proc, not 'no_net'" },
	{ SANDBOX("degrade: true"), 1, 20, "must be a list" },
};

static void test_identity(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p = common_good(
		t, &a, SANDBOX("user: 7, require: [unprivileged_identity], degrade: [no_proc]"));

	if (p != NULL) {
		tap_int(t, p->sandbox.user, PROFILE_USER_ID, "a user of its own");
		tap_int(t, p->sandbox.user_id, 7, "its number");
		tap_int(t, p->sandbox.require, PROFILE_REQUIRE_UNPRIVILEGED_IDENTITY, "required");
		tap_int(t, p->sandbox.require_pos.line, 1, "where");
		tap_int(t, p->sandbox.degrade, PROFILE_DEGRADE_NO_PROC, "weaker mode");
	}
	p = common_good(t, &a, SANDBOX("user: root"));
	if (p != NULL) {
		tap_int(t, p->sandbox.user, PROFILE_USER_ID, "root is a user of its own");
		tap_int(t, p->sandbox.user_id, 0, "with the number 0");
	}
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_roots_values(&t);
	common_rows(&t, roots, ARRAY_SIZE(roots));
	common_rows(&t, blocks, ARRAY_SIZE(blocks));
	test_defaults(&t);
	test_base(&t);
	test_values(&t);
	common_rows(&t, identities, ARRAY_SIZE(identities));
	test_identity(&t);
	return tap_done(&t);
}
