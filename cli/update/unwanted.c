/* SPDX-License-Identifier: ISC */
#include "update/unwanted.h"

#include <string.h>

#include "command.h"

bool
update_unwanted_is(const struct update_notes *s, const char *sha256)
{
	return *sha256 != '\0' && strcmp(s->unwanted_file, sha256) == 0;
}

void
update_unwanted_report(const char *shown, const char *name)
{
	cli_error("%s: still has the %s that was rolled back here, which is "
		  "not installed again. Any other one that is newer is "
		  "installed by itself; to take this one, use --force",
	    shown, name);
}

void
update_unwanted_forget(struct update_notes *s, const char *sha256)
{
	if (update_unwanted_is(s, sha256))
		s->unwanted_file[0] = '\0';
}
