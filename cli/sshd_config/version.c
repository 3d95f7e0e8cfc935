/* SPDX-License-Identifier: ISC */
#include "sshd_config/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/sshd_config.h"

bool
sshd_version_at_least(const char *path, unsigned int major, unsigned int minor)
{
	static const char *const argument[] = { "-V" };
	const struct sshd sshd = { .path = path };
	unsigned int have_major = 0, have_minor = 0;
	char why[512], *text, *version;

	if ((text = sshd_run(&sshd, argument, 1, why, sizeof(why))) == NULL)
		return false;
	version = strstr(text, "OpenSSH_");
	if (version == NULL || sscanf(version, "OpenSSH_%3u.%3u", &have_major,
	    &have_minor) != 2)
		have_major = 0;
	free(text);
	return have_major > major ||
	    (have_major == major && have_minor >= minor);
}
