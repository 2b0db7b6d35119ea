/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-base - the base's share of facts_gather(): its trees, its links, its /etc. */
#pragma once

#include "policy/facts.h"

/* facts_base_gather() - hold what the base is made of. Before the roots. */
MUST_CHECK int facts_base_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
				 struct err *err);
/* facts_base_check() - programs can write to no part of the base through a root, and no root is
 * seen behind a link or a file of it. After the roots. Judged by device and inode of the trees and
 * of everything above them; a bind mount that the host made of a part of either is not seen. */
MUST_CHECK int facts_base_check(struct arena *a, const struct facts_input *in,
				const struct facts *f, struct err *err);

/* facts_etc_gather() - our own files, the host's texts for them, and what must be masked. After
 * the roots. */
MUST_CHECK int facts_etc_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
				struct err *err);
/* facts_etc_own_names() - our own files in /etc, FACTS_ETC of them. */
const char *const *facts_etc_own_names(void);

/* facts_etc_may_read() - could an unprivileged identity that this caller's command may get read
 * such an object (or search it)? @groups: the caller's supplementary ones. Pure. */
bool facts_etc_may_read(const struct facts *f, const gid_t *groups, size_t n_groups, uid_t uid,
			gid_t gid, mode_t mode);
