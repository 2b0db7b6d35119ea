/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases - the tests of a profile, decided from its text alone: nothing of the host is looked at, so
 * that they say the same on every machine.
 *
 * What stands in for the host: a path leads through no link; a program's name is found in the
 * base; every root is there. */
#pragma once

#include "policy/decide.h"

/* cases_decide() - what a run or `check` would decide for the request of @test. */
void cases_decide(struct arena *a, const struct profile *p, const struct profile_test *test,
		  struct decision *ret);

/* cases_holds() - is it what the test wants? */
bool cases_holds(const struct profile_test *test, const struct decision *d);
