/* SPDX-License-Identifier: ISC */
/*
 * What any program that becomes an account has to do, dynamically linked as a
 * look-up of accounts must be: find it, and if it is root, its groups.
 */
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const struct passwd *pw = argc == 2 ? getpwnam(argv[1]) : NULL;

	if (pw == NULL)
		return 1;
	return geteuid() == 0 && initgroups(pw->pw_name, pw->pw_gid) != 0;
}
