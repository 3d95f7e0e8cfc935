/* SPDX-License-Identifier: ISC */
/*
 * An exact list, the names of its sources and the places of private halves, all
 * from the same bytes. A look-up finds what a record that it read says; a path
 * that is given stands behind the digits of the hash.
 */
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_blocklist.h"
#include "kv_sources.h"
#include "published/lookup.h"
#include "sets/list_date.h"
#include "sets/list_reader.h"

struct input {
	const uint8_t *data;
	size_t size;
};

static void
check_path(struct kv_span path, void *arg)
{
	const struct input *in = arg;

	FUZZ_CHECK(path.len < LOOKUP_LINE_MAX && path.len <= in->size);
	FUZZ_CHECK(memmem(in->data, in->size, path.p, path.len) != NULL);
	FUZZ_CHECK(memchr(path.p, '\n', path.len) == NULL);
}

static void
check_name(int fd, uint8_t id)
{
	char name[KV_SOURCE_NAME_BYTES], more[64];

	kv_sources_read(fd, id, name, more, sizeof(more));
	FUZZ_CHECK(*name != '\0' && strlen(name) < sizeof(name));
	FUZZ_CHECK(name[strspn(name,
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		       "0123456789._-")] == '\0');
	FUZZ_CHECK(strlen(more) < sizeof(more) && strchr(more, '\n') == NULL);
	kv_sources_name(fd, id, more);
	FUZZ_CHECK(strcmp(name, more) == 0);
}

static void
check_date(int fd)
{
	int64_t seconds;

	if (list_date_read(fd, &seconds))
		FUZZ_CHECK(seconds % 86400 == 0);
}

/* Reads all records. Returns whether they are in order. */
static bool
read_records(int fd, size_t size)
{
	static struct list_reader r;
	uint64_t n = 0;

	if (!list_reader_adopt(&r, "list", fd))
		return false;
	while (list_reader_next(&r) != NULL)
		n++;
	FUZZ_CHECK(r.why[0] != '\0' || n == size / KV_BLOCKLIST_RECORD_BYTES);
	return list_reader_is_good(&r);
}

/* Looks for the hash whose digits the text begins with, if it does. */
static void
check_lookup(int fd, const uint8_t *text, size_t len, struct input *in)
{
	const char *hex = "0123456789abcdef";
	struct kv_blocklist_hash h = { { 0 } };
	char why[LOOKUP_WHY_BYTES];

	for (size_t i = 0; i < 16 && i < len; i++) {
		const char *digit = text[i] != '\0' ?
		    strchr(hex, text[i]) :
		    NULL;

		if (digit != NULL)
			h.byte[i / 2] |= (uint8_t)((digit - hex)
			    << (i % 2 == 0 ? 4 : 0));
	}
	(void)lookup_find(fd, &h, check_path, in, why);
}

/* A list that becomes shorter while it is read says so. Empties fd. */
static void
check_shrunk(int fd, size_t size)
{
	static struct list_reader r;

	if (size == 0 || !list_reader_adopt(&r, "list", fd))
		return;
	FUZZ_CHECK(ftruncate(fd, 0) == 0);
	FUZZ_CHECK(list_reader_next(&r) == NULL && r.why[0] != '\0');
}

/* What is no file, or no regular one, is refused. */
static void
check_others(void)
{
	static struct list_reader r;
	const struct kv_blocklist_hash h = { { 0 } };
	char why[LOOKUP_WHY_BYTES];
	int fd[2];

	FUZZ_CHECK(pipe(fd) == 0);
	FUZZ_CHECK(!lookup_find(fd[0], &h, check_path, NULL, why));
	FUZZ_CHECK(!list_reader_adopt(&r, "list", fd[0]) && r.why[0] != '\0');
	close(fd[0]);
	close(fd[1]);
	FUZZ_CHECK(!lookup_find(-1, &h, check_path, NULL, why));
	FUZZ_CHECK(!list_reader_adopt(&r, "list", -1) && r.why[0] != '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	char why[LOOKUP_WHY_BYTES];
	const uint8_t *last;
	struct kv_blocklist_hash h;
	struct kv_blocklist l;
	bool listed, sorted;
	uint8_t id;
	int fd = memfd_create("list", MFD_CLOEXEC);
	enum kv_err err;

	FUZZ_CHECK(fd != -1 && write(fd, data, size) == (ssize_t)size);
	kv_blocklist_hash_bytes((struct kv_span){ data, size }, &h);
	(void)lookup_find(fd, &h, check_path, &in, why);
	check_others();
	check_lookup(fd, data, size, &in);
	last = size > 1 ? memrchr(data, '\n', size - 1) : NULL;
	if (last != NULL)
		check_lookup(fd, last + 1, size - (size_t)(last + 1 - data),
		    &in);
	check_name(fd, size > 0 ? data[size - 1] : 0);
	check_name(fd, 13);
	check_date(fd);
	sorted = read_records(fd, size);
	if (kv_blocklist_open_fd(fd, &l) != KV_OK) {
		check_shrunk(fd, size);
		close(fd);
		return 0;
	}
	memcpy(h.byte,
	    data +
		size / 2 / KV_BLOCKLIST_RECORD_BYTES *
		    KV_BLOCKLIST_RECORD_BYTES,
	    sizeof(h.byte));
	err = kv_blocklist_lookup(&l, &h, &listed, &id);
	FUZZ_CHECK(err == KV_OK || (!listed && !sorted));
	FUZZ_CHECK(!sorted || listed);
	check_shrunk(l.fd, size);
	kv_blocklist_close(&l);
	return 0;
}
