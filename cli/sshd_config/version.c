/* SPDX-License-Identifier: ISC */
#include "sshd_config/version.h"

#include <stdlib.h>
#include <string.h>

#include "sshd_config/sshd_config.h"

#define NAME "OpenSSH_"

bool
sshd_version_at_least(const char *path, unsigned int major, unsigned int minor)
{
	static const char *const argument[] = { "-V" };
	const struct sshd sshd = { .path = path };
	unsigned long have_major = 0, have_minor = 0;
	char why[512], *text, *version;

	if ((text = sshd_run(&sshd, argument, 1, why, sizeof(why))) == NULL)
		return false;
	/* "OpenSSH_9.2p1 Debian-2". Without a number the version is 0. */
	if ((version = strstr(text, NAME)) != NULL) {
		have_major = strtoul(version + sizeof(NAME) - 1, &version, 10);
		if (*version == '.')
			have_minor = strtoul(version + 1, NULL, 10);
	}
	free(text);
	return have_major > major ||
	    (have_major == major && have_minor >= minor);
}
