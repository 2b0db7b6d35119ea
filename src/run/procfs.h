/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* procfs - what the processes below a /proc use, proc(5). Whatever cannot be read is gone. */
#pragma once

#include <dirent.h>
#include <stdint.h>

#include "base/macro.h"

struct procfs_sum {
	uint64_t bytes; /* of memory */
	uint64_t shmem; /* of these, of tmpfs files, memfds and shared anonymous memory */
	uint64_t tasks; /* threads, of all processes */
};

struct procfs_list {
	DIR *dir; /* owned */
};
/* procfs_list_open() - the processes of the /proc @fd. 0 or -errno. */
MUST_CHECK int procfs_list_open(struct procfs_list *l, int fd);
/* procfs_list_next() - a process's directory, or NULL. Valid until the next call. */
const char *procfs_list_next(struct procfs_list *l);
void procfs_list_close(struct procfs_list *l);

/* procfs_add_resident() - what is resident; memory that is shared counts in each process. */
void procfs_add_resident(int proc, const char *pid, struct procfs_sum *sum);
/* procfs_add_share() - the process's share (PSS); what may not be read counts as resident. */
void procfs_add_share(int proc, const char *pid, struct procfs_sum *sum);
void procfs_add_tasks(int proc, const char *pid, struct procfs_sum *sum);
