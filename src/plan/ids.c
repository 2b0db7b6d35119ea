/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/compile.h"

#define INSIDE_ID 1000U
/* A user namespace that maps fewer ids than this is a container's or unshare(1)'s: there is no
 * unprivileged id to give away. */
#define FULL_MAP 65536U

static const char *const identity_names[] = {
	[PLAN_IDENTITY_CALLER] = "caller",
	[PLAN_IDENTITY_ROOT_MAPPED] = "mapped",
	[PLAN_IDENTITY_ROOT] = "root",
};

const char *plan_identity_name(enum plan_identity id)
{
	return identity_names[id];
}

void plan_ids_user(const struct profile_sandbox *s, struct plan_ids *ids)
{
	if (s->user == PROFILE_USER_CALLER)
		return;
	ids->inside_uid = s->user_id;
	ids->inside_gid = s->user_id;
}

const char *plan_user_name(const struct plan_ids *ids)
{
	return ids->inside_uid == 0 ? "root" : "agent";
}

static const struct facts_root *first_writable(const struct facts *f,
					       const struct tree_access *access)
{
	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && access[i].write)
			return &f->roots.v[i];
	}
	return NULL;
}

void plan_ids_choose(const struct facts *f, const struct tree_access *access, bool fallback,
		     struct plan_ids *ret, bool *ret_idmap)
{
	const struct facts_caller *c = &f->caller;
	const struct facts_root *rw = first_writable(f, access);

	*ret_idmap = false;
	*ret = (struct plan_ids){
		.identity = PLAN_IDENTITY_CALLER,
		.inside_uid = c->uid == 0 ? INSIDE_ID : c->uid,
		.inside_gid = c->uid == 0 || c->gid == 0 ? INSIDE_ID : c->gid,
		.outside_uid = c->uid,
		.outside_gid = c->gid,
	};
	if (!c->kernel_root)
		return;
	if (fallback || c->map_count < FULL_MAP) {
		ret->identity = PLAN_IDENTITY_ROOT;
		return;
	}
	ret->identity = PLAN_IDENTITY_ROOT_MAPPED;
	ret->switch_ids = true;
	ret->drop_groups = true;
	ret->outside_uid = PLAN_FIXED_ID;
	ret->outside_gid = PLAN_FIXED_ID;
	if (rw != NULL && rw->object.uid != 0) {
		/* Files stay their owner's, without any mapping on the way. */
		ret->outside_uid = rw->object.uid;
		if (rw->object.gid != 0)
			ret->outside_gid = rw->object.gid;
		return;
	}
	*ret_idmap = f->roots.n > 0;
}
