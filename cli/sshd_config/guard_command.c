/* SPDX-License-Identifier: ISC */
#include "sshd_config/guard_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/words.h"

bool
guard_command(const char *command, const char **argsp)
{
	size_t len = strcspn(command, " \t\"");
	const size_t name = strlen(GUARD_NAME);

	*argsp = command + len;
	return len > name && command[len - name - 1] == '/' &&
	    strncmp(command + len - name, GUARD_NAME, name) == 0;
}

/* Every argument of the guard before "--" is an option with a value. */
bool
guard_chained(const char *args)
{
	char *copy = strdup(args), *rest = copy;
	const char *option;
	bool chained = false;

	while (copy != NULL && !chained &&
	    (option = sshd_words_next(&rest)) != NULL) {
		chained = strcmp(option, "--") == 0;
		if (!chained)
			(void)sshd_words_next(&rest);
	}
	free(copy);
	return chained;
}

bool
guard_config(const char *args, char *path, size_t cap)
{
	char *copy = strdup(args), *rest = copy;
	const char *option, *value;
	bool found = false;

	while (copy != NULL && !found &&
	    (option = sshd_words_next(&rest)) != NULL &&
	    strcmp(option, "--") != 0) {
		value = sshd_words_next(&rest);
		found = value != NULL && strcmp(option, "--config") == 0;
		if (found)
			snprintf(path, cap, "%s", value);
	}
	free(copy);
	return found;
}

bool
guard_files_read(const char *args, struct guard_files *f)
{
	const char *option, *value;
	char *rest;

	*f = (struct guard_files){ .memory = strdup(args) };
	if ((rest = f->memory) == NULL)
		return false;
	while ((option = sshd_words_next(&rest)) != NULL &&
	    strcmp(option, "--") != 0 &&
	    (value = sshd_words_next(&rest)) != NULL) {
		if (strcmp(option, "--strictmodes") == 0)
			f->strictmodes = value;
		else if (strcmp(option, "--wildcards") == 0)
			f->wildcards = value;
		else if (strcmp(option, "--file") == 0 &&
		    f->n < KV_CONFIG_MAX_PATTERNS)
			f->pattern[f->n++] = value;
	}
	return true;
}

void
guard_files_free(struct guard_files *f)
{
	free(f->memory);
	*f = (struct guard_files){ 0 };
}
