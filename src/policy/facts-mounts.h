/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-mounts - what is mounted below the roots: a root is granted with all of it.
 *
 * /proc/self/mountinfo is kept with the answers while the roots are looked at: a host can have
 * thousands of mounts. What is below the roots is judged by a reading of its own, as young as the
 * copy of the mounts that the child builds from: what came between the two is in that copy. */
#pragma once

#include "policy/facts-roots.h"

/* facts_mounts_check() - judge every mount below a root as the root itself is judged, and refuse
 * one that shows a directory of the control plane. ERR_PROFILE at the root. */
MUST_CHECK int facts_mounts_check(struct arena *a, const struct facts_input *in,
				  const struct facts_judge *judge, const struct facts *f,
				  struct err *err);

/* facts_mounts_served() - is the mount with this id of a file system that somebody serves? 1, 0 or
 * -errno; one that is not found is. */
MUST_CHECK int facts_mounts_served(struct facts_answers *s, uint64_t mnt_id);

/* facts_mounts_point() - the mountpoint of a line of mountinfo, with its escapes undone (proc(5):
 * octal), in @a; NULL for a line that is none. For tests. */
const char *facts_mounts_point(struct arena *a, const char *line, size_t len);
