/* SPDX-License-Identifier: ISC */
/*
 * A hostile neighbour: exchanges a name with one of others, over and
 * over, until it is killed.
 *
 *   swapper NAME OTHER...
 *
 * The exchange is one step, so the name always exists.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	unsigned int at = 1;

	if (argc < 3)
		errx(2, "usage: swapper NAME OTHER...");
	for (;;) {
		/* The order varies, so that it does not fit a victim's steps. */
		at = at * 1103515245 + 12345;
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD,
			argv[2 + (at >> 16) % (unsigned int)(argc - 2)],
			RENAME_EXCHANGE) == -1)
			err(1, "%s", argv[1]);
	}
}
