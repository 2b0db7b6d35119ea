/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/read.h"
#include "base/fd.h"

#define ASIDE_PREFIX "audit-"
#define ASIDE_SUFFIX ".jsonl"
#define ASIDE_DIGITS ((size_t)20)

void audit_aside_name(uint64_t last, char ret[NAME_MAX + 1])
{
	(void)snprintf(ret, NAME_MAX + 1, ASIDE_PREFIX "%0*llu" ASIDE_SUFFIX, (int)ASIDE_DIGITS,
		       (unsigned long long)last);
}

static bool aside_parse(const char *name, uint64_t *ret)
{
	const char *digits = name + sizeof(ASIDE_PREFIX) - 1;

	if (strncmp(name, ASIDE_PREFIX, sizeof(ASIDE_PREFIX) - 1) != 0 ||
	    strspn(digits, "0123456789") != ASIDE_DIGITS ||
	    strcmp(digits + ASIDE_DIGITS, ASIDE_SUFFIX) != 0)
		return false;
	errno = 0;
	*ret = strtoull(digits, NULL, 10);
	return errno == 0 && *ret > 0;
}

static int by_last(const void *a, const void *b)
{
	const struct audit_file *x = a, *y = b;

	return (x->last > y->last) - (x->last < y->last);
}

int audit_files_aside(struct arena *a, int dir_fd, audit_files *ret)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r;

	*ret = (audit_files){ 0 };
	if (d == NULL) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	while (errno = 0, (e = readdir(d)) != NULL) {
		uint64_t last = 0;
		struct audit_file *f;

		if (!aside_parse(e->d_name, &last))
			continue;
		f = array_push(a, ret);
		audit_aside_name(last, f->name);
		f->last = last;
	}
	r = -errno;
	(void)closedir(d);
	if (r == 0 && ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_last);
	return r;
}
