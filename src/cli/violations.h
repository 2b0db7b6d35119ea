/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* violations - names that a guard would have been for, come during the run: reported, never moved
 * or removed. */
#pragma once

#include "cli/prepare.h"
#include "run/remask.h"

struct violations {
	struct arena *arena;
	struct prepared *prepared; /* borrowed; its record gets the list */
	struct remask masks;       /* what the supervisor covers again */
	bool quiet;
	/* What was found, for its own use. */
	appeared_list found;
	struct err unknown; /* why nobody knows */
};

/* violations_attachment() - fills record.violations when the run has settled, and says at the end
 * what was found. @ret points into @v. */
void violations_attachment(struct violations *v, struct run_attachment *ret);
/* violations_masks() - covers again what the host replaces; after the former. The plan is there. */
void violations_masks(struct violations *v, struct run_attachment *ret);
