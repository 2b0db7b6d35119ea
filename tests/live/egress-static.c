/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that is linked statically, and so has the resolver of its own C library: what it gets by
 * HTTP from a host, on standard output. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct addrinfo hints = { .ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char text[512];
	ssize_t n;
	int fd, r;

	if (argc != 3)
		return 2;
	r = getaddrinfo(argv[1], "80", &hints, &list);
	if (r != 0) {
		fprintf(stderr, "%s: %s\n", argv[1], gai_strerror(r));
		return 1;
	}
	fd = socket(list->ai_family, list->ai_socktype, list->ai_protocol);
	if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
		perror("connect");
		return 1;
	}
	r = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", argv[2], argv[1]);
	if (write(fd, text, (size_t)r) != r)
		return 1;
	while ((n = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, stdout);
	return n < 0;
}
