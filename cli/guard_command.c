/* SPDX-License-Identifier: ISC */
#include "guard_command.h"

#include <stdio.h>
#include <string.h>

bool
guard_command(const char *command, const char **argsp)
{
	size_t len = strcspn(command, " \t\"");
	const size_t name = strlen(GUARD_NAME);

	*argsp = command + len;
	return len > name && command[len - name - 1] == '/' &&
	    strncmp(command + len - name, GUARD_NAME, name) == 0;
}

bool
guard_config(const char *args, char *path, size_t cap)
{
	static const char option[] = "--config";
	const char *end = strstr(args, " -- ");
	const char *found = strstr(args, option);

	if (found == NULL || (end != NULL && end < found))
		return false;
	found += sizeof(option) - 1;
	if (*found != '=' && *found != ' ')
		return false;
	found += strspn(found, "= \t\"");
	snprintf(path, cap, "%.*s", (int)strcspn(found, " \t\""), found);
	return true;
}
