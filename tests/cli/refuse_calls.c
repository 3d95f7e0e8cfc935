/* SPDX-License-Identifier: ISC */
/*
 * Plays a kernel, or the filter of a container, that does not have some calls:
 * refuse_calls ERRNO CALL… -- COMMAND. The call "prctl:N" is prctl(2) with N as
 * its first argument.
 */
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
refuse(scmp_filter_ctx ctx, unsigned int error, char *name)
{
	char *of = strchr(name, ':');
	const struct scmp_arg_cmp first = SCMP_CMP(0, SCMP_CMP_EQ,
	    of != NULL ? strtoull(of + 1, NULL, 10) : 0, 0);
	int call;

	if (of != NULL)
		*of = '\0';
	call = seccomp_syscall_resolve_name(name);
	return call == __NR_SCMP_ERROR ?
	    -1 :
	    seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(error), call, of != NULL,
		&first);
}

int
main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int i = 2;

	if (argc < 4 || ctx == NULL)
		return 99;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (refuse(ctx, (unsigned int)atoi(argv[1]), argv[i]) != 0)
			return 98;
	/* Nothing else shall be refused, nor what is of another architecture. */
	if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) != 0)
		return 97;
	if (geteuid() == 0 &&
	    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0) != 0)
		return 97;
	if (i + 1 >= argc || seccomp_load(ctx) != 0)
		return 96;
	execv(argv[i + 1], argv + i + 1);
	return 95;
}
