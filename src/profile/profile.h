/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile - what a profile says, as pure data. Nothing here was looked up on
 * the file system but the profile's own files; nothing is decided.
 *
 * Everything lives in the arena given to profile_load() and is const to all
 * who come after. Zero is the strictest value of every field. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hostpat.h"
#include "codec/sha256.h"
#include "filter/filter.h"
#include "profile/identity.h"
#include "profile/limit.h"
#include "profile/permissions.h"
#include "profile/pos.h"
#include "profile/source.h"

enum profile_mode {
	PROFILE_MODE_RO = 0,
	PROFILE_MODE_RW,
	PROFILE_MODE_RIGHTS, /* key absent: as far as the agent's rights go */
};

/* Each is looked at for each agent, and against each other one. */
#define PROFILE_ROOTS_MAX 256

struct profile_root {
	const char
		*path;  /* host path, absolute, as written after ~ and ${...}; links not resolved */
	const char *at; /* virtual path, canonical */
	enum profile_mode mode;
	bool optional;
	bool sensitive; /* for lint alone */
	struct profile_pos pos;
};

/* Directories that no root may be or contain; ends with NULL. By name a profile that says so is
 * refused, by device and inode the run of one. */
extern const char *const profile_refused_roots[];

/* A name or glob (one component, '*' and '?' and [...]) at the top level of a root,
 * or "dir/name" for a name inside a directory there (".git/hooks"). */
struct profile_trap {
	const char *pattern;
};

struct profile_env {
	const char *name;
	const char *value;
	struct profile_pos pos;
};

/* Which system is seen inside. */
enum profile_base {
	PROFILE_BASE_MINIMAL = 0, /* /usr and the files of /etc that programs need */
	PROFILE_BASE_HOST,
	PROFILE_BASE_PATH, /* base_path: a root file system */
};

/* A read-only tree that is added to the base, at the same path inside. */
struct profile_tree {
	const char
		*path; /* host path, absolute, as written after ~ and ${...}; links not resolved */
	struct profile_pos pos;
};

/* An entry of `commands`: a name, looked for in the sandbox's PATH, or an absolute path as seen
 * inside; '*' and '?' in a name or in the last part of a path. */
struct profile_program {
	const char *text;
	bool is_pattern;
	struct profile_pos pos;
};

enum profile_unix {
	PROFILE_UNIX_NONE = 0, /* no AF_UNIX socket at all, but pairs */
	PROFILE_UNIX_PRIVATE,  /* those that lie in a root at the start are masked */
};

enum profile_network {
	PROFILE_NETWORK_NONE = 0,
	PROFILE_NETWORK_NAMED, /* the hosts of `named` and no others */
	PROFILE_NETWORK_HOST,
};

/* Whether the host that a client names in what it sends must be the one it asked the resolver
 * for. */
enum profile_tls {
	PROFILE_TLS_CHECK = 0, /* in TLS on 443, and in HTTP on 80 */
	PROFILE_TLS_OFF,       /* in HTTP on 80 alone */
	PROFILE_TLS_RAW,       /* not looked at */
};

struct profile_net_host {
	const char *text; /* as written */
	struct hostpat pattern;
	enum profile_tls tls;
	struct profile_pos pos;
};

/* Addresses that a name may lead to although they are not public ones. */
struct profile_range {
	const char *text; /* as written */
	struct host_addr net;
	uint8_t bits;
};

/* Different ports in all of `allow`: each is a socket. */
#define PROFILE_PORTS_MAX 1024

/* A port of the caller's network that leads to one of the sandbox. */
struct profile_publish {
	const char *text; /* as written */
	struct host_addr addr;
	uint16_t port;
	uint16_t inside; /* on the sandbox's lo */
	struct profile_pos pos;
};
#define PROFILE_PUBLISH_MAX 64

/* A port of the caller's 127.0.0.1 that is the same port of the sandbox's. */
struct profile_host_port {
	uint16_t port;
	struct profile_pos pos;
};
#define PROFILE_HOST_PORTS_MAX 64

/* A proxy of the caller's network that all connections of names and addresses go through. */
struct profile_proxy {
	const char *url;         /* as written; NULL: there is none */
	const char *credentials; /* the caller's variable that holds USER:PASSWORD, or NULL */
	struct host_target host;
	struct profile_pos pos;
};

/* Network by name. Deny beats allow. */
struct profile_named {
	ARRAY_OF(struct profile_net_host) allow;
	ARRAY_OF(struct profile_net_host) deny;
	ARRAY_OF(struct profile_range) private_ranges;
	ARRAY_OF(struct profile_publish) publish;
	ARRAY_OF(struct profile_host_port) host_ports;
	struct profile_proxy proxy;
};

enum profile_preset {
	PROFILE_PRESET_STRICT = 0,
	PROFILE_PRESET_DEFAULT, /* when the key is absent */
};

typedef ARRAY_OF(struct profile_trap) profile_traps;

struct profile_sandbox {
	enum profile_base base;
	const char *base_path; /* PATH only, else NULL; host path, links not resolved */
	struct profile_pos base_pos;
	ARRAY_OF(struct profile_tree) base_add; /* never with PATH */
	ARRAY_OF(struct profile_root) roots;
	profile_traps hide;     /* defaults, then the file's own */
	profile_traps freeze;   /* the same */
	profile_traps except;   /* wins over both */
	uint64_t protect_depth; /* levels of directories below each root that are looked at too */
	uint64_t scratch_bytes; /* never 0: never unlimited */
	uint64_t scratch_files;
	const char *workdir; /* virtual path, or NULL */
	struct profile_pos workdir_pos;
	profile_names env_pass; /* names or globs */
	ARRAY_OF(struct profile_env) env_set;
	profile_names env_deny;
	profile_names env_required; /* names without '*' that the command must have */
	const char *env_file;       /* host path, or NULL */
	struct profile_pos env_file_pos;
	ARRAY_OF(struct profile_env) env_vars; /* what it holds */
	bool any_command;                      /* key absent: whatever is there and executable */
	ARRAY_OF(struct profile_program) commands;
	struct profile_pos commands_pos;
	profile_names devices; /* canonical paths below /dev */
	profile_names sockets; /* host paths, the same inside */
	enum profile_unix unix_sockets;
	bool nested_sandboxes;
	struct profile_pos nested_pos;
	enum profile_network network;
	struct profile_named named; /* NAMED only */
	struct profile_pos network_pos;
	enum profile_preset syscalls_preset;
	unsigned syscalls_open; /* enum filter_option of the groups of syscalls.allow */
	struct profile_pos syscalls_pos;
	profile_names syscalls_deny; /* names that this architecture has */
	struct profile_limits limits;
	const char *hostname;
	enum profile_user user;
	uint32_t user_id; /* with PROFILE_USER_ID: never 65534 or the invalid id */
	unsigned require; /* enum profile_require */
	struct profile_pos require_pos;
	unsigned degrade; /* enum profile_degrade */
	struct profile_pos pos;
};

#define PROFILE_SINKS_MAX 8
/* Bytes; no smaller bound of a file: the longest record, and what a log has without the key. */
#define PROFILE_ROTATE_MIN     ((uint64_t)64 * 1024)
#define PROFILE_ROTATE_DEFAULT ((uint64_t)64 * 1024 * 1024)

/* What takes the records. */
struct profile_audit {
	bool no_file;      /* the log of the state directory does not */
	ARRAY_OF(int) fds; /* the caller's */
	uint64_t rotate;   /* bytes, never 0 */
};

struct schema_read;

struct profile {
	profile_files files;          /* the profile itself first, then what it pulled in */
	char sha256[SHA256_HEX_SIZE]; /* of all files: that of the only one, or of the lines of
					 digests, in their order */
	struct profile_sandbox sandbox;
	struct profile_permissions permissions;
	struct profile_audit audit;
	ARRAY_OF(struct profile_test) tests; /* of the profile itself, not of what it extends */
	bool stood_in; /* a parameter has a value that nobody gave: never for a run */
	const struct schema_read *read; /* what show.h makes text of; for this floor alone */
};

/* Of the canonical JSON of the effective blocks. */
struct profile_hashes {
	char sandbox_sha256[SHA256_HEX_SIZE];
	char permissions_sha256[SHA256_HEX_SIZE];
};

/* profile_load() - read, check trust, parse, check. Errors carry file, line and column.
 * Nothing but the profile's files and the directories above them is looked at. */
MUST_CHECK int profile_load(struct arena *a, const struct profile_source *src,
			    const struct profile **ret, struct err *err);

/* profile_parse() - the same from text in memory: no trust checks, nothing is opened; of other
 * profiles it can extend the shipped ones alone. Its list of files is left to the caller. */
MUST_CHECK int profile_parse(struct arena *a, const struct profile_source *src,
			     const struct profile_text *text, const struct profile **ret,
			     struct err *err);

/* profile_hash_blocks() - apart from loading, because a run has better moments for it. */
void profile_hash_blocks(const struct profile *p, struct profile_hashes *ret);

/* profile_agent_find() - by id, exact. NULL when not declared. */
const struct profile_agent *profile_agent_find(const struct profile *p, const char *id);
