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
};

/* violations_attachment() - its finish fills record.violations; after the audit's in the table, so
 * that it goes first. @ret points into @v. */
void violations_attachment(struct violations *v, struct run_attachment *ret);
/* violations_masks() - covers again what the host replaces; after the former. The plan is there. */
void violations_masks(struct violations *v, struct run_attachment *ret);
