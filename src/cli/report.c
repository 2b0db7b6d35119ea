/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/report.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "policy/facts-answers.h"

/* Else the command seems to have failed of itself. */
void report_limit(const struct plan *p, const struct outcome *out)
{
	if (out->limit == NULL)
		return;
	cli_say("a limit ended the run: %s of %llu %s (limits.%s%s)", out->limit,
		(unsigned long long)p->limits[out->limit_which].bound,
		plan_limit_name(out->limit_which)->unit, out->limit,
		out->limit_which == PLAN_LIMIT_TIMEOUT ? " or --timeout" : "");
}

/* What is weaker than it could be, on this host or by the profile's own word. */
void report_weaker(const struct prepared *prep)
{
	const struct facts_answers *answers = prep->context.facts.answers;

	if (prep->plan->ids.identity == PLAN_IDENTITY_ROOT)
		cli_say("running as kernel uid 0 without capabilities: %s",
			prepare_identity_reason(prep->context.arena, prep));
	for (size_t i = 0; i < answers->mounts.n; i++)
		if (!answers->mounts.v[i].answers)
			cli_say("%s does not answer (a FUSE or network mount without its server?) "
				"and is hidden",
				answers->mounts.v[i].path);
	if (prep->plan->outer_proc)
		cli_say("degraded (no_proc): /proc is the outer one, read-only; processes outside "
			"of the sandbox can be seen in it");
}

/* Who waits for the object must learn that it is not there: @rc, but never 0. */
int report_object(int fd, const json_t *o, const char *what, int rc)
{
	int r = cli_print_json(fd, o);

	if (r == 0)
		return rc;
	cli_say("the %s cannot be written to descriptor %d: %s", what, fd, strerror(-r));
	return rc == 0 ? EXITCODE_FAILED : rc;
}

/* Approvals are not kept in this version: the id is what the log has of the request. */
void report_verdict(const struct prepared *prep)
{
	if (prep->decision.verdict == PROFILE_INTERRUPT)
		cli_say("waiting for approval: request %s: %s", prep->record.request_id,
			prep->decision.reason);
	else
		cli_say("denied: %s", prep->decision.reason);
}

/* A person, who has the profile; what else reads standard error may be who was denied. */
void report_agents(const struct prepared *prep)
{
	if (isatty(STDERR_FILENO) == 1)
		cli_say("%s", cli_agent_hint(&prep->context, prep->context.asked.id));
}

/* A ^C that came to us as well, or that a terminal without the relay would have sent to our whole
 * process group: a shell goes on with its loop or stops by how we end. A command
 * that took it and went on to a status of its own (an interpreter, an editor) was not interrupted.
 */
void report_interrupt(const struct outcome *out, struct err *err)
{
	sigset_t set;

	if (!out->interrupt_typed &&
	    (out->got_signal != SIGINT ||
	     (out->status == OUTCOME_EXITED && out->exit_code != 128 + SIGINT)))
		return;
	if (err->set)
		cli_say_err(err);
	*err = (struct err){ 0 };
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	(void)signal(SIGINT, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* Returns in a pid 1, which no signal of its own ends: then the status says it. */
	(void)kill(out->interrupt_typed ? 0 : getpid(), SIGINT);
}
