/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the supervisor takes from a relay that somebody else has taken over. */
#include "relay/attach.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#define REPORTS 12000

struct seen {
	unsigned conns, skips;
	uint64_t skipped;
};

static int see(void *ctx, const struct relay_report *rep, struct err *err)
{
	struct seen *s = ctx;

	(void)err;
	if (rep->kind == RELAY_REPORT_SKIPPED) {
		s->skips++;
		s->skipped += rep->count;
	} else {
		s->conns++;
	}
	return 0;
}

struct plug {
	struct relay_attach relay;
	struct run_attachment at, end;
	struct seen seen;
	int theirs;
};

static void plug_in(struct plug *p)
{
	int pair[2];

	*p = (struct plug){ .relay = { .report = see, .ctx = &p->seen } };
	relay_attach(&p->relay, &p->at, &p->end);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	p->relay.fd = pair[0];
	p->theirs = pair[1];
}

static void test_flood(struct tap *t, unsigned many, unsigned most)
{
	const struct relay_report rep = { .kind = RELAY_REPORT_CONN, .why = RELAY_WHY_BROKEN };
	struct plug p;
	struct err err = { 0 };
	int bad = 0;

	plug_in(&p);
	for (unsigned i = 0; i < many; i++) {
		if (send(p.theirs, &rep, sizeof(rep), 0) != (ssize_t)sizeof(rep))
			abort();
		if (i % 16 == 15)
			bad += p.at.event(p.at.ctx, EPOLLIN, &err) != 0;
	}
	(void)close(p.theirs);
	bad += p.at.finish(p.at.ctx, NULL, &err) != 0;
	bad += p.end.finish(p.end.ctx, NULL, &err) != 0;
	tap_int(t, bad, 0, "nothing fails");
	tap_ok(t, p.seen.conns <= most, "%u reports: %u are taken, of at most %u", many,
	       p.seen.conns, most);
	tap_int(t, (long long)(p.seen.conns + p.seen.skipped), many, "and the others are counted");
	tap_int(t, p.seen.skips, p.seen.conns < many, "in one line");
}

static void test_unsound(struct tap *t)
{
	struct relay_report rep = { .kind = RELAY_REPORT_CONN, .why = RELAY_WHY_BROKEN };
	struct plug p;
	struct err err = { 0 };

	plug_in(&p);
	(void)send(p.theirs, &rep, sizeof(rep), 0);
	memset(rep.target.name, 'a', sizeof(rep.target.name));
	(void)send(p.theirs, &rep, sizeof(rep), 0);
	(void)!p.at.event(p.at.ctx, EPOLLIN, &err);
	tap_ok(t, p.seen.conns == 1 && p.relay.lost,
	       "a name without an end is the end of the relay");
	(void)close(p.theirs);
	(void)!p.at.finish(p.at.ctx, NULL, &err);
}

int main(void)
{
	struct tap t = { 0 };

	test_flood(&t, 1000, 1000);
	/* A burst, and some more for each moment that it lasts. */
	test_flood(&t, REPORTS, REPORTS - 1000);
	test_unsound(&t);
	return tap_done(&t);
}
