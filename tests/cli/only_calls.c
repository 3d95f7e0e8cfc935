/* SPDX-License-Identifier: ISC */
/*
 * Runs a command under a filter as systemd makes it of SystemCallFilter: only the
 * calls that the file argv[1] names work.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	char name[128];
	FILE *f = fopen(argv[1], "re");
	int call;

	if (argc < 3 || ctx == NULL || f == NULL)
		return 99;
	while (fscanf(f, "%127s", name) == 1)
		if ((call = seccomp_syscall_resolve_name(name)) !=
			__NR_SCMP_ERROR &&
		    seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0) != 0)
			return 98;
	if (seccomp_load(ctx) != 0)
		return 97;
	execv(argv[2], argv + 2);
	return 96;
}
