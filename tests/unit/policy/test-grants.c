/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Devices and sockets: what is refused by its name or number, and what is not. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "policy/grants.h"
#include "policy/match.h"
#include "tap.h"
#include "world.h"

static const struct {
	const char *path;
	uint32_t major, minor;
	bool refused;
} devices[] = {
	{ "/dev/kvm", 10, 232, false },
	{ "/dev/dri/renderD128", 226, 128, false },
	{ "/dev/nvidia0", 195, 0, false },
	{ "/dev/snd/pcmC0D0p", 116, 3, false },
	{ "/dev/hwrng", 10, 183, false },
	{ "/dev/null", 1, 3, false },
	{ "/dev/tty", 5, 0, false },
	{ "/dev/mem", 1, 1, true },
	{ "/dev/x", 1, 1, true },
	{ "/dev/x", 1, 2, true },
	{ "/dev/x", 1, 4, true },
	{ "/dev/kmsg", 1, 11, true },
	{ "/dev/net/tun", 10, 200, true },
	{ "/dev/x", 10, 200, true },
	{ "/dev/vsock", 10, 121, true },
	{ "/dev/loop-control", 10, 237, true },
	{ "/dev/x", 10, 237, true },
	{ "/dev/mapper/control", 10, 236, true },
	{ "/dev/fuse", 10, 229, true },
	{ "/dev/x", 5, 1, true },
	{ "/dev/ptmx", 5, 2, true },
	{ "/dev/pts/0", 136, 0, true },
	{ "/dev/x", 143, 255, true },
	{ "/dev/tty1", 4, 1, true },
	{ "/dev/input/event0", 13, 64, true },
	{ "/dev/uinput", 10, 223, true },
	{ "/dev/sg0", 21, 0, true },
	{ "/dev/x", 21, 0, true },
	{ "/dev/cpu/0/msr", 202, 0, true },
	{ "/dev/userfaultfd", 10, 119, true },
};

static const struct {
	const char *path;
	bool refused;
} sockets[] = {
	{ "/run/docker.sock", true },
	{ "/var/run/docker.sock", true },
	{ "/run/user/1000/docker.sock", true },
	{ "/home/me/.docker/run/docker.sock", true },
	{ "/run/containerd/containerd.sock", true },
	{ "/run/k3s/containerd/containerd.sock.ttrpc", true },
	{ "/run/podman/podman.sock", true },
	{ "/run/user/1000/podman/podman.sock", true },
	{ "/run/crio/crio.sock", true },
	{ "/run/dbus/system_bus_socket", true },
	{ "/var/run/dbus/system_bus_socket", true },
	{ "/run/user/1000/bus", true },
	{ "/run/systemd/private", true },
	{ "/run/user/1000/systemd/private", true },
	{ "/tmp/.X11-unix/X0", true },
	{ "/run/user/1000/wayland-0", true },
	{ "/tmp/ssh-AbC/agent.123", true },
	{ "/run/user/1000/gnupg/S.gpg-agent", true },
	{ "/run/user/1000/gnupg/d.x/S.gpg-agent.ssh", true },
	{ "/home/me/.gnupg/S.gpg-agent", true },
	{ "/run/user/1000/keyring/ssh", true },
	{ "/run/postgresql/.s.PGSQL.5432", false },
	{ "/run/mysqld/mysqld.sock", false },
	{ "/run/user/1000/pulse/native", false },
	{ "/srv/app/app.sock", false },
	{ "/srv/docker/app.sock", false },
};

static void test_tables(struct tap *t)
{
	const char *why;
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		tap_int(t,
			grants_device_refusal(devices[i].path, true, devices[i].major,
					      devices[i].minor, false) != NULL,
			devices[i].refused, devices[i].path);
	tap_str(t, grants_device_refusal("/dev/fuse", true, 10, 229, true), NULL,
		"fuse, where it can be mounted");
	tap_str(t, grants_device_refusal("/dev/x", false, 0, 0, false), NULL,
		"a name alone says nothing of the number");
	tap_ok(t, grants_device_refusal("/dev/mem", false, 0, 0, false) != NULL,
	       "some names say it all");
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
		tap_int(t, grants_socket_refusal(sockets[i].path) != NULL, sockets[i].refused,
			sockets[i].path);
	/* The places are refused by their names too. */
	for (const char *p; (p = grants_socket_place(n, &why)) != NULL; n++)
		tap_str(t, grants_socket_refusal(p), why, p);
	tap_ok(t, n > 5, "%u places", n);
}

static void test_wildcards(struct tap *t)
{
	static const struct {
		const char *pattern, *text;
		bool want;
	} rows[] = {
		{ "", "", true },           { "", "a", false },
		{ "*", "", true },          { "*", "a/b", true },
		{ "a", "a", true },         { "a", "ab", false },
		{ "a*", "a", true },        { "*a", "ba", true },
		{ "*a", "ab", false },      { "a*c", "abc", true },
		{ "a*c", "ac", true },      { "a*c", "acb", false },
		{ "?", "", false },         { "?", "a", true },
		{ "a?c", "abc", true },     { "*b*", "abc", true },
		{ "[", "[", true },         { "[a]", "a", false },
		{ "**", "x", true },        { "*ab*ab", "abab", true },
		{ "*ab*ab", "aba", false }, { "python3*", "python3.11", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tap_int(t, match_wildcards(rows[i].pattern, rows[i].text), rows[i].want,
			rows[i].pattern);
}

static void make_socket(struct world *w, const char *rel)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", world_path(w, rel));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) != 0) {
		printf("Bail out! cannot make a socket\n");
		exit(1);
	}
	(void)close(fd);
}

static const char *gather(struct world *w, const char *sandbox)
{
	struct facts_input in = { 0 };
	struct err err = { 0 };

	world_parse(w,
		    arena_printf(&w->arena, "sandbox: {%s}\npermissions: {agents: {me: allow}}\n",
				 sandbox));
	in.profile = w->profile;
	facts_close(&w->facts);
	w->facts.lent_devices.n = 0;
	w->facts.lent_sockets.n = 0;
	if (facts_grants_gather(&w->arena, &in, &w->facts, &err) == 0)
		return "ok";
	return arena_strdup(&w->arena, err.msg);
}

static void test_sockets(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_mkdir(&w, "s");
	make_socket(&w, "s/app");
	make_socket(&w, "s/docker.sock");
	world_file(&w, "s/file", 0644);
	world_link(&w, "app", "s/link");
	world_link(&w, "docker.sock", "s/innocent");
	tap_str(t, gather(&w, "sockets: ['@/s/app']"), "ok", "a socket");
	tap_int(t, (long long)w.facts.lent_sockets.n, 1, "is held");
	tap_str(t, gather(&w, "sockets: ['@/s/app', '@/s/app']"), "ok", "twice");
	tap_int(t, (long long)w.facts.lent_sockets.n, 1, "is once");
	tap_str(t, gather(&w, "sockets: ['@/s/link']"), "ok", "through a link");
	tap_ok(t, strstr(gather(&w, "sockets: ['@/s/file']"), "is no socket") != NULL, "a file");
	tap_ok(t, strstr(gather(&w, "sockets: ['@/s/none']"), "does not exist") != NULL, "absent");
	tap_ok(t, strstr(gather(&w, "sockets: ['@/s/innocent']"), "starts containers") != NULL,
	       "a link with another name to what is refused");
	world_close(&w);
}

static void test_devices(struct tap *t)
{
	struct world w;

	world_open(&w);
	tap_str(t, gather(&w, "devices: [/dev/null, /dev/tty]"), "ok", "what is there anyway");
	tap_ok(t, strstr(gather(&w, "devices: [/dev/agentbox-none]"), "does not exist") != NULL,
	       "absent");
	tap_ok(t, strstr(gather(&w, "devices: [/dev/fd]"), "through a link") != NULL, "a link");
	tap_ok(t, strstr(gather(&w, "devices: [/dev/shm]"), "no character device") != NULL,
	       "a directory");
	world_close(&w);
}

/* Sockets and FIFOs of the two top levels are masked, and nothing else. */
static void test_masks(struct tap *t)
{
	struct resolve_input in;
	struct resolved r = { 0 };
	struct err err = { 0 };
	struct world w;

	world_open(&w);
	world_file(&w, "w/plain", 0644);
	world_mkdir(&w, "w/d/e");
	make_socket(&w, "w/top");
	make_socket(&w, "w/d/second");
	make_socket(&w, "w/d/e/third");
	make_socket(&w, "w/lent");
	(void)mkfifo(world_path(&w, "w/fifo"), 0644);
	world_link(&w, "d", "w/link");
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w, mode: rw}]}\n"
			"permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	*array_push(&w.arena, &w.facts.lent_sockets) =
		(struct facts_grant){ .at = "/w/lent", .object = { .fd = -1 } };
	in = (struct resolve_input){ .profile = w.profile,
				     .agent = w.agent,
				     .facts = &w.facts,
				     .view = &w.view,
				     .access = w.access };
	tap_int(t, resolve_guards(&w.arena, &in, &r, &err), 0, "guards of sockets");
	if (tap_int(t, (long long)r.guards.n, 3, "three")) {
		tap_str(t, r.guards.v[0].at, "/w/d/second", "below a directory");
		tap_str(t, r.guards.v[1].at, "/w/fifo", "a FIFO");
		tap_str(t, r.guards.v[2].at, "/w/top", "at the top");
		tap_int(t, r.guards.v[2].kind, GUARD_HIDE, "hidden");
		tap_int(t, r.guards.v[2].is_dir, false, "as a file");
	}
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_tables(&t);
	test_wildcards(&t);
	test_sockets(&t);
	test_devices(&t);
	test_masks(&t);
	return tap_done(&t);
}
