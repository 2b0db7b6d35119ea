/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line as a pattern and the next as a host: what is accepted reads the same when it is printed,
 * and a name below a suffix ends in it. */
#include <stdlib.h>
#include <string.h>

#include "base/hostpat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[1024];
	char printed[HOSTPAT_TEXT_SIZE];
	struct host_target host, again;
	struct hostpat p;
	char *second;
	bool pattern;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	second = strchr(text, '\n');
	if (second == NULL)
		return 0;
	*second++ = '\0';
	second[strcspn(second, "\n")] = '\0';
	pattern = hostpat_parse(text, &p) == NULL;
	if (pattern == (p.kind == HOSTPAT_NONE))
		abort();
	if (hostpat_target(second, &host) != NULL)
		return 0;
	if (hostpat_target(hostpat_target_text(&host, printed), &again) != NULL ||
	    memcmp(&host, &again, sizeof(host)) != 0)
		abort();
	if (!pattern && hostpat_match(&p, &host))
		abort();
	if (p.kind == HOSTPAT_SUFFIX && hostpat_match(&p, &host) &&
	    strcmp(host.name + strlen(host.name) - strlen(p.name), p.name) != 0)
		abort();
	return 0;
}
