/* SPDX-License-Identifier: ISC */
#include "update/unwanted.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "published/index.h"
#include "working/working.h"

/* The notes have them with a blank between two. */

bool
update_unwanted_has(const struct update_notes *s, const char *sha256)
{
	return strlen(sha256) == UPDATE_DIGEST_CHARS - 1 &&
	    strstr(s->unwanted_files, sha256) != NULL;
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
update_unwanted_remove(struct update_notes *s, const char *sha256)
{
	char *at = strstr(s->unwanted_files, sha256);
	size_t len = strlen(sha256);

	if (!update_unwanted_has(s, sha256))
		return;
	/* With the blank behind it, or else the one before. */
	if (at[len] == ' ')
		len++;
	else if (at > s->unwanted_files)
		*--at = '\0';
	if (*at != '\0')
		memmove(at, at + len, strlen(at + len) + 1);
}

void
update_unwanted_add(struct update_notes *s, const char *sha256)
{
	char *text = s->unwanted_files, *next;
	const size_t len = strlen(sha256);

	update_unwanted_remove(s, sha256);
	while (text[0] != '\0' &&
	    strlen(text) + 1 + len >= sizeof(s->unwanted_files)) {
		next = strchr(text, ' ');
		if (next == NULL)
			text[0] = '\0';
		else
			memmove(text, next + 1, strlen(next + 1) + 1);
	}
	next = text + strlen(text);
	snprintf(next, sizeof(s->unwanted_files) - (size_t)(next - text),
	    "%s%s", next > text ? " " : "", sha256);
}

/* What the task "hash" answers. */
struct hashed {
	bool done;
	uint64_t error;
	char sha256[UPDATE_DIGEST_CHARS];
};

static bool
receive_hash(struct kv_bytes b, void *arg)
{
	struct hashed *h = arg;

	h->done = !h->done && record_get_number(&b, &h->error) == KV_OK &&
	    record_get_text(&b, h->sha256, sizeof(h->sha256)) &&
	    index_is_sha256(h->sha256) && b.left == 0;
	return h->done;
}

bool
update_unwanted_hash(const char *shown, int fd,
    char sha256[static UPDATE_DIGEST_CHARS])
{
	struct hashed h = { .done = false };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_hash,
		.arg = &h,
	};
	char why[WALL_WHY_BYTES];

	sha256[0] = '\0';
	working_task_begin(&t, "hash");
	if (!working_do(&t, why) || !h.done) {
		cli_error("%s: cannot be read: %s", shown, why);
		return false;
	}
	if ((errno = (int)h.error) != 0)
		return cli_failed(shown, "cannot be read");
	memcpy(sha256, h.sha256, sizeof(h.sha256));
	return true;
}
