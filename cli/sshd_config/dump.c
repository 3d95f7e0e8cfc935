/* SPDX-License-Identifier: ISC */
#include "sshd_config/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshd_config/subject.h"

/* "sshd -t", or "sshd -T" about user. */
struct question {
	bool valid;
	const char *user;
};

static char *
ask_once(const struct sshd *sshd, const struct question *what, char *why,
    size_t cap)
{
	static const char *const test[] = { "-t" };
	const struct sshd_subject *s = sshd_subject(sshd);
	struct sshd_question q;

	if (!what->valid)
		sshd_ask(sshd, what->user, &q);
	else if (*s->refused == '\0')
		sshd_start(sshd, test, 1, &q);
	else {
		snprintf(why, cap, "%s", s->refused);
		return NULL;
	}
	return sshd_answer_text(&q, why, cap);
}

static char *
ask(const char *path, struct sshd_tree *t, bool foreign,
    const struct question *what, char *why, size_t cap)
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
	text = ask_once(&sshd, what, why, cap);
	if (text == NULL && sshd.host_key == NULL &&
	    strstr(why, "no hostkeys available") != NULL) {
		if (!sshd_tree_make_host_key(t, why, cap))
			return NULL;
		sshd.host_key = t->host_key;
		text = ask_once(&sshd, what, why, cap);
	}
	if (text == NULL)
		sshd_tree_rename(t, why, cap);
	return text;
}

char *
sshd_dump(const char *sshd, struct sshd_tree *t, bool foreign,
    const char *user, char *why, size_t cap)
{
	const struct question what = { .user = user };

	return ask(sshd, t, foreign, &what, why, cap);
}

bool
sshd_dump_valid(const char *sshd, struct sshd_tree *t, bool foreign,
    char *why, size_t cap)
{
	const struct question what = { .valid = true };
	char *text = ask(sshd, t, foreign, &what, why, cap);

	free(text);
	return text != NULL;
}
