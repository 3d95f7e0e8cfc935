/* SPDX-License-Identifier: ISC */
/*
 * pairs: measures how long programs take, as whole processes.
 *
 *   pairs COUNT PROGRAM [ARG...] --and-- PROGRAM [ARG...] ...
 *
 * Prints a line for each program: median microseconds, peak memory in KiB, and
 * the median of how many microseconds more it took than the first program in the
 * same round. Each round runs every program once, so that a disturbance of the
 * machine affects all alike. The programs' output goes to /dev/null.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

#define PROGRAMS_MAX 16

/* Runs argv once and returns its time. Raises *peakp to its peak memory. */
static double
run_once(char **argv, int out, long *peakp)
{
	struct rusage usage;
	double begin = now();
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid == -1 || wait4(pid, &status, 0, &usage) != pid ||
	    !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "%s: failed\n", argv[0]);
		exit(1);
	}
	if (usage.ru_maxrss > *peakp)
		*peakp = usage.ru_maxrss;
	return now() - begin;
}

int
main(int argc, char **argv)
{
	char **program[PROGRAMS_MAX] = { argv + 2 };
	long peak[PROGRAMS_MAX] = { 0 };
	double *took[PROGRAMS_MAX], *more[PROGRAMS_MAX];
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC), n = 1;
	int count = argc > 2 ? atoi(argv[1]) : 0;

	if (count < 1 || out == -1)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--and--") != 0)
			continue;
		if (n == PROGRAMS_MAX)
			return 2;
		argv[i] = NULL;
		program[n++] = argv + i + 1;
	}
	for (int i = 0; i < n; i++) {
		took[i] = calloc((size_t)count, sizeof(double));
		more[i] = calloc((size_t)count, sizeof(double));
	}
	for (int round = -2; round < count; round++) {
		for (int i = 0; i < n; i++) {
			double t = run_once(program[i], out, &peak[i]);

			if (round >= 0)
				took[i][round] = t;
		}
	}
	for (int i = 0; i < n; i++) {
		for (int round = 0; round < count; round++)
			more[i][round] = took[i][round] - took[0][round];
	}
	for (int i = 0; i < n; i++) {
		printf("%.1f %ld %.1f\n", median(took[i], (size_t)count),
		    peak[i], median(more[i], (size_t)count));
		free(took[i]);
		free(more[i]);
	}
	return 0;
}
