/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static const struct probe_act *const tables[] = {
	probe_fs_acts, probe_net_acts, probe_proc_acts, probe_look_acts, probe_call_acts,
};

long probe_number(const char *s)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno != 0 || *s == '\0' || *end != '\0') {
		fprintf(stderr, "probe: not a number: %s\n", s);
		exit(2);
	}
	return v;
}

int probe_result(long r)
{
	return r < 0 ? -errno : PROBE_OK;
}

static int usage(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct probe_act *a = tables[t]; a->name != NULL; a++)
			fprintf(stderr, "probe %s %s\n", a->name, a->usage);
	return 2;
}

static const struct probe_act *act_find(const char *name)
{
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct probe_act *a = tables[t]; a->name != NULL; a++)
			if (strcmp(a->name, name) == 0)
				return a;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct probe_act *a = argc < 2 ? NULL : act_find(argv[1]);
	const char *name;
	int r;

	if (a == NULL || argc - 2 < a->min_args)
		return usage();
	r = a->run(argv + 2);
	if (r < 0) {
		name = strerrorname_np(-r);
		printf("%s\n", name == NULL ? "EUNKNOWN" : name);
	} else if (r == PROBE_OK) {
		puts("ok");
	}
	if (fflush(stdout) != 0)
		return 2;
	return r < 0 ? 1 : 0;
}
