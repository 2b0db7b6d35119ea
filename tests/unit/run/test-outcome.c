/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run.h"
#include "tap.h"

static const struct {
	const char *what;
	struct outcome o;
	int rc;
} rows[] = {
	{ "zero is a failure", { .status = OUTCOME_FAILED }, 125 },
	{ "failed", { .status = OUTCOME_FAILED, .err = { .set = true, .code = ERR_HOST } }, 125 },
	{ "failed by the request",
	  { .status = OUTCOME_FAILED, .err = { .set = true, .code = ERR_REQUEST } },
	  125 },
	{ "outside the sandbox",
	  { .status = OUTCOME_FAILED, .err = { .set = true, .code = ERR_OUTSIDE } },
	  121 },
	{ "an unset error of that code is no reason",
	  { .status = OUTCOME_FAILED, .err = { .code = ERR_OUTSIDE } },
	  125 },
	{ "exit 0", { .status = OUTCOME_EXITED, .has_exit = true }, 0 },
	{ "exit 1", { .status = OUTCOME_EXITED, .exit_code = 1 }, 1 },
	{ "exit 255", { .status = OUTCOME_EXITED, .exit_code = 255 }, 255 },
	{ "exit 125 of the command", { .status = OUTCOME_EXITED, .exit_code = 125 }, 125 },
	{ "signal 9", { .status = OUTCOME_SIGNALED, .signal = 9 }, 137 },
	{ "signal 15", { .status = OUTCOME_SIGNALED, .signal = 15 }, 143 },
	{ "signal 11", { .status = OUTCOME_SIGNALED, .signal = 11 }, 139 },
	{ "limit", { .status = OUTCOME_LIMIT, .signal = 15 }, 124 },
	{ "limit, the command exits 0",
	  { .status = OUTCOME_LIMIT, .has_exit = true, .limit = "timeout" },
	  124 },
	{ "not executable", { .status = OUTCOME_NOEXEC, .exit_code = 126 }, 126 },
	{ "not found", { .status = OUTCOME_NOEXEC, .exit_code = 127 }, 127 },
};

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tap_int(&t, outcome_rc(&rows[i].o), rows[i].rc, rows[i].what);
	return tap_done(&t);
}
