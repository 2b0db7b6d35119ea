/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define TYPE_AAAA  28
#define TYPE_HTTPS 65

static const struct {
	const char *code;
	const char *reason;
	bool denied; /* by a rule of ours, rather than failed */
} whys[RELAY_WHY_MAX] = {
	[RELAY_WHY_NONE] = { "unknown", "unknown", true },
	[RELAY_WHY_ALLOWED] = { "allowed", "allowed by a rule", false },
	[RELAY_WHY_NOT_LISTED] = { "not_listed", "not among the sandbox's hosts", true },
	[RELAY_WHY_AGENT] = { "acl_deny", "denied by the agent's rules", true },
	[RELAY_WHY_APPROVAL] = { "interrupt", "denied for now: a person must approve it", true },
	[RELAY_WHY_NOT_PUBLIC] = { "not_public", "leads to an address that is not public", true },
	[RELAY_WHY_OWN] = { "own_address", "leads to an address of this host", true },
	[RELAY_WHY_NO_NAME] = { "no_name", "not the name of a host", true },
	[RELAY_WHY_OTHER_NAME] = { "other_name", "TLS or HTTP do not name this host", true },
	[RELAY_WHY_UNRESOLVED] = { "unresolved", "the host's resolver knows no such name", false },
	[RELAY_WHY_RESOLVER] = { "resolver", "the host's resolver does not answer", false },
	[RELAY_WHY_UNREACHED] = { "unreached", "cannot be reached", false },
	[RELAY_WHY_SILENT] = { "silent", "the client did not say which host it wants", true },
	[RELAY_WHY_FULL] = { "full", "too many names or connections", true },
	[RELAY_WHY_BROKEN] = { "broken", "cut off", false },
	[RELAY_WHY_PROXY] = { "proxy_deny", "refused by the upstream proxy", true },
	[RELAY_WHY_NO_PROXY] = { "proxy_unreached", "the upstream proxy does not answer", false },
};

const char *network_why(enum relay_why why)
{
	return (unsigned)why < RELAY_WHY_MAX ? whys[why].code : whys[RELAY_WHY_NONE].code;
}

static const char *target_text(const struct host_target *t, char text[HOSTPAT_TEXT_SIZE])
{
	if (t->port == 0) {
		(void)snprintf(text, HOSTPAT_TEXT_SIZE, "%s",
			       t->name[0] != '\0' ? t->name : "a name that no host has");
		return text;
	}
	return hostpat_target_text(t, text);
}

static const char *addr_text(const struct host_addr *a, char text[INET6_ADDRSTRLEN])
{
	text[0] = '\0';
	if (a->family != 0)
		(void)inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, text,
				INET6_ADDRSTRLEN);
	return text;
}

/* --- what comes in --- */

static void count_denial(struct network *n, const struct relay_report *rep)
{
	/* Programs ask for several records of a name at once. */
	bool beside = rep->kind == RELAY_REPORT_NAME &&
		      (rep->count == TYPE_AAAA || rep->count == TYPE_HTTPS);

	if (!whys[rep->why].denied)
		return;
	for (size_t i = 0; i < n->n_denials; i++) {
		struct network_denial *d = &n->denials[i];

		if (d->why == rep->why && hostpat_target_same(&d->target, &rep->target)) {
			d->count += !beside;
			return;
		}
	}
	if (n->n_denials == NETWORK_DENIALS_MAX) {
		n->more += !beside;
		return;
	}
	n->denials[n->n_denials++] = (struct network_denial){
		.target = rep->target,
		.why = rep->why,
		.peer = rep->peer,
		.status = rep->kind == RELAY_REPORT_CONN ? rep->count : 0,
		.count = !beside,
	};
}

static const char *const methods[RELAY_METHOD_MAX] = {
	[RELAY_METHOD_CONNECT] = "connect",
	[RELAY_METHOD_ACCEPT] = "accept",
};

static json_t *report_json(const struct relay_report *rep)
{
	char addr[INET6_ADDRSTRLEN];
	json_t *o = json_object();

	if (rep->kind == RELAY_REPORT_SKIPPED) {
		json_put(o, "skipped", json_integer(rep->count));
		return o;
	}
	json_put(o, "host",
		 json_text(rep->target.name[0] != '\0' ? rep->target.name
						       : addr_text(&rep->target.addr, addr)));
	if (rep->kind == RELAY_REPORT_NAME) {
		json_put(o, "method", json_text("resolve"));
		json_put(o, "type", json_integer(rep->count));
		return o;
	}
	json_put(o, "method", json_text(methods[rep->method]));
	json_put(o, "port", json_integer(rep->target.port));
	json_put(o, "address",
		 rep->peer.family == 0 ? json_null() : json_text(addr_text(&rep->peer, addr)));
	if (rep->count != 0)
		json_put(o, "proxy_status", json_integer(rep->count));
	json_put(o, "bytes_out", json_integer((json_int_t)rep->up));
	json_put(o, "bytes_in", json_integer((json_int_t)rep->down));
	json_put(o, "ms", json_integer((json_int_t)rep->ms));
	return o;
}

static const char skipped_reason[] = "too many at once: not recorded one by one";

static int take_report(void *ctx, const struct relay_report *rep, struct err *err)
{
	struct network *n = ctx;
	JSON_AUTO *extra = NULL;
	struct audit_record rec = {
		.event = rep->kind == RELAY_REPORT_NAME ? AUDIT_NAME : AUDIT_CONNECTION,
		.layer = AUDIT_LAYER_NET,
	};

	if (rep->kind != RELAY_REPORT_SKIPPED) {
		count_denial(n, rep);
		rec.decision = whys[rep->why].denied ? "deny" : "allow";
		rec.code = whys[rep->why].code;
		rec.reason = whys[rep->why].reason;
	} else {
		n->skipped += rep->count;
		rec.reason = skipped_reason;
	}
	if (n->record == NULL)
		return 0;
	extra = report_json(rep);
	rec.extra = extra;
	return record_net(n->record, &rec, err);
}

/* --- the attachment --- */

static uint32_t fixed_id(const struct plan *plan)
{
	return plan->ids.identity == PLAN_IDENTITY_CALLER ? 0 : PLAN_FIXED_ID;
}

bool network_attach(struct network *n, struct prepared *p, struct record *record,
		    struct run_attachment *ret, struct run_attachment *ret_end)
{
	const struct cli_context *c = &p->context;
	const struct profile_named *named = &c->profile->sandbox.named;
	struct addr_range *ranges;

	*n = (struct network){ .record = record };
	if (!p->plan->net.named)
		return false;
	ranges = arena_array(c->arena, named->private_ranges.n, sizeof(*ranges));
	for (size_t i = 0; i < named->private_ranges.n; i++) {
		ranges[i].net = named->private_ranges.v[i].net;
		ranges[i].bits = named->private_ranges.v[i].bits;
	}
	n->relay = (struct relay_attach){
		.plan = p->plan,
		.rules = p->connect,
		.ranges = ranges,
		.n_ranges = named->private_ranges.n,
		.publish = named->publish.v,
		/* A probe of the host takes no port of it away. */
		.proxy = p->proxy,
		.n_publish = record == NULL ? 0 : named->publish.n,
		.drop_id = fixed_id(p->plan),
		.drop_optional = p->plan->ids.identity == PLAN_IDENTITY_ROOT,
		.report = take_report,
		.ctx = n,
	};
	relay_attach(&n->relay, ret, ret_end);
	return true;
}

/* --- the end --- */

/* What to do about it, where there is something to be done. */
static const char *denial_hint(const struct network_denial *d, char text[HOSTPAT_TEXT_SIZE])
{
	char addr[INET6_ADDRSTRLEN];
	const char *kind = d->peer.family != 0 ? addr_refusal(&d->peer) : NULL;

	if (d->why == RELAY_WHY_NOT_PUBLIC && kind != NULL && strcmp(kind, "benchmark") == 0)
		(void)snprintf(
			text, HOSTPAT_TEXT_SIZE,
			": the host's resolver answers with addresses of its own (%s; clash, "
			"mihomo and sing-box do): private_ranges: [198.18.0.0/15] allows them",
			addr_text(&d->peer, addr));
	else if (d->why == RELAY_WHY_NOT_PUBLIC)
		(void)snprintf(text, HOSTPAT_TEXT_SIZE,
			       ": it leads to %s, a %s address; private_ranges would allow it",
			       addr_text(&d->peer, addr), kind != NULL ? kind : "special");
	else if (d->why == RELAY_WHY_OWN)
		(void)snprintf(text, HOSTPAT_TEXT_SIZE,
			       ": it leads to %s, an address of this host; private_ranges would "
			       "allow it",
			       addr_text(&d->peer, addr));
	else if (d->why == RELAY_WHY_PROXY)
		(void)snprintf(text, HOSTPAT_TEXT_SIZE,
			       ": refused by the upstream proxy (status %u%s)", d->status,
			       d->status == 407 ? ": it wants other credentials" : "");
	else if (d->why == RELAY_WHY_NOT_LISTED || d->why == RELAY_WHY_NO_NAME)
		text[0] = '\0';
	else
		(void)snprintf(text, HOSTPAT_TEXT_SIZE, ": %s", whys[d->why].reason);
	return text;
}

void network_say(const struct network *n)
{
	for (size_t i = 0; i < n->n_denials; i++) {
		const struct network_denial *d = &n->denials[i];
		char target[HOSTPAT_TEXT_SIZE];
		char hint[HOSTPAT_TEXT_SIZE];

		cli_say("network: denied %s (%llu\xc3\x97)%s", target_text(&d->target, target),
			(unsigned long long)(d->count == 0 ? 1 : d->count), denial_hint(d, hint));
	}
	if (n->more > 0)
		cli_say("network: and %llu more denials, of other hosts",
			(unsigned long long)n->more);
	if (n->skipped > 0)
		cli_say("network: and %llu more names or connections, too many at once to be told "
			"one by one",
			(unsigned long long)n->skipped);
	if (n->relay.lost)
		cli_say("network: the relay ended before the command did; from then on there was "
			"no network");
}

static void denial_add(json_t *list, json_t *resource, const char *code, const char *reason,
		       uint64_t count)
{
	json_t *o = json_object();

	json_put(o, "layer", json_text("net"));
	json_put(o, "resource", resource);
	json_put(o, "code", json_text(code));
	json_put(o, "reason", json_text(reason));
	json_put(o, "count", json_integer((json_int_t)count));
	(void)json_array_append_new(list, o);
}

json_t *network_denials(const struct network *n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n->n_denials; i++) {
		const struct network_denial *d = &n->denials[i];
		char text[HOSTPAT_TEXT_SIZE];

		denial_add(list, json_text(target_text(&d->target, text)), whys[d->why].code,
			   whys[d->why].reason, d->count == 0 ? 1 : d->count);
	}
	if (n->more > 0)
		denial_add(list, json_null(), "more", "of other hosts", n->more);
	if (n->skipped > 0)
		denial_add(list, json_null(), "skipped", skipped_reason, n->skipped);
	return list;
}
