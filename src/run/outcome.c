/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run.h"

#include "base/exitcode.h"

void outcome_free(struct outcome *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->output); i++)
		strbuf_free(&o->output[i]);
}

int outcome_rc(const struct outcome *o)
{
	switch (o->status) {
	case OUTCOME_FAILED:
		return o->err.set && o->err.code == ERR_OUTSIDE ? EXITCODE_OUTSIDE
								: EXITCODE_FAILED;
	case OUTCOME_EXITED:
	case OUTCOME_NOEXEC:
		return o->exit_code;
	case OUTCOME_SIGNALED:
		return 128 + o->signal;
	case OUTCOME_LIMIT:
		return EXITCODE_LIMIT;
	}
	return EXITCODE_FAILED;
}
