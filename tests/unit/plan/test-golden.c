/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles and hand-made facts against plans that were read by a person:
 * tests/table/NAME.plan.json. AGENTBOX_UPDATE_GOLDEN=1 writes them anew. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "invariants.h"
#include "tap.h"

struct golden {
	const char *name;
	const char *profile;
	struct hand_options options;
};

#define ALL "permissions: {agents: {me: allow}}\n"

static const struct hand_guard guards[] = {
	{ "/w", "/w/.env", GUARD_HIDE, false, false, NULL },
	{ "/w", "/w/.git/config", GUARD_FREEZE, false, false, NULL },
	{ "/w", "/w/.git/hooks", GUARD_FREEZE, true, false, NULL },
	{ "/w", "/w/.idea", GUARD_FREEZE, true, false, NULL },
	{ "/w", "/w/.npmrc", GUARD_FREEZE, false, true, "/w/conf" },
	{ "/w", "/w/.vscode", GUARD_HIDE, false, true, NULL },
	{ "/w", "/w/a/b/p.yaml", GUARD_HIDE, false, false, NULL },
	{ "/w", "/w/a/q.yaml", GUARD_HIDE, false, false, NULL },
	{ "/w", "/w/secret", GUARD_HIDE, true, false, NULL },
	{ NULL, NULL, GUARD_HIDE, false, false, NULL },
};
static const struct hand_guard guards_ro[] = {
	{ "/w", "/w/a/.env", GUARD_HIDE, false, false, NULL },
	{ NULL, NULL, GUARD_HIDE, false, false, NULL },
};
static const struct hand_guard guards_kept[] = {
	{ "/w", "/w/a/b", GUARD_FREEZE, true, false, NULL },
	{ "/w", "/w/a/b/c/keep", GUARD_KEEP, true, false, NULL },
	{ "/w", "/w/a/b/c/keep/d/frozen", GUARD_FREEZE, false, false, NULL },
	{ NULL, NULL, GUARD_HIDE, false, false, NULL },
};
static const char *const secrets[] = { "shadow", "ssl/private/", "sudoers", NULL };

static const char *const secrets_below[] = { "ssl/private/", NULL };

static const struct golden cases[] = {
	{ "rw-root", "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL, { 0 } },
	{ "no-roots", "sandbox: {}\n" ALL, { 0 } },
	{ "ro-by-agent",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n"
	  "permissions: {agents: {me: {rules: [\n"
	  "  {operations: [read], paths: [/w/**], mode: allow}]}}}\n",
	  { 0 } },
	{ "unreadable-root",
	  "sandbox: {roots: [/w, /x, {path: /y, optional: true}]}\n"
	  "permissions: {agents: {me: {rules: [\n"
	  "  {operations: [read, write], paths: [/w/**, /y/**], mode: allow}]}}}\n",
	  { .absent = ";/y;" } },
	{ "nested-roots",
	  "sandbox: {roots: [{path: /data/deep, at: /w/a/b, mode: ro}, {path: /w, mode: rw},\n"
	  "  {path: /other, at: /n/m, mode: rw}]}\n" ALL,
	  { 0 } },
	{ "nested-deep",
	  "sandbox: {roots: [{path: /w, mode: rw}, {path: /w/vendor/x/lib, mode: ro},\n"
	  "  {path: /w/vendor/y, mode: ro}, {path: /w/vendor/y/in/er, mode: rw},\n"
	  "  {path: /w/a/b/c, mode: rw}, {path: /w/a/b/c/d/e, mode: ro}]}\n" ALL,
	  { .guards = guards } },
	{ "root-below-tmp",
	  "sandbox: {roots: [{path: /tmp/x/proj, mode: rw}, {path: /h, at: /home/agent/h, mode: "
	  "ro},"
	  " {path: /var/tmp/y}]}\n" ALL,
	  { 0 } },
	{ "root-below-var-run",
	  "sandbox: {roots: [{path: /a, at: /var/run/x}, {path: /b, at: /var/lock}]}\n" ALL,
	  { 0 } },
	{ "file-root",
	  "sandbox: {roots: [{path: /w/notes.txt, mode: rw}, {path: /etc-like, at: "
	  "/conf/f}]}\n" ALL,
	  { .file_roots = ";/w/notes.txt;/etc-like;" } },
	{ "guards", "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL, { .guards = guards } },
	{ "guards-ro", "sandbox: {roots: [{path: /w, mode: ro}]}\n" ALL, { .guards = guards_ro } },
	{ "guards-kept",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .guards = guards_kept } },
	{ "network-host", "sandbox: {roots: [/w], network: host, hostname: box}\n" ALL, { 0 } },
	{ "network-not-granted",
	  "sandbox: {roots: [/w], network: host}\n"
	  "permissions: {agents: {me: {rules: [\n"
	  "  {operations: [read], paths: [/w/**], mode: allow}]}}}\n",
	  { 0 } },
	{ "split-usr", "sandbox: {roots: [/w]}\n" ALL, { .split_usr = true } },
	{ "limits",
	  "sandbox: {roots: [/w], scratch: {size: 1M, files: 100},\n"
	  "  limits: {timeout: 90s, grace: 7s, cpu_time: 2m, memory: 96M, processes: 77,\n"
	  "    open_files: 55, file_size: 3G, output: 5K, on_output_limit: kill, disk: 2G,\n"
	  "    enforce: any}}\n" ALL,
	  { .timeout_ms = 1500 } },
	{ "limits-cgroup",
	  "sandbox: {roots: [/w],\n"
	  "  limits: {timeout: 90s, grace: 1ms, cpu_time: 2m, cpus: 0.25, memory: 96M,\n"
	  "    processes: 77, open_files: 55, file_size: 3G, output: 5K, on_output_limit: drain,\n"
	  "    disk: 2G, enforce: any}}\n" ALL,
	  { .cgroup = true } },
	{ "capture", "sandbox: {roots: [/w]}\n" ALL, { .capture = true } },
	{ "root-identity",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .caller = HAND_ROOT_SMALL, .secrets = secrets } },
	{ "mapped-identity",
	  "sandbox: {roots: [{path: /w, mode: rw}, {path: /r, mode: ro}]}\n" ALL,
	  { .caller = HAND_ROOT } },
	{ "owner-identity",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .caller = HAND_ROOT_OTHERS } },
	{ "base-minimal",
	  "sandbox: {base: minimal, roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .base = HAND_BASE_MINIMAL, .secrets = secrets_below } },
	{ "base-path",
	  "sandbox: {base: {path: /rootfs}, roots: [{path: /w, at: /srv/w, mode: rw}]}\n" ALL,
	  { .base = HAND_BASE_PATH, .split_usr = true, .secrets = secrets_below } },
	{ "base-add",
	  "sandbox: {base: {from: host, add: [/tmp/t/tool]}, roots: [{path: /w, at: "
	  "/tmp/t/w}]}\n" ALL,
	  { .added = "/tmp/t/tool" } },
	{ "base-add-etc",
	  "sandbox: {base: {from: minimal, add: [/etc/java]}, roots: [/w]}\n" ALL,
	  { .base = HAND_BASE_MINIMAL, .added = "/etc/java" } },
	{ "no-landlock",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .abi = HAND_NO_LANDLOCK } },
	{ "lent",
	  "sandbox: {roots: [{path: /w, mode: rw}], devices: [/dev/kvm, /dev/dri/renderD128],\n"
	  "  sockets: [/run/user/1234/x.sock, /w/y.sock]}\n" ALL,
	  { 0 } },
	{ "nested-sandboxes",
	  "sandbox: {roots: [{path: /w, mode: rw}], nested_sandboxes: true}\n" ALL,
	  { 0 } },
	{ "commands",
	  "sandbox: {roots: [{path: /w, mode: rw}, {path: /r, mode: ro}], commands: "
	  "['true']}\n" ALL,
	  { .guards = guards } },
	{ "nested-caller",
	  "sandbox: {roots: [{path: /w, mode: rw}]}\n" ALL,
	  { .caller = HAND_NESTED } },
};

static char *read_golden(struct arena *a, const char *path)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	return fd >= 0 && io_read_file(fd, 1 << 20, a, &text, &len) == 0 ? text : NULL;
}

static bool write_golden(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	return fd >= 0 && io_write_full(fd, text, strlen(text)) == 0;
}

/* The line where two texts part. */
static void show_difference(const char *got, const char *want)
{
	unsigned line = 1;
	size_t start = 0;

	for (size_t i = 0; got[i] != '\0' && got[i] == want[i]; i++) {
		if (got[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	printf("# line %u\n# got  %.*s\n# want %.*s\n", line, (int)strcspn(got + start, "\n"),
	       got + start, (int)strcspn(want + start, "\n"), want + start);
}

/* The plan as text, after everything that is not to cross clone has been given back: what still
 * pointed there would fault. */
static char *plan_text(struct hand *h)
{
	json_t *o;
	char *text;
	char *ret;

	arena_free(&h->arena);
	o = plan_json(h->plan);
	/* Bytes and length of the filter are the architecture's; its own tests hold them. */
	json_put(json_object_get(o, "syscalls"), "sha256", json_text("-"));
	json_put(json_object_get(o, "syscalls"), "instructions", json_integer(0));
	text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	if (text == NULL || asprintf(&ret, "%s\n", text) < 0)
		abort();
	free(text);
	return ret;
}

static void test_case(struct tap *t, const char *dir, const struct golden *g)
{
	const char *update = getenv("AGENTBOX_UPDATE_GOLDEN");
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/%s.plan.json", dir, g->name);
	struct hand h;
	const char *broken;
	char *got;
	char *want;

	if (hand_load(&h, g->profile, strlen(g->profile)) != 0) {
		tap_ok(t, false, "%s: %s", g->name, h.err.msg);
		return;
	}
	hand_facts(&h, &g->options);
	if (hand_compile(&h) != 0) {
		tap_ok(t, false, "%s: %s", g->name, h.err.msg);
		return;
	}
	broken = invariants_broken(&h);
	tap_str(t, broken, NULL, arena_printf(&a, "%s: the invariants hold", g->name));
	got = plan_text(&h);
	if (update != NULL && strcmp(update, "1") == 0 && !write_golden(path, got))
		perror(path);
	want = read_golden(&a, path);
	if (!tap_ok(t, want != NULL && strcmp(got, want) == 0, "%s: the plan is the one on file",
		    g->name))
		show_difference(got, want == NULL ? "" : want);
	free(got);
	arena_free(&a);
	hand_free(&h);
}

int main(int argc, char **argv)
{
	struct tap t = { 0 };

	if (argc != 2) {
		printf("Bail out! usage: test-plan-golden DIRECTORY\n");
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(&t, argv[1], &cases[i]);
	return tap_done(&t);
}
