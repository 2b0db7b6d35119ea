/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any profile that loads, over facts made by hand: the plan is refused or keeps the invariants of
 * every plan. The last byte chooses the caller and the shape of the host. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/plan/invariants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *why)
{
	(void)fprintf(stderr, "%s\n", why);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hand_options o = { 0 };
	struct hand h;
	uint8_t last;

	if (size == 0 || size > 65536)
		return 0;
	last = data[size - 1];
	if (hand_load(&h, (const char *)data, size) == 0 && h.agent != NULL) {
		o.caller = (enum hand_caller)(last % 5);
		o.split_usr = (last & 16) != 0;
		o.fallback = (last & 32) != 0;
		o.capture = (last & 64) != 0;
		hand_facts(&h, &o);
		if (hand_compile(&h) == 0) {
			const char *broken = invariants_broken(&h);
			json_t *json;

			if (broken != NULL)
				fail(broken);
			json = plan_json(h.plan);
			if (json == NULL)
				fail("no dump");
			json_decref(json);
		} else if (!h.err.set) {
			fail("refused without a reason");
		}
	} else if (h.agent == NULL && h.profile == NULL && !h.err.set) {
		fail("refused without a reason");
	}
	hand_free(&h);
	return 0;
}
