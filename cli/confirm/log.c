/* SPDX-License-Identifier: ISC */
#include "confirm/log.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/room.h"
#include "command.h"
#include "host/files.h"
#include "logs/journalctl.h"

static int
compare(const void *a, const void *b)
{
	const struct log_key *one = a, *other = b;

	return memcmp(one->digest, other->digest, sizeof(one->digest));
}

struct log_key *
log_keys_find(const struct log_keys *k,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	struct log_key wanted, **found;

	memcpy(wanted.digest, digest, sizeof(wanted.digest));
	found = tfind(&wanted, &k->by_digest, compare);
	return found != NULL ? *found : NULL;
}

static void
add_key(struct log_keys *k, const uint8_t digest[static KV_SHA256_BYTES],
    bool accepted)
{
	struct log_key *key = log_keys_find(k, digest);

	if (key != NULL) {
		key->accepted |= accepted;
		return;
	}
	if (k->n == LOG_KEYS_MAX) {
		k->full = true;
		return;
	}
	k->failed = true;
	if (!room_for_one(&k->v, k->n, sizeof(struct log_key *)) ||
	    (key = calloc(1, sizeof(*key))) == NULL)
		return;
	memcpy(key->digest, digest, sizeof(key->digest));
	key->accepted = accepted;
	if (tsearch(key, &k->by_digest, compare) == NULL) {
		free(key);
		return;
	}
	k->v[k->n++] = key;
	k->failed = false;
}

/* Is log_reading's record. */
static bool
receive_record(uint8_t tag, struct kv_bytes b, void *keys)
{
	struct log_decision d;

	if (tag != READING_LOG_KEY || !reading_receive_log_key(b, &d))
		return false;
	add_key(keys, d.digest, d.accepted);
	return true;
}

bool
log_keys_read(struct log_keys *k, const char *path)
{
	struct log_reading log = { .record = receive_record, .arg = k };
	const int fd = files_open(path, 0);
	char why[LOG_WHY_BYTES];
	bool ok;

	if (fd == -1)
		return cli_failed(path, "cannot be read");
	ok = log_reading_read(&log, READING_LOG_KEYS, fd, why);
	ok = log_reading_end(&log, why) && ok;
	if (!ok)
		cli_error("%s: %s", path, why);
	close(fd);
	return ok;
}

static bool
read_journal(struct log_keys *k)
{
	static const char *const argv[] = { JOURNALCTL, "--quiet", "--no-pager",
		"--output=cat", "--grep=verdict=listed", NULL };
	struct log_reading log = { .record = receive_record, .arg = k };
	char why[LOG_WHY_BYTES];
	const struct journalctl j = {
		.argv = argv,
		.prints = true,
		.none_is_1 = true,
	};
	bool ok = journalctl_read(&log, READING_LOG_KEYS, &j, why);

	ok = log_reading_end(&log, why) && ok;
	if (!ok)
		cli_error("the journal: %s", why);
	return ok;
}

bool
log_keys_read_all(struct log_keys *k)
{
	static const char *const files[] = { "/var/log/auth.log",
		"/var/log/secure" };
	bool any = false, ok = true;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (access(files[i], F_OK) == -1)
			continue;
		any = true;
		ok = log_keys_read(k, files[i]) && ok;
	}
	if (access(JOURNALCTL, X_OK) == 0 &&
	    (access("/run/log/journal", F_OK) == 0 ||
		access("/var/log/journal", F_OK) == 0)) {
		any = true;
		ok = read_journal(k) && ok;
	}
	if (!any)
		cli_error("there is no journal, no /var/log/auth.log and no "
			  "/var/log/secure: name the file of the log");
	return any && ok;
}

void
log_keys_free(struct log_keys *k)
{
	tdestroy(k->by_digest, free);
	free(k->v);
	*k = (struct log_keys){ .n = 0 };
}
