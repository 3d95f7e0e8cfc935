/* SPDX-License-Identifier: ISC */
#include "accounts/revoked.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "keys/krl.h"
#include "sshd_config/words.h"
#include "working/working.h"

/*
 * Copies the values of RevokedKeys, which may have several lines since 10.3.
 * Returns NULL if there is none, or without memory, with *failed then.
 */
static char *
copy_values(const struct sshd_settings *settings, bool *failed)
{
	static const char keyword[] = "RevokedKeys ";
	const size_t len = sizeof(keyword) - 1;
	const char *line = settings->login;
	char *values = NULL, *longer;

	*failed = false;
	for (; *line != '\0'; line += strcspn(line, "\n"), line += *line != 0) {
		const int n = (int)strcspn(line, "\n");

		if (strncasecmp(line, keyword, len) != 0)
			continue;
		*failed |= asprintf(&longer, "%s %.*s",
			       values != NULL ? values : "", n - (int)len,
			       line + len) == -1;
		if (*failed)
			break;
		free(values);
		values = longer;
	}
	if (!*failed && values != NULL && !sshd_words_none(values))
		return values;
	free(values);
	return NULL;
}

bool
revoked_any(const struct sshd_settings *settings)
{
	bool failed = false;
	char *values = settings != NULL ? copy_values(settings, &failed) : NULL;
	const bool any = values != NULL || failed;

	free(values);
	return any;
}

/* Has a worker look for the key in the file. Without an answer: doubt. */
static bool
is_in_file(int fd, struct kv_span blob, bool doubt)
{
	enum working_revoked answer = WORKING_REVOKED_UNKNOWN;
	const struct working_task t = {
		.name = "revoked",
		.args = RECORD_FIELDS(R_SPAN(blob)),
		.fd = { fd },
		.n_fds = 1,
		.file_bytes = KRL_MAX_BYTES,
		.answer = RECORD_FIELDS(
		    R_NUMBER(answer, WORKING_REVOKED_UNKNOWN)),
	};
	char why[WALL_WHY_BYTES];

	if (!working_do(&t, why) || answer == WORKING_REVOKED_UNKNOWN)
		return doubt;
	return answer == WORKING_REVOKED;
}

static bool
file_has(const char *path, struct kv_span blob, bool doubt)
{
	struct stat st;
	bool has = true;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1)
		return true;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		has = is_in_file(fd, blob, doubt);
	close(fd);
	return has;
}

bool
revoked_has(const struct sshd_settings *settings, struct kv_span blob,
    bool doubt)
{
	bool has = false, failed;
	char *values = copy_values(settings, &failed), *rest = values;
	struct kv_sshkey key;
	const char *path;

	if (failed || kv_sshkey_parse(blob.p, blob.len, &key) != KV_OK) {
		free(values);
		return doubt;
	}
	while (!has && rest != NULL && (path = sshd_words_next(&rest)) != NULL)
		has = strcasecmp(path, "none") != 0 &&
		    file_has(path, blob, doubt);
	free(values);
	return has;
}
