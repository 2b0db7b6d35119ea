/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/facts-base.h"
#include "policy/facts-roots.h"

#define ETC_TEXT_MAX  ((size_t)256 * 1024)
#define ETC_WALK_MAX  20000
#define ETC_DEPTH_MAX 8
/* More than anybody has; the kernel would take 65536. */
#define GROUPS_MAX 1024

static const char *const own_names[] = { "passwd",   "group",         "hosts",
					 "hostname", "nsswitch.conf", "resolv.conf" };
_Static_assert(ARRAY_SIZE(own_names) == FACTS_ETC, "one slot for each file");

/* What holds secrets on some hosts, and is readable there more often than it should be. Each row
 * is one look-up in every run, so: directories rather than their files, and nothing that no
 * package ever makes readable (shadow, sudoers). machine-id is no row: it names the host, which
 * the mounts that a program sees do too, and opens nothing; libraries expect it. environment is
 * none either: every login has it. */
static const char *const secret_rows[] = {
	"ssl/private",
	"pki/tls/private",
	"pki/entitlement",
	"ssh/ssh_host_rsa_key",
	"ssh/ssh_host_ecdsa_key",
	"ssh/ssh_host_ed25519_key",
	"NetworkManager/system-connections",
	"wpa_supplicant",
	"wireguard",
	"openvpn",
	"ipsec.secrets",
	"ppp",
	"krb5.keytab",
	"letsencrypt",
	"mysql/debian.cnf",
	"docker/key.json",
	"kubernetes",
	"rancher",
	"gitlab-runner",
	"apt/auth.conf",
	"apt/auth.conf.d",
	"netrc",
	"boto.cfg",
	"davfs2/secrets",
	"msmtprc",
};

const char *const *facts_etc_own_names(void)
{
	return own_names;
}

struct masks {
	struct arena *arena;
	struct facts *facts;
	int etc;
	gid_t groups[GROUPS_MAX];
	size_t n_groups;
};

bool facts_etc_may_read(const struct facts *f, const gid_t *groups, size_t n_groups, uid_t uid,
			gid_t gid, mode_t mode)
{
	const struct facts_caller *c = &f->caller;
	bool owner = !c->kernel_root && uid == c->uid;
	bool group = !c->kernel_root && gid == c->gid;

	/* Root's command gets the ids of a root's owner who is not root, or ones that own nothing
	 * (plan_ids_choose()). */
	for (size_t i = 0; c->kernel_root && i < f->roots.n; i++) {
		const struct facts_object *o = &f->roots.v[i].object;

		if (!f->roots.v[i].present || o->uid == 0)
			continue;
		owner = owner || o->uid == uid;
		group = group || (o->gid != 0 && o->gid == gid);
	}
	for (size_t i = 0; i < n_groups; i++)
		group = group || groups[i] == gid;
	return (mode & S_IRWXO) != 0 || (owner && (mode & S_IRWXU) != 0) ||
	       (group && (mode & S_IRWXG) != 0);
}

static bool may_read(const struct masks *m, const struct stat *st)
{
	return facts_etc_may_read(m->facts, m->groups, m->n_groups, st->st_uid, st->st_gid,
				  st->st_mode);
}

static void secret_add(struct arena *a, struct facts *f, const char *name, mode_t mode)
{
	*array_push(a, &f->etc_masked) = (struct facts_secret){ .name = name,
								.is_dir = S_ISDIR(mode),
								.is_link = S_ISLNK(mode) };
}

static bool is_masked(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->etc_masked.n; i++) {
		if (path_covers(f->etc_masked.v[i].name, name))
			return true;
	}
	return false;
}

/* A part of /etc that the sandbox does not show needs no mask. */
static bool is_shown(const struct facts *f, const char *name)
{
	if (!f->etc_made)
		return true;
	for (size_t i = 0; i < f->base.n; i++) {
		const struct facts_base *b = &f->base.v[i];

		if (path_covers("/etc", b->at) && b->kind != FACTS_BASE_MADE &&
		    b->kind != FACTS_BASE_ABSENT && path_covers(path_rest("/etc", b->at), name))
			return true;
	}
	return false;
}

/* Packages make such directories for what is never put there; that costs no mask. Whoever could
 * put something there is root. */
static int look_inside(struct masks *m, const char *row, bool *empty)
{
	FD_AUTO fd = openat(m->etc, row, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct facts_names names = { 0 };
	int r = fd < 0 ? -errno : facts_names_list(m->arena, fd, &names);

	*empty = r == 0 && names.n == 0;
	return r == -EACCES ? 0 : r;
}

/* The outermost piece of @row that the command could look through gets the mask: a mask can only
 * be put where the child, with the command's own rights, can go. A row behind a link is left: what
 * it leads to has another name, which is not /etc's. */
static int mask_row(struct masks *m, const char *row)
{
	struct stat st;
	const char *slash;
	bool empty = false;
	int r = facts_look(m->etc, row, &st);

	if (r <= 0 || !is_shown(m->facts, row))
		return r;
	for (slash = strchr(row, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_strndup(m->arena, row, (size_t)(slash - row));
		struct stat up;

		r = facts_look(m->etc, dir, &up);
		if (r <= 0 || !S_ISDIR(up.st_mode) || !may_read(m, &up))
			return r;
		if ((up.st_mode & S_IXOTH) == 0) {
			row = dir;
			st = up;
			break;
		}
	}
	if (!may_read(m, &st) || is_masked(m->facts, row))
		return 0;
	r = 0;
	if (S_ISDIR(st.st_mode) && st.st_uid == 0)
		r = look_inside(m, row, &empty);
	if (r == 0 && !empty)
		secret_add(m->arena, m->facts, row, st.st_mode);
	return r;
}

/* A file of the host as text, or NULL: programs do without it as they do outside. */
static const char *read_text(struct arena *a, const char *path)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t len;
	char *text;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	return io_read_file(fd, ETC_TEXT_MAX, a, &text, &len) == 0 && strlen(text) == len ? text
											  : NULL;
}

static int own_add(struct arena *a, struct facts *f, int etc, const char *name)
{
	struct facts_etc *e;
	struct stat st = { 0 };
	int r = f->etc_made ? 1 : facts_look(etc, name, &st);

	if (r <= 0 || (!f->etc_made && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return r;
	e = array_push(a, &f->etc);
	e->name = name;
	e->is_link = S_ISLNK(st.st_mode);
	return 0;
}

int facts_etc_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
		     struct err *err)
{
	const struct facts_base *etc = facts_base_find(ret, "/etc");
	struct masks m = { .arena = a, .facts = ret, .etc = -1 };
	int r = 0;

	if (etc == NULL || (etc->kind != FACTS_BASE_DIR && etc->kind != FACTS_BASE_MADE))
		return 0;
	m.etc = etc->object.fd;
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(own_names); i++)
		r = own_add(a, ret, m.etc, own_names[i]);
	if (in->profile->sandbox.network == PROFILE_NETWORK_HOST) {
		ret->resolv_conf = read_text(a, "/etc/resolv.conf");
		ret->hosts = read_text(a, "/etc/hosts");
	}
	/* Real root's groups are dropped. */
	if (r >= 0 && !ret->caller.kernel_root) {
		int n = getgroups(ARRAY_SIZE(m.groups), m.groups);

		r = n < 0 ? -errno : 0;
		m.n_groups = n < 0 ? 0 : (size_t)n;
	}
	/* A root file system without an /etc has no secrets in it either. */
	for (size_t i = 0; r >= 0 && m.etc >= 0 && i < ARRAY_SIZE(secret_rows); i++)
		r = mask_row(&m, secret_rows[i]);
	return r >= 0 ? 0 : err_set(err, ERR_HOST, -r, "looking for secrets in /etc");
}

struct etc_walk {
	struct arena *arena;
	struct facts *facts;
	size_t seen;
};

static int etc_walk_dir(struct etc_walk *w, int dirfd, const char *rel, int depth);

static int etc_walk_entry(struct etc_walk *w, int dirfd, const char *name, const char *rel,
			  int depth)
{
	struct stat st;

	if (++w->seen > ETC_WALK_MAX)
		return -E2BIG;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (!is_shown(w->facts, rel) || is_masked(w->facts, rel))
		return 0;
	if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) == 0) {
		secret_add(w->arena, w->facts, rel, st.st_mode);
	} else if (S_ISDIR(st.st_mode)) {
		if ((st.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH)) {
			secret_add(w->arena, w->facts, rel, st.st_mode);
		} else {
			FD_AUTO sub = openat(dirfd, name,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			return sub < 0 ? -errno : etc_walk_dir(w, sub, rel, depth + 1);
		}
	}
	return 0;
}

/* Names what others may not read; does not go below what is masked whole. */
static int etc_walk_dir(struct etc_walk *w, int dirfd, const char *rel, int depth)
{
	struct facts_names names = { 0 };
	int r;

	if (depth > ETC_DEPTH_MAX)
		return -ELOOP;
	r = facts_names_list(w->arena, dirfd, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = etc_walk_entry(w, dirfd, names.v[i],
				   rel[0] == '\0'
					   ? names.v[i]
					   : arena_printf(w->arena, "%s/%s", rel, names.v[i]),
				   depth);
	return r;
}

int facts_etc_secrets(struct arena *a, struct facts *f, struct err *err)
{
	const struct facts_base *etc = facts_base_find(f, "/etc");
	struct etc_walk w = { .arena = a, .facts = f };
	int r;

	if (etc == NULL || etc->object.fd < 0)
		return 0;
	r = etc_walk_dir(&w, etc->object.fd, "", 0);
	if (r < 0)
		return err_set(err, ERR_HOST, -r,
			       "looking in /etc for files that are not world-readable");
	return 0;
}
