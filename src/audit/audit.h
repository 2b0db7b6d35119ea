/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* audit - append-only, hash-chained JSON lines; knows nothing of policy.
 *
 * A record is one line <= AUDIT_LINE_MAX with its newline: {v, seq, prev, ts, event, layer,
 * decision, code, request_id, agent_id, delegation, action, resource, reason, rule, session, ...}.
 * prev is the SHA-256 of the line before, without its newline (64 zeros for the first). The head of
 * a file is {seq, sha256 of its last line}.
 *
 * Writers take an exclusive lock, read the tail, append with one write and let go. A last line
 * without a newline was torn by a crash: it is closed and followed by a `recovered` record. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/json.h"
#include "codec/sha256.h"

#define AUDIT_VERSION  1
#define AUDIT_LINE_MAX ((size_t)64 * 1024)
#define AUDIT_FILE     "audit.jsonl"

struct audit_head {
	uint64_t seq; /* 0: no record yet */
	char sha256[SHA256_HEX_SIZE];
};

enum audit_event {
	AUDIT_DECISION = 0, /* written before the act */
	AUDIT_START,
	AUDIT_OUTCOME,
	AUDIT_RECOVERED,  /* written by the writer itself */
	AUDIT_LOST,       /* an earlier outcome could not be written */
	AUDIT_ROTATED,    /* the first of a file: the one before it was put aside */
	AUDIT_NAME,       /* a name was asked for inside */
	AUDIT_CONNECTION, /* one ended, or was refused */
	AUDIT_EVENT_MAX,
};

enum audit_layer {
	AUDIT_LAYER_IDENTITY = 0,
	AUDIT_LAYER_POLICY,
	AUDIT_LAYER_SANDBOX,
	AUDIT_LAYER_APPROVAL,
	AUDIT_LAYER_NET,
	AUDIT_LAYER_MAX,
};

/* audit_event_name(), audit_layer_name() - the words in a record; NULL after the last. */
const char *audit_event_name(unsigned i);
const char *audit_layer_name(unsigned i);

/* The fields that every record carries. All borrowed; NULL becomes JSON null. */
struct audit_record {
	enum audit_event event;
	enum audit_layer layer;
	const char *decision; /* "deny", "interrupt", "allow"; NULL for none */
	const char *code;
	const char *request_id;
	const char *agent_id;
	const char *const *delegation; /* the chain, first first; ends with the agent */
	size_t n_delegation;
	const char *action;
	json_t *resource; /* borrowed */
	const char *reason;
	const char *rule; /* file:line */
	json_t *extra; /* borrowed object: what the event adds; its keys follow the common ones */
};

struct audit; /* an open log; opaque */

/* Zeroed: the file alone, for ever. */
struct audit_options {
	uint64_t rotate; /* bytes: a file that has so many is put aside first; 0: never */
	bool no_file;    /* only @fds take the records; their chain begins with this very log */
	const int *fds;  /* borrowed until audit_close(): each takes every line too */
	size_t n_fds;
};

/* audit_state_dir() - where state lives: @override if given; /var/lib/agentbox for euid 0 whatever
 * the environment says; else $XDG_STATE_HOME/agentbox, else @home/.local/state/agentbox.
 * Text only, nothing is touched. ERR_AUDIT when there is none. */
MUST_CHECK int audit_state_dir(struct arena *a, const char *override, const char *xdg_state_home,
			       const char *home, uid_t euid, const char **ret, struct err *err);

/* audit_open() - open (and create, 0700 and 0600) the log of a state directory. The path is
 * walked from / without following links; each directory must be owned by @euid or root and
 * not be writable by others (a sticky one of root's is fine above the last).
 * In a user namespace that leaves ids out, unmapped owners pass for root: nobody in there can tell
 * (user_namespaces(7)). @opt: NULL for all zero; a descriptor in it must be the caller's own,
 * inherited and open for writing. *ret is owned by the caller: audit_close(). */
MUST_CHECK int audit_open(const char *state_dir, uid_t euid, const struct audit_options *opt,
			  struct audit **ret, struct err *err);
void audit_close(struct audit *au);

/* audit_append() - write @n records as consecutive lines under one lock, with one write.
 * @ret: the head after them (the value for `audit{seq, sha256}` of results); it moves on although
 * -1 is returned when the log took them and another sink did not.
 * A record that is too long is shortened: its longest values become {"truncated": true, "sha256",
 * "bytes"} of their compact JSON text. A key of `extra` that is a common one is ERR_INTERNAL.
 * On other failures nothing of them counts as written: the file is cut back when that is possible.
 * The caller should ignore SIGXFSZ, so that a file size limit is an error here and not a signal. */
MUST_CHECK int audit_append(struct audit *au, const struct audit_record *records, size_t n,
			    struct audit_head *ret, struct err *err);

/* audit_mark_lost() - remember that the outcome of @request_id could not be written, in a small
 * file made ready by audit_open() (so that a full disk does not stop it). Best effort; the next
 * audit_append() of any process writes a `lost` record first, and fails while it cannot. */
void audit_mark_lost(struct audit *au, const char *request_id);

/* audit_head_read() - the head of a log file by path; a torn last line is not counted. */
MUST_CHECK int audit_head_read(const char *path, struct audit_head *ret, struct err *err);
/* audit_head_read_dir() - of the log of a state directory, whichever of its files has it. */
MUST_CHECK int audit_head_read_dir(const char *dir, struct audit_head *ret, struct err *err);

struct audit_verify {
	uint64_t records;
	uint64_t recovered; /* torn lines that a recovered record closes */
	uint64_t files;
	uint64_t before; /* records that went before the first that was read: in files not here */
	struct audit_head head;
	bool ok;
	char bad_file[64]; /* its name in the directory; "" for the one file */
	uint64_t bad_line; /* 1-based, where the chain breaks */
	char reason[160];
	bool head_found; /* the head asked for is in the chain */
};

struct audit_verify_input {
	const struct audit_head *want; /* a head to find; NULL or seq 0: none */
	const struct audit_head *from; /* where the files before ended; NULL: see below */
};

/* audit_verify() - walk the chain of one file as it is at the start of the call. Without
 * @in->from it begins with record 1, or with the `rotated` record that says how the file before it
 * ended. ret->ok is false, with bad_line 0, when a whole log does not reach @in->want. A torn last
 * line that no record closes yet is a break.
 * Return: 0 when it could be read (the verdict is in *ret), else -1. */
MUST_CHECK int audit_verify(const char *path, const struct audit_verify_input *in,
			    struct audit_verify *ret, struct err *err);
/* audit_verify_dir() - the same over all files of a state directory; without @in->from the first of
 * them must begin with record 1. */
MUST_CHECK int audit_verify_dir(const char *dir, const struct audit_verify_input *in,
				struct audit_verify *ret, struct err *err);
