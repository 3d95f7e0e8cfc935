/* SPDX-License-Identifier: ISC */
/*
 * The least work of a program that becomes an account: it looks the account up,
 * and as root its groups. It is dynamically linked, as that look-up requires.
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
