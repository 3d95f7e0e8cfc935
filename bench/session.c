/* SPDX-License-Identifier: ISC */
/*
 * session: measures PAM's session phase in a running process, as sshd calls it,
 * with two services in alternation.
 *
 *   session FOLDER SERVICE SERVICE AUTH_INFO ROUNDS
 *
 * Prints the median microseconds of both.
 */
#include <security/pam_appl.h>

#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

static int
converse(int n, const struct pam_message **m, struct pam_response **r, void *a)
{
	(void)m;
	(void)a;
	return (*r = calloc((size_t)n, sizeof(**r))) != NULL ?
	    PAM_SUCCESS :
	    PAM_BUF_ERR;
}

static double
open_session(const char *folder, const char *service, const char *auth_info)
{
	const struct pam_conv conv = { converse, NULL };
	pam_handle_t *h;
	double begin;

	if (pam_start_confdir(service, "root", &conv, folder, &h) !=
		PAM_SUCCESS ||
	    pam_putenv(h, auth_info) != PAM_SUCCESS)
		exit(2);
	begin = now();
	if (pam_open_session(h, 0) != PAM_SUCCESS) {
		fprintf(stderr, "%s: refused\n", service);
		exit(2);
	}
	begin = now() - begin;
	pam_end(h, PAM_SUCCESS);
	return begin;
}

int
main(int argc, char **argv)
{
	int rounds = argc == 6 ? atoi(argv[5]) : 0;
	double *one, *two;

	if (rounds < 1)
		return 2;
	one = calloc((size_t)rounds, sizeof(*one));
	two = calloc((size_t)rounds, sizeof(*two));
	for (int r = 0; r < rounds; r++) {
		one[r] = open_session(argv[1], argv[2], argv[4]);
		two[r] = open_session(argv[1], argv[3], argv[4]);
	}
	printf("%.1f %.1f\n", median(one, (size_t)rounds),
	    median(two, (size_t)rounds));
	return 0;
}
