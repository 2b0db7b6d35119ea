/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a profile: an error with a place or a profile, never a crash, the same answer twice,
 * and of a profile a text that means the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "profile/profile.h"
#include "profile/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct profile_param params[] = { { "workspace", "/work/space" } };

static void show_again(struct arena *a, const struct profile_source *src, const struct profile *p)
{
	struct profile_source bare = *src;
	struct profile_text text = { .name = "shown", .dir = "/elsewhere" };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };
	const struct profile *q = NULL;
	struct profile_hashes h[2];

	bare.n_params = 0;
	if (profile_show(a, p, &sb, &err) != 0)
		abort();
	text.text = strbuf_str(&sb);
	text.len = sb.len;
	/* What is written out grows: comments, quotes, absolute paths. */
	if (profile_parse(a, &bare, &text, &q, &err) != 0) {
		if (sb.len > PROFILE_BYTES_MAX)
			return;
		abort();
	}
	profile_hash_blocks(p, &h[0]);
	profile_hash_blocks(q, &h[1]);
	if (strcmp(h[0].sandbox_sha256, h[1].sandbox_sha256) != 0 ||
	    strcmp(h[0].permissions_sha256, h[1].permissions_sha256) != 0 ||
	    p->tests.n != q->tests.n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 65536)
		return 0;

	/* An odd last byte: with -w, so that both ways through the params are reached. */
	const struct profile_source src = {
		.fd = -1,
		.cwd = "/",
		.home = "/home/u",
		.uid = 1000,
		.gid = 1000,
		.params = params,
		.n_params = size > 0 && (data[size - 1] & 1) != 0,
	};
	const struct profile_text text = {
		.name = "f", .dir = "/srv/p", .text = (const char *)data, .len = size
	};
	struct arena a = { 0 };
	struct err err[2] = { { 0 }, { 0 } };
	const struct profile *p[2] = { NULL, NULL };
	struct profile_hashes h[2];
	int r[2];

	for (int i = 0; i < 2; i++)
		r[i] = profile_parse(&a, &src, &text, &p[i], &err[i]);
	if (r[0] != r[1] || (r[0] != 0) != err[0].set || (r[0] == 0) != (p[0] != NULL))
		abort();
	if (r[0] != 0 && (strcmp(err[0].msg, err[1].msg) != 0 || err[0].line != err[1].line ||
			  (err[0].line == 0) != (err[0].code == ERR_USAGE)))
		abort();
	for (int i = 0; r[0] == 0 && i < 2; i++)
		profile_hash_blocks(p[i], &h[i]);
	if (r[0] == 0 && (strcmp(h[0].sandbox_sha256, h[1].sandbox_sha256) != 0 ||
			  strcmp(h[0].permissions_sha256, h[1].permissions_sha256) != 0 ||
			  p[0]->sandbox.scratch_bytes == 0 || p[0]->sandbox.scratch_files == 0))
		abort();
	if (r[0] == 0)
		show_again(&a, &src, p[0]);
	arena_free(&a);
	return 0;
}
