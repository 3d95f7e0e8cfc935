/* SPDX-License-Identifier: ISC */
#include "published/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORD KV_BLOCKLIST_RECORD_BYTES
#define READ_BYTES (256 * 1024)

void
update_records_begin(struct update_records *r)
{
	*r = (struct update_records){ .n = 0 };
	SHA256Init(&r->sha);
}

/* Takes the next record. False with r->why. */
static bool
add_record(struct update_records *r, const uint8_t *record)
{
	int order = r->n == 0 ? 1 : memcmp(record, r->last, RECORD);

	if (order <= 0)
		snprintf(r->why, sizeof(r->why),
		    order == 0 ? "record %" PRIu64 " is there twice" :
				 "record %" PRIu64 " is not in order",
		    r->n);
	else if (r->n == KV_BLOCKLIST_RECORDS_MAX)
		snprintf(r->why, sizeof(r->why), "%s",
		    kv_strerror(KV_ERR_LIST_TOO_LARGE));
	else {
		memcpy(r->last, record, RECORD);
		r->n++;
		return true;
	}
	return false;
}

bool
update_records_add(struct update_records *r, const void *p, size_t len)
{
	const uint8_t *bytes = p;
	size_t head;

	SHA256Update(&r->sha, bytes, len);
	if (r->why[0] != '\0')
		return false;
	if (r->part_len > 0) {
		head = RECORD - r->part_len < len ? RECORD - r->part_len : len;
		memcpy(r->part + r->part_len, bytes, head);
		r->part_len += head;
		bytes += head;
		len -= head;
		if (r->part_len < RECORD)
			return true;
		r->part_len = 0;
		if (!add_record(r, r->part))
			return false;
	}
	for (; len >= RECORD; bytes += RECORD, len -= RECORD)
		if (!add_record(r, bytes))
			return false;
	memcpy(r->part, bytes, len);
	r->part_len = len;
	return true;
}

bool
update_records_end(struct update_records *r)
{
	(void)SHA256End(&r->sha, r->sha256);
	if (r->why[0] == '\0' && (r->part_len > 0 || r->n == 0))
		snprintf(r->why, sizeof(r->why), "%s",
		    kv_strerror(KV_ERR_LIST_SIZE));
	return r->why[0] == '\0';
}

bool
update_records_read(struct update_records *r, int fd)
{
	static uint8_t buf[READ_BYTES];
	off_t at = 0;
	ssize_t n = 1;

	update_records_begin(r);
	while (n != 0) {
		n = pread(fd, buf, sizeof(buf), at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			snprintf(r->why, sizeof(r->why), "%s", strerror(errno));
			return false;
		}
		at += n;
		(void)update_records_add(r, buf, (size_t)n);
	}
	return update_records_end(r);
}
