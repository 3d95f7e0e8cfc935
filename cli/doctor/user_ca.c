/* SPDX-License-Identifier: ISC */
/* CAs that sshd trusts, and that need no secret: whoever wants makes a user. */
#include "doctor/doctor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/system_file.h"
#include "keys/input.h"
#include "reading/keys.h"
#include "kv_fingerprint.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define REMEDY \
	"take that line out of the file, and look for who put it there: " \
	"docs/no-secret.md"

/* Whether a login with a certificate by a listed CA is refused. */
static bool
is_refused(const struct doctor *d, const struct kv_decision *decision)
{
	return decision->action == KV_ACTION_DENY &&
	    (d->ways.guard[WAY_USER_CA] ||
		(d->settings->use_pam && d->module.judges));
}

static void
check_key(const struct input_key *key, void *arg)
{
	struct doctor *d = arg;
	char fingerprint[KV_FINGERPRINT_BYTES];
	struct kv_decision decision;

	judging_key(&d->judging.judge, key, d->now, &decision);
	if (decision.verdict != KV_VERDICT_LISTED ||
	    decision.list != &kv_built_in)
		return;
	finding_format_fingerprint(&key->key, fingerprint);
	doctor_add(d, is_refused(d, &decision) ? DOCTOR_WARNING : DOCTOR_BROKEN,
	    REMEDY,
	    "%s:%" PRIu64 ": anybody makes certificates of this CA, %s %s (%s)",
	    key->path, key->line, key->type, fingerprint, decision.source);
}

/* keyveto audit tells what cannot be read. */
static void
check_file(struct doctor *d, const char *path)
{
	const struct input_sink sink = {
		.key = check_key,
		.problem = input_ignore_problem,
		.arg = d,
		.plain = true,
	};
	const int fd = system_file_open(path, O_RDONLY);

	if (fd == -1)
		return;
	reading_keys_fd(fd, path, &sink);
	close(fd);
}

/* The file that a line names; the caller frees it. NULL if it names none. */
static char *
file_of(const struct sshd_line *line)
{
	char *value, *rest, *path = NULL;
	const char *word;

	if (strcasecmp(line->keyword, "TrustedUserCAKeys") != 0 ||
	    sshd_words_none(line->value) ||
	    (rest = value = strdup(line->value)) == NULL)
		return NULL;
	/* sshd reads the block of a client in /. */
	if ((word = sshd_words_next(&rest)) != NULL &&
	    asprintf(&path, "%s%s", *word == '/' ? "" : "/", word) == -1)
		path = NULL;
	free(value);
	return path;
}

void
doctor_ca_keys(struct doctor *d)
{
	const char *global = d->settings->user_ca;
	const struct sshd_tree *t = &d->overview.tree;
	struct texts seen = { .n = 0 };

	if (!sshd_words_none(global))
		check_file(d, global);
	for (size_t i = 0; i < t->n_lines; i++) {
		char *path = file_of(&t->line[i]);

		/* sshd has told which line outside of blocks counts. */
		if (path != NULL && t->line[i].match != 0 &&
		    strcmp(path, global) != 0 && !texts_has(&seen, path)) {
			check_file(d, path);
			d->out_of_memory |= !texts_add(&seen, path);
		}
		free(path);
	}
	texts_free(&seen);
}
