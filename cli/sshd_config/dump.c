/* SPDX-License-Identifier: ISC */
#include "sshd_config/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshd_config/sshd_config.h"

static char *
ask(const char *path, struct sshd_tree *t, bool foreign,
    const char *const *argument, size_t n, char *why, size_t cap)
{
	struct sshd sshd = { .path = path, .config = t->top };
	char *text;

	if (access(path, X_OK) == -1) {
		snprintf(why, cap, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (foreign && !sshd_tree_make_host_key(t, why, cap))
		return NULL;
	sshd.host_key = t->host_key;
	text = sshd_run(&sshd, argument, n, why, cap);
	if (text == NULL && sshd.host_key == NULL &&
	    strstr(why, "no hostkeys available") != NULL) {
		if (!sshd_tree_make_host_key(t, why, cap))
			return NULL;
		sshd.host_key = t->host_key;
		text = sshd_run(&sshd, argument, n, why, cap);
	}
	if (text == NULL)
		sshd_tree_rename(t, why, cap);
	return text;
}

char *
sshd_dump(const char *sshd, struct sshd_tree *t, bool foreign,
    const char *user, char *why, size_t cap)
{
	char spec[1024];
	const char *const argument[] = { "-T", "-C", spec };

	if (user != NULL && !sshd_connection(user, spec, sizeof(spec))) {
		snprintf(why, cap, "sshd cannot be asked about such a name");
		return NULL;
	}
	return ask(sshd, t, foreign, argument, user != NULL ? 3 : 1, why, cap);
}

bool
sshd_dump_valid(const char *sshd, struct sshd_tree *t, bool foreign,
    char *why, size_t cap)
{
	const char *const argument[] = { "-t" };
	char *text = ask(sshd, t, foreign, argument, 1, why, cap);

	free(text);
	return text != NULL;
}
