/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/compile.h"

#include "tap.h"

struct row {
	const char *what;
	struct facts_caller caller;
	/* Owner of the one root; -1: no root at all, -2: a root that is not writable. */
	int64_t uid, gid;
	bool fallback;
	enum plan_identity identity;
	uint32_t in_uid, in_gid, out_uid, out_gid;
	bool switches; /* ids and groups */
	bool idmap;
};

#define ROOT(count)                                                                                \
	{                                                                                          \
		.kernel_root = true, .map_count = (count)                                          \
	}

static const struct row rows[] = {
	{ "an ordinary user",
	  { .uid = 1234, .gid = 5678 },
	  1234,
	  5678,
	  false,
	  PLAN_IDENTITY_CALLER,
	  1234,
	  5678,
	  1234,
	  5678,
	  false,
	  false },
	{ "an ordinary user with a root of root's",
	  { .uid = 1234, .gid = 5678 },
	  0,
	  0,
	  false,
	  PLAN_IDENTITY_CALLER,
	  1234,
	  5678,
	  1234,
	  5678,
	  false,
	  false },
	{ "an ordinary user in group 0",
	  { .uid = 1234, .gid = 0 },
	  -1,
	  0,
	  false,
	  PLAN_IDENTITY_CALLER,
	  1234,
	  1000,
	  1234,
	  0,
	  false,
	  false },
	{ "inside unshare -r",
	  { .uid = 0, .gid = 0 },
	  0,
	  0,
	  false,
	  PLAN_IDENTITY_CALLER,
	  1000,
	  1000,
	  0,
	  0,
	  false,
	  false },
	{ "a user inside another namespace",
	  { .uid = 7, .gid = 0, .map_count = 0 },
	  -1,
	  0,
	  false,
	  PLAN_IDENTITY_CALLER,
	  7,
	  1000,
	  7,
	  0,
	  false,
	  false },
	{ "root, root's root", ROOT(4294967295U), 0, 0, false, PLAN_IDENTITY_ROOT_MAPPED, 1000,
	  1000, PLAN_FIXED_ID, PLAN_FIXED_ID, true, true },
	{ "root, a user's root", ROOT(4294967295U), 1234, 5678, false, PLAN_IDENTITY_ROOT_MAPPED,
	  1000, 1000, 1234, 5678, true, false },
	{ "root, a user's root in group 0", ROOT(4294967295U), 1234, 0, false,
	  PLAN_IDENTITY_ROOT_MAPPED, 1000, 1000, 1234, PLAN_FIXED_ID, true, false },
	{ "root, root's root in a user's group", ROOT(4294967295U), 0, 5678, false,
	  PLAN_IDENTITY_ROOT_MAPPED, 1000, 1000, PLAN_FIXED_ID, PLAN_FIXED_ID, true, true },
	{ "root, no roots", ROOT(4294967295U), -1, 0, false, PLAN_IDENTITY_ROOT_MAPPED, 1000, 1000,
	  PLAN_FIXED_ID, PLAN_FIXED_ID, true, false },
	{ "root, a user's root that is not writable", ROOT(4294967295U), -2, 0, false,
	  PLAN_IDENTITY_ROOT_MAPPED, 1000, 1000, PLAN_FIXED_ID, PLAN_FIXED_ID, true, true },
	{ "root, just enough ids", ROOT(65536), 0, 0, false, PLAN_IDENTITY_ROOT_MAPPED, 1000, 1000,
	  PLAN_FIXED_ID, PLAN_FIXED_ID, true, true },
	{ "root, one id too few", ROOT(65535), 0, 0, false, PLAN_IDENTITY_ROOT, 1000, 1000, 0, 0,
	  false, false },
	{ "root, one id", ROOT(1), 1234, 5678, false, PLAN_IDENTITY_ROOT, 1000, 1000, 0, 0, false,
	  false },
	{ "root, no id mapping to be had", ROOT(4294967295U), 0, 0, true, PLAN_IDENTITY_ROOT, 1000,
	  1000, 0, 0, false, false },
	{ "an ordinary user has no fallback",
	  { .uid = 1234, .gid = 5678 },
	  1234,
	  5678,
	  true,
	  PLAN_IDENTITY_CALLER,
	  1234,
	  5678,
	  1234,
	  5678,
	  false,
	  false },
};

static void test_row(struct tap *t, const struct row *r)
{
	struct arena a = { 0 };
	struct facts f = { .caller = r->caller };
	struct tree_access access[2] = { { .read = true },
					 { .read = true, .write = r->uid != -2 } };
	struct plan_ids ids;
	bool idmap = false;

	if (r->uid != -1) {
		/* The first root is never writable and must not count. */
		*array_push(&a, &f.roots) =
			(struct facts_root){ .present = true,
					     .object = { .uid = 4444, .gid = 4444 } };
		*array_push(&a, &f.roots) = (struct facts_root){
			.present = true,
			.object = { .uid = r->uid == -2 ? 1234 : (uint32_t)r->uid,
				    .gid = (uint32_t)r->gid }
		};
	}
	plan_ids_choose(&f, access, r->fallback, &ids, &idmap);
	tap_str(t, plan_identity_name(ids.identity), plan_identity_name(r->identity), r->what);
	tap_ok(t, ids.inside_uid == r->in_uid && ids.inside_gid == r->in_gid, "inside %u:%u",
	       ids.inside_uid, ids.inside_gid);
	tap_ok(t, ids.outside_uid == r->out_uid && ids.outside_gid == r->out_gid, "outside %u:%u",
	       ids.outside_uid, ids.outside_gid);
	tap_ok(t, ids.switch_ids == r->switches && ids.drop_groups == r->switches,
	       "ids are %sswitched", r->switches ? "" : "not ");
	tap_ok(t, idmap == r->idmap, "roots are %sid-mapped", r->idmap ? "" : "not ");
	tap_ok(t, ids.inside_uid != 0 && ids.inside_gid != 0, "never uid 0 inside");
	tap_ok(t,
	       ids.identity == PLAN_IDENTITY_ROOT || !r->caller.kernel_root ||
		       (ids.outside_uid != 0 && ids.outside_gid != 0),
	       "never kernel uid 0 unless it is named so");
	arena_free(&a);
}

static void test_user(struct tap *t)
{
	struct profile_sandbox s = { 0 };
	struct plan_ids ids = { .inside_uid = 1000, .inside_gid = 1001, .outside_uid = 7 };

	plan_ids_user(&s, &ids);
	tap_ok(t, ids.inside_uid == 1000 && ids.inside_gid == 1001, "user: caller changes nothing");
	tap_str(t, plan_user_name(&ids), "agent", "whose name is agent");
	s.user = PROFILE_USER_ID;
	s.user_id = 42;
	plan_ids_user(&s, &ids);
	tap_ok(t, ids.inside_uid == 42 && ids.inside_gid == 42, "user: a number, and its group");
	tap_str(t, plan_user_name(&ids), "agent", "is agent too");
	s.user_id = 0;
	plan_ids_user(&s, &ids);
	tap_ok(t, ids.inside_uid == 0 && ids.inside_gid == 0, "user: root is 0 inside");
	tap_str(t, plan_user_name(&ids), "root", "with that name");
	tap_int(t, ids.outside_uid, 7, "and no word about outside");
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, &rows[i]);
	test_user(&t);
	return tap_done(&t);
}
