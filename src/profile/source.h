/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* source - what a profile is read from. Part of profile.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "codec/sha256.h"

/* A file that was read, for hiding it, pinning it and naming it in records. */
struct profile_file {
	const char *name; /* as the user gave it */
	const char *real; /* canonical host path, or NULL: by descriptor and unknown, or shipped */
	const char *way;  /* the absolute path that it was opened by, or NULL: links and all */
	dev_t dev;
	ino_t ino;
	nlink_t nlink;
	uid_t uid;   /* its owner */
	bool values; /* sandbox.env.file: no text of the profile, and in none of its hashes */
	char sha256[SHA256_HEX_SIZE];
};

typedef ARRAY_OF(struct profile_file) profile_files;

struct profile_param {
	const char *name;
	const char *value;
};

/* What the caller brings to loading. All borrowed for the call and by the profile. */
struct profile_source {
	const char *path;     /* the file, or the name of a shipped profile; NULL with fd */
	int fd;               /* an open descriptor (--profile-fd), or -1; borrowed */
	const char *cwd;      /* absolute: base of relative host paths of a profile read from fd */
	const char *home;     /* the caller's home from passwd, or NULL */
	const char *instance; /* of the agent that asks, or NULL: what ${instance} is */
	uid_t uid;            /* the caller: files must be owned by it or by root */
	gid_t gid; /* the caller's group: group-writable is accepted only for a private one */
	const struct profile_param *params; /* --param and -w, in order */
	size_t n_params;
	bool with_tests; /* those of a shipped profile too; a file's are always read */
	bool stand_in;   /* a parameter without a value gets one: /srv/NAME or NAME */
};

#define PROFILE_BYTES_MAX ((size_t)1024 * 1024)

/* The text of a profile that was read. All borrowed. */
struct profile_text {
	const char *name; /* for errors and positions */
	const char *dir;  /* absolute: base of relative host paths */
	const char *text;
	size_t len;
};
