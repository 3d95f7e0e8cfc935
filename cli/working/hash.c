/* SPDX-License-Identifier: ISC */
#include "working/hash.h"

#include <errno.h>
#include <string.h>

#include "command.h"
#include "working/working.h"

/* What the task "hash" answers. */
struct hashed {
	uint64_t error;
	char sha256[WORKING_HASH_CHARS];
};

static bool
receive_hash(struct kv_bytes b, void *arg)
{
	struct hashed *h = arg;

	return record_get_all(&b, R_ANY(h->error), R_TEXT(h->sha256)) &&
	    strlen(h->sha256) == WORKING_HASH_CHARS - 1 &&
	    strspn(h->sha256, "0123456789abcdef") == WORKING_HASH_CHARS - 1;
}

bool
working_hash(int fd, const char *shown, char sha256[static WORKING_HASH_CHARS])
{
	struct hashed h = { .error = 0 };
	const struct working_task t = {
		.name = "hash",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_hash,
		.arg = &h,
	};
	char why[WALL_WHY_BYTES];

	sha256[0] = '\0';
	if (!working_do(&t, why))
		return cli_error("%s: cannot be read: %s", shown, why);
	if ((errno = (int)h.error) != 0)
		return cli_failed(shown, "cannot be read");
	memcpy(sha256, h.sha256, sizeof(h.sha256));
	return true;
}
