/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-answers - file systems that somebody serves (FUSE, network mounts) and that may not answer.
 *
 * Whoever asks one whose server is gone or stopped waits for ever, and not even SIGKILL always ends
 * that. So a process of its own asks first, and is left alone when no answer comes in time. A local
 * file system, and what the system itself runs from, is not asked: that costs nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* How long an answer may take. */
#define FACTS_ANSWER_MS 3000

struct facts_answer {
	uint64_t mnt_id;
	bool answers;
	const char *path; /* of the host, where it was met */
};

/* What is known of mounts; each is asked once. */
struct facts_answers {
	struct arena *arena;
	ARRAY_OF(struct facts_answer) mounts;
	const char *table; /* /proc/self/mountinfo as it was read; NULL: it is to be */
	size_t table_len;
};

/* facts_answers() - does the file system of this O_PATH descriptor answer, where @mnt_id is its
 * mount? 1, 0, or -errno. */
MUST_CHECK int facts_answers(struct facts_answers *s, int fd, uint64_t mnt_id);
/* facts_answers_open() - can @path be opened (O_PATH, no link followed) within that time? 1, 0 or
 * -errno; what the opening says is not told. */
MUST_CHECK int facts_answers_open(struct arena *a, const char *path);
/* facts_answers_dir() - open the directory @rel below @dirfd to be listed. On a mount that does not
 * answer it is -EACCES, a directory that cannot be listed. @resolve: RESOLVE_*. A descriptor that
 * the caller closes, or -errno. */
MUST_CHECK int facts_answers_dir(struct facts_answers *s, int dirfd, const char *rel,
				 uint64_t resolve);
/* facts_answers_look() - is there a @name in the directory @dir below @dirfd? No link is followed.
 * 1, 0 when it is not or cannot be reached, -ETIMEDOUT when @dir does not answer, or -errno. */
MUST_CHECK int facts_answers_look(struct facts_answers *s, int dirfd, const char *dir,
				  const char *name);
/* facts_is_served() - of a type of file system, as mountinfo has it. */
bool facts_is_served(const char *type);
