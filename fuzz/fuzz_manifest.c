/* SPDX-License-Identifier: ISC */
/*
 * What keyveto update reads of an exact list: the manifest, from which it makes
 * the text of LIST.sources; and the list, in xz or not. Whatever the manifest
 * says, the text must be printable, and have names as kv_sources takes them.
 */
#include <sys/mman.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "published/records.h"
#include "published/sources.h"
#include "published/unxz.h"

#define UNPACKED_MAX (1 << 20)

struct unpacked {
	struct update_records_check records;
	struct update_records found;
	size_t len;
};

static bool
add_records(const void *p, size_t len, void *arg)
{
	struct unpacked *u = arg;

	u->len += len;
	return u->len <= UNPACKED_MAX &&
	    update_records_add(&u->records, p, len);
}

/* Adds all parts, and has them taken if receive is not NULL. */
static void
add_parts(struct record_out *o, const struct manifest_found *f,
    struct manifest_found *receive)
{
	for (size_t id = 0, at; id <= MANIFEST_SOURCES; id++) {
		at = o->len;
		record_begin(o, 1);
		if (!manifest_add_part(o, f, id)) {
			o->len = at;
			continue;
		}
		record_end(o);
		FUZZ_CHECK(receive == NULL ||
		    manifest_get_part((struct kv_bytes){ o->buf + at + 5,
					  o->len - at - 5 },
			receive));
	}
}

/* The parts of what was found are taken, and are the same manifest. */
static void
check_parts(const struct manifest_found *found)
{
	static struct manifest again;
	struct manifest_found received = { .manifest = &again };
	struct record_out o = { .fd = -1 }, same = { .fd = -1 };

	memset(&again, 0, sizeof(again));
	add_parts(&o, found, &received);
	FUZZ_CHECK(received.complete);
	add_parts(&same, &received, NULL);
	FUZZ_CHECK(o.len == same.len && memcmp(o.buf, same.buf, o.len) == 0);
	record_out_free(&o);
	record_out_free(&same);
}

static void
check_sources(const struct manifest *m)
{
	struct update_sources s;
	char *text = update_sources_text(m);

	FUZZ_CHECK(text != NULL);
	for (const char *p = text; *p != '\0'; p++)
		FUZZ_CHECK(*p == '\n' || (*p >= ' ' && *p <= '~'));
	update_sources_parse(text, &s);
	FUZZ_CHECK(strcmp(s.sha256, m->blocklist_sha256) == 0);
	FUZZ_CHECK(s.time == m->time);
	free(text);
}

static void
check_manifest(const uint8_t *data, size_t size)
{
	static struct manifest m;
	static struct manifest_found found = { .manifest = &m };

	found.ok = manifest_parse((const char *)data, size, &m, found.why);
	FUZZ_CHECK(found.ok == (found.why[0] == '\0'));
	check_parts(&found);
	if (found.ok)
		check_sources(&m);
}

/* Records of a worker's, which may be anything. */
static void
check_worker(const uint8_t *data, size_t size)
{
	static struct manifest m;
	struct manifest_found found = { .manifest = &m };
	struct kv_bytes rest = { data, size }, b;
	uint8_t tag;
	bool bad;

	memset(&m, 0, sizeof(m));
	while (!found.complete && record_cut(&rest, &tag, &b, &bad) &&
	    manifest_get_part(b, &found))
		continue;
	if (found.complete && found.ok) {
		check_parts(&found);
		check_sources(&m);
	}
}

/* What was found in a file of records, told to another process and taken. */
static void
check_records(const uint8_t *data, size_t size)
{
	struct update_records found = { .n = 0 }, again = { .n = 0 };
	struct record_out o = { .fd = -1 };
	const int fd = memfd_create("list", MFD_CLOEXEC);
	bool ok;

	FUZZ_CHECK(fd != -1 && write(fd, data, size) == (ssize_t)size);
	ok = update_records_read(&found, fd);
	FUZZ_CHECK(ok == (found.why[0] == '\0'));
	FUZZ_CHECK(!ok || found.n == size / 16);
	close(fd);
	record_begin(&o, 1);
	update_records_put(&o, &found);
	record_end(&o);
	FUZZ_CHECK(update_records_get((struct kv_bytes){ o.buf + 5, o.len - 5 },
	    &again));
	FUZZ_CHECK(again.n == found.n && strcmp(again.why, found.why) == 0);
	record_out_free(&o);
	if (update_records_get((struct kv_bytes){ data, size }, &again))
		FUZZ_CHECK(again.n > 0 || again.why[0] != '\0');
}

/* A file of sources, which others may have written. */
static void
check_text(const uint8_t *data, size_t size)
{
	char *text = fuzz_alloc(size + 1);
	struct update_sources s;

	memcpy(text, data, size);
	text[size] = '\0';
	update_sources_parse(text, &s);
	FUZZ_CHECK(s.time >= -1 && strlen(s.sha256) < sizeof(s.sha256));
	free(text);
}

static void
check_list(const uint8_t *data, size_t size)
{
	static struct unpacked u;
	struct unxz xz;
	size_t half = size / 2;
	bool ok;

	u.len = 0;
	update_records_begin(&u.records, &u.found);
	unxz_begin(&xz, add_records, &u);
	ok = unxz_add(&xz, data, half) &&
	    unxz_add(&xz, data + half, size - half) && unxz_end(&xz);
	FUZZ_CHECK(!ok || xz.why == NULL);
	if (update_records_end(&u.records) && ok)
		FUZZ_CHECK(u.len == u.found.n * 16 && u.len > 0);
	unxz_free(&xz);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_manifest(data, size);
	check_worker(data, size);
	check_list(data, size);
	check_records(data, size);
	check_text(data, size);
	return 0;
}
