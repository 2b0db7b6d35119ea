/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is handled, by the ABI of the kernel: a word that it does not know is refused, and one that
 * is left out holds nothing. The numbers are those of the kernel's header. */
#include <string.h>

#include "hand.h"
#include "tap.h"

#define EXECUTE  0x0001ULL
#define WRITE_1  0x1ff2ULL /* write_file, remove_*, make_*: all from the beginning */
#define REFER    0x2000ULL
#define IOCTL    0x8000ULL
#define ABSTRACT 0x1ULL
#define SIGNAL   0x2ULL

/* Without `commands`; with them EXECUTE is handled too, from the first ABI on. */
static const struct row {
	int abi;
	uint64_t fs, scoped;
} rows[] = {
	{ HAND_NO_LANDLOCK, 0, 0 },
	{ 1, 0, 0 },
	{ 2, WRITE_1 | REFER, 0 },
	{ 3, WRITE_1 | REFER, 0 }, /* truncate: not asked for */
	{ 4, WRITE_1 | REFER, 0 }, /* the network's are no words of files */
	{ 5, WRITE_1 | REFER | IOCTL, 0 },
	{ 6, WRITE_1 | REFER | IOCTL, ABSTRACT | SIGNAL },
	{ 7, WRITE_1 | REFER | IOCTL, ABSTRACT | SIGNAL },
	{ 8, WRITE_1 | REFER | IOCTL, ABSTRACT | SIGNAL },
	{ 9, WRITE_1 | REFER | IOCTL, ABSTRACT | SIGNAL },
};

static uint64_t allowed(const struct plan_landlock *l, const char *at)
{
	uint64_t access = 0;

	for (uint32_t i = 0; i < l->n_rules; i++)
		access |= strcmp(l->rules[i].at, at) == 0 ? l->rules[i].access : 0;
	return access;
}

static void expect(struct tap *t, const struct row *row, const struct plan_landlock *l,
		   bool commands)
{
	const char *with = commands ? " with commands" : "";
	bool known = true;
	int abi = row->abi == HAND_NO_LANDLOCK ? 0 : row->abi;
	uint64_t execute = commands && abi > 0 ? EXECUTE : 0;
	/* What a writable root has: all but devices, which come from the profile. */
	uint64_t root = row->fs & ~(0x0840ULL | IOCTL);

	tap_ok(t, l->abi == abi, "ABI %d%s: is what the plan names", abi, with);
	tap_ok(t, l->fs == (row->fs | execute), "ABI %d%s: handled %#llx", abi, with,
	       (unsigned long long)l->fs);
	tap_ok(t, l->scoped == row->scoped, "ABI %d%s: scoped %#llx", abi, with,
	       (unsigned long long)l->scoped);
	for (uint32_t i = 0; i < l->n_rules; i++)
		known = known && l->rules[i].access != 0 && (l->rules[i].access & ~l->fs) == 0;
	tap_ok(t, known, "ABI %d%s: each rule has a right, and none that is not handled", abi,
	       with);
	tap_ok(t, allowed(l, "/w") == root, "ABI %d%s: a writable root has %#llx", abi, with,
	       (unsigned long long)allowed(l, "/w"));
	tap_ok(t, allowed(l, "/usr/bin/true") == execute && allowed(l, "/r") == 0,
	       "ABI %d%s: a program is executed, and a root that is read has nothing", abi, with);
}

static void test_row(struct tap *t, const struct row *row, bool commands)
{
	struct hand_options o = { .abi = row->abi };
	struct arena a = { 0 };
	const char *text = arena_printf(&a,
					"sandbox: {roots: [{path: /w, mode: rw},"
					" {path: /r, mode: ro}]%s}\n"
					"permissions: {agents: {me: allow}}\n",
					commands ? ", commands: ['true']" : "");
	struct hand h;
	bool loaded = hand_load(&h, text, strlen(text)) == 0;

	if (loaded)
		hand_facts(&h, &o);
	if (!loaded || hand_compile(&h) != 0)
		tap_ok(t, false, "ABI %d: %s", row->abi, h.err.msg);
	else
		expect(t, row, &h.plan->landlock, commands);
	hand_free(&h);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(&t, &rows[i], false);
		/* Without Landlock there are no commands: what names them has refused. */
		if (rows[i].abi != HAND_NO_LANDLOCK)
			test_row(&t, &rows[i], true);
	}
	return tap_done(&t);
}
