/* SPDX-License-Identifier: ISC */
#include "published/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "published/manifest.h"

#define RECORD KV_BLOCKLIST_RECORD_BYTES
#define READ_BYTES (256 * 1024)

void
update_records_begin(struct update_records_check *c,
    struct update_records *found)
{
	*found = (struct update_records){ .n = 0 };
	*c = (struct update_records_check){ .found = found };
	SHA256Init(&c->sha);
}

/* Takes the next record. False with a reason. */
static bool
add_record(struct update_records_check *c, const uint8_t *record)
{
	struct update_records *r = c->found;
	const int order = r->n == 0 ? 1 : memcmp(record, c->last, RECORD);

	if (order <= 0)
		snprintf(r->why, sizeof(r->why),
		    order == 0 ? "record %" PRIu64 " is there twice" :
				 "record %" PRIu64 " is not in order",
		    r->n);
	else if (r->n == KV_BLOCKLIST_RECORDS_MAX)
		snprintf(r->why, sizeof(r->why), "%s",
		    kv_strerror(KV_ERR_LIST_TOO_LARGE));
	else {
		memcpy(c->last, record, RECORD);
		r->n++;
		return true;
	}
	return false;
}

bool
update_records_add(struct update_records_check *c, const void *p, size_t len)
{
	const uint8_t *bytes = p;
	size_t head;

	if (!c->only_order)
		SHA256Update(&c->sha, bytes, len);
	if (c->found->why[0] != '\0')
		return false;
	if (c->part_len > 0) {
		head = RECORD - c->part_len < len ? RECORD - c->part_len : len;
		memcpy(c->part + c->part_len, bytes, head);
		c->part_len += head;
		bytes += head;
		len -= head;
		if (c->part_len < RECORD)
			return true;
		c->part_len = 0;
		if (!add_record(c, c->part))
			return false;
	}
	for (; len >= RECORD; bytes += RECORD, len -= RECORD)
		if (!add_record(c, bytes))
			return false;
	memcpy(c->part, bytes, len);
	c->part_len = len;
	return true;
}

bool
update_records_end(struct update_records_check *c)
{
	struct update_records *r = c->found;

	(void)SHA256End(&c->sha, r->sha256);
	if (r->why[0] == '\0' && (c->part_len > 0 || r->n == 0))
		snprintf(r->why, sizeof(r->why), "%s",
		    kv_strerror(KV_ERR_LIST_SIZE));
	return r->why[0] == '\0';
}

bool
update_records_read(struct update_records *r, int fd)
{
	static uint8_t buf[READ_BYTES];
	struct update_records_check c;
	off_t at = 0;
	ssize_t n = 1;

	update_records_begin(&c, r);
	while (n != 0) {
		n = pread(fd, buf, sizeof(buf), at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			snprintf(r->why, sizeof(r->why), "%s", strerror(errno));
			return false;
		}
		at += n;
		(void)update_records_add(&c, buf, (size_t)n);
	}
	return update_records_end(&c);
}

#define FIELDS(r) \
	R_NUMBER((r)->n, KV_BLOCKLIST_RECORDS_MAX), R_TEXT((r)->why), \
	    R_TEXT((r)->sha256)

void
update_records_put(struct record_out *o, const struct update_records *r)
{
	record_add(o, FIELDS(r));
}

bool
update_records_get(struct kv_bytes b, struct update_records *r)
{
	return record_get_all(&b, FIELDS(r)) &&
	    (manifest_is_sha256(r->sha256) ||
		(r->sha256[0] == '\0' && r->why[0] != '\0')) &&
	    (r->n > 0 || r->why[0] != '\0');
}
