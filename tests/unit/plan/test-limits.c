/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hand.h"
#include "tap.h"

#define M 1048576LL

struct row {
	const char *what;
	const char *limits;
	bool capture;
	bool limited;
	long long bytes; /* of a limited one */
};

static const struct row rows[] = {
	{ "passed on, no limit", "", false, false, 0 },
	{ "captured, no limit", "", true, true, M },
	{ "captured, a lower limit", "limits: {output: 1K}", true, true, 1024 },
	{ "captured, one below the most", "max_output_bytes: 67108863", true, true, 64 * M - 1 },
	{ "captured, the most", "max_output_bytes: 67108864", true, true, 64 * M },
	{ "captured, one above the most", "max_output_bytes: 67108865", true, true, 64 * M },
	{ "captured, far above", "limits: {output: 1G}", true, true, 64 * M },
	{ "passed on, one above the most", "max_output_bytes: 67108865", false, true, 64 * M + 1 },
	{ "passed on, far above", "limits: {output: 1G}", false, true, 1024 * M },
};

static void test_output(struct tap *t, const struct row *row)
{
	struct arena a = { 0 };
	const char *text = arena_printf(&a,
					"sandbox: {roots: [/w]%s%s}\n"
					"permissions: {agents: {me: allow}}\n",
					row->limits[0] != '\0' ? ", " : "", row->limits);
	struct hand_options o = { .capture = row->capture };
	struct hand h;

	if (hand_load(&h, text, strlen(text)) != 0) {
		tap_ok(t, false, "%s: %s", row->what, h.err.msg);
	} else {
		hand_facts(&h, &o);
		if (hand_compile(&h) != 0) {
			tap_ok(t, false, "%s: %s", row->what, h.err.msg);
		} else {
			tap_int(t, h.plan->output_limited, row->limited, row->what);
			if (row->limited)
				tap_int(t, (long long)h.plan->output_bytes, row->bytes, row->what);
		}
		hand_free(&h);
	}
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_output(&t, &rows[i]);
	return tap_done(&t);
}
