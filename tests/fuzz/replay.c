/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main() of a fuzz target that is built without libFuzzer: replays the files given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rbe");
		uint8_t *buf = malloc(1 << 20);
		size_t n = f != NULL && buf != NULL ? fread(buf, 1, 1 << 20, f) : 0;

		if (f == NULL || buf == NULL || fclose(f) != 0)
			return 1;
		(void)LLVMFuzzerTestOneInput(buf, n);
		free(buf);
	}
	printf("%d inputs\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
