/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remask - a mask lies on a file, and goes with it when somebody on the host puts another one in
 * its place. The supervisor watches for that and covers the new file.
 *
 * Between the one and the other programs can open the new file: for some milliseconds, and in the
 * first two seconds of a run, or where the host has no watches left, for up to two thirds of a
 * second. This closes a window, it does not keep one from opening. What cannot be covered again is
 * reported at the end as replaced. */
#pragma once

#include "run/run.h"

struct remask_mask {
	const char *at;   /* virtual path, canonical, free of links */
	const char *dir;  /* host path of the directory that holds it */
	const char *name; /* in it */
	bool hide;        /* else what is there becomes read-only */
	uint64_t dev;     /* what is covered */
	uint64_t ino;
	unsigned times; /* covered again */
	int watch;      /* of the directory */
};

struct remask {
	struct remask_mask *masks; /* borrowed */
	size_t n;
	uint32_t uid, gid; /* inside: whose the masks are */
	int fd;            /* a timer, then inotify; owned */
	bool is_watched;   /* fd is inotify */
	unsigned wait_ms;  /* between two looks */
	int ns;            /* the sandbox's mount namespace; owned */
	pid_t init;
	int error; /* errno of what could not be done last, or 0 */
};

/* remask_attachment() - @ret points into @r, which stays until the run is over. Nothing of it fails
 * a run. */
void remask_attachment(struct remask *r, struct run_attachment *ret);
