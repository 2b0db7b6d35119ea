/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gen-builtin FILE... - the shipped profiles as rows of src/profile/builtin.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX 65536

/* Whole files: they are small. */
static char *read_all(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, BYTES_MAX);
	size_t n = 0;

	if (f != NULL && text != NULL)
		n = fread(text, 1, BYTES_MAX, f);
	if (f == NULL || text == NULL || ferror(f) != 0 || n == 0 || n == BYTES_MAX) {
		free(text);
		text = NULL;
	}
	if (f != NULL)
		(void)fclose(f);
	return text;
}

static void put_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

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

/* Where the tests begin: the last key, so that what stands before them is a profile of its own. */
static size_t tests_at(const char *text)
{
	const char *at = strstr(text, "\ntests:\n");

	if (at == NULL)
		return 0;
	for (const char *line = strchr(at + 1, '\n'); line[1] != '\0';
	     line = strchr(line + 1, '\n')) {
		if (strchr(" #\n", line[1]) == NULL)
			return 0;
	}
	return (size_t)(at + 1 - text);
}

static int put_row(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash == NULL ? path : slash + 1;
	const char *dot = strrchr(base, '.');
	char *text = read_all(path);
	size_t len = text == NULL ? 0 : strlen(text);
	size_t tests = len > 0 && text[len - 1] == '\n' ? tests_at(text) : 0;

	if (tests == 0 || dot == NULL || dot == base || strcmp(dot, ".yaml") != 0) {
		(void)fprintf(stderr, "gen-builtin: %s: not a .yaml file that ends in tests\n",
			      path);
		free(text);
		return -1;
	}
	(void)printf(
		"{ .name = BUILTIN_PREFIX \"%.*s\",\n.len = %zu,\n.tests_at = %zu,\n.text = \"",
		(int)(dot - base), base, len, tests);
	put_text(text, len);
	(void)puts("\" },");
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (put_row(argv[i]) != 0)
			return EXIT_FAILURE;
	}
	return fflush(stdout) != 0 || ferror(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
