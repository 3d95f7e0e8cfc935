/* SPDX-License-Identifier: ISC */
#include "sets/list_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv_err.h"
#include "sets/list_date.h"

/* The records that are looked up, as a login does: first, middle and last. */
#define CANARIES 3

static void
count_records(struct list_reader *r, struct list_facts *f,
    list_record canary[static CANARIES])
{
	list_record last = { 0 };
	const uint8_t *record;

	while ((record = list_reader_next(r)) != NULL) {
		if (f->records == 0 || !list_same_hash(last, record))
			f->hashes++;
		if (f->records == 0)
			memcpy(canary[0], record, sizeof(last));
		if (f->records == r->records / 2)
			memcpy(canary[1], record, sizeof(last));
		memcpy(canary[2], record, sizeof(last));
		memcpy(last, record, sizeof(last));
		f->from[record[KV_BLOCKLIST_HASH_BYTES]]++;
		f->records++;
	}
}

static bool
find_canaries(int fd, list_record canary[static CANARIES],
    char why[static LIST_WHY_BYTES])
{
	struct kv_blocklist list;
	struct kv_blocklist_hash h;
	enum kv_err err = kv_blocklist_open_fd(fd, &list);
	bool listed = true;
	uint8_t id;

	for (size_t i = 0; err == KV_OK && listed && i < CANARIES; i++) {
		memcpy(h.byte, canary[i], sizeof(h.byte));
		err = kv_blocklist_lookup(&list, &h, &listed, &id);
	}
	if (err != KV_OK)
		snprintf(why, LIST_WHY_BYTES, "%s", kv_strerror(err));
	else if (!listed)
		snprintf(why, LIST_WHY_BYTES,
		    "a look-up does not find a record that is there");
	return err == KV_OK && listed;
}

static void
read_date(int sources, struct list_facts *f)
{
	struct tm tm;
	time_t when;

	f->dated = list_date_read(sources, &f->time);
	if (!f->dated)
		return;
	when = (time_t)f->time;
	f->dated = gmtime_r(&when, &tm) != NULL &&
	    strftime(f->date, sizeof(f->date), "%Y-%m-%d", &tm) > 0;
}

bool
list_facts_read(const char *path, int fd, int sources, struct list_facts *f,
    char why[static LIST_WHY_BYTES])
{
	struct list_reader *r = malloc(sizeof(*r));
	list_record canary[CANARIES];

	*f = (struct list_facts){ .path = path };
	why[0] = '\0';
	read_date(sources, f);
	if (r == NULL) {
		snprintf(why, LIST_WHY_BYTES, "%s", kv_strerror(KV_ERR_MEMORY));
		return false;
	}
	if (list_reader_adopt(r, path, fd))
		count_records(r, f, canary);
	memcpy(why, r->why, sizeof(r->why));
	free(r);
	if (why[0] != '\0')
		return false;
	if (f->records == 0) {
		snprintf(why, LIST_WHY_BYTES,
		    "has no records, and logins refuse such a list; add keys "
		    "with keyveto list add");
		return false;
	}
	return find_canaries(fd, canary, why);
}
