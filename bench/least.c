/* SPDX-License-Identifier: ISC */
/*
 * least: the least that a check of a file of keys must do.
 *
 *   least FILTER KEYS
 *
 * Reads KEYS, finds its lines, hashes each line once, as a filter hashes a key,
 * and reads the byte of FILTER that the hash names. Prints the sum of these
 * bytes and the number of lines.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BLOCK_BYTES (128 * 1024)
#define LINE_BYTES (16 * 1024)

int
main(int argc, char **argv)
{
	static char buf[BLOCK_BYTES + LINE_BYTES];
	const uint8_t *map = MAP_FAILED;
	unsigned long sum = 0, lines = 0;
	size_t left = 0;
	ssize_t n;
	struct stat st;
	int filter, keys;

	if (argc == 3 && (filter = open(argv[1], O_RDONLY)) != -1 &&
	    fstat(filter, &st) == 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED,
		    filter, 0);
	if (map == MAP_FAILED || (keys = open(argv[2], O_RDONLY)) == -1)
		return 2;
	while ((n = read(keys, buf + left, BLOCK_BYTES)) > 0) {
		const char *p = buf, *end = buf + left + n, *nl;

		while ((nl = memchr(p, '\n', (size_t)(end - p))) != NULL) {
			sum += map[XXH64(p, (size_t)(nl - p), 0) %
			    (uint64_t)st.st_size];
			lines++;
			p = nl + 1;
		}
		left = (size_t)(end - p);
		if (left > LINE_BYTES)
			return 2;
		memmove(buf, p, left);
	}
	printf("%lu %lu\n", sum, lines);
	return n == 0 ? 0 : 2;
}
