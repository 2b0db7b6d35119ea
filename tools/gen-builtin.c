/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gen-builtin FILE... - the shipped profiles as rows of src/profile/builtin.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *f)
{
	int c;

	while ((c = getc(f)) != EOF) {
		if (c == '\n')
			(void)fputs("\\n\"\n\"", stdout);
		else if (c == '"' || c == '\\')
			(void)printf("\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			(void)putchar(c);
		else
			(void)printf("\\%03o", (unsigned)c);
	}
}

static int put_row(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash == NULL ? path : slash + 1;
	const char *dot = strrchr(base, '.');
	FILE *f = fopen(path, "re");
	int bad;

	if (f == NULL || dot == NULL || dot == base || strcmp(dot, ".yaml") != 0) {
		(void)fprintf(stderr, "gen-builtin: %s: not a readable .yaml file\n", path);
		if (f != NULL)
			(void)fclose(f);
		return -1;
	}
	for (int pass = 0; pass < 2; pass++) {
		if (pass == 0)
			(void)printf("{ .name = BUILTIN_PREFIX \"%.*s\",\n.text = \"",
				     (int)(dot - base), base);
		else
			(void)fputs("\",\n.len = sizeof(\"", stdout);
		rewind(f);
		put_text(f);
	}
	(void)puts("\") - 1 },");
	bad = ferror(f);
	(void)fclose(f);
	return bad != 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (put_row(argv[i]) != 0)
			return EXIT_FAILURE;
	}
	return fflush(stdout) != 0 || ferror(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
