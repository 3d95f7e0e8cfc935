/* SPDX-License-Identifier: ISC */
/*
 * Deltas: of two files from the input a delta is made, which must give the new
 * one again; and the input is applied as a delta to an old file, with the right
 * SHA-256 of it, and must not be taken for what makes a file.
 *
 * The first byte says which; the next two say how many bytes are the old file's.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#include "sets/delta.h"
#include "sets/delta_parts.h"
#include "fuzz.h"

#define FILE_BYTES 8192

struct file {
	size_t len;
	uint8_t bytes[FILE_BYTES];
};

enum { FILTERS = 1, APPLY = 2 };

static struct file old, fresh;

static struct delta_file
open_file(const char *shown, const void *p, size_t len)
{
	struct delta_file f = { shown, memfd_create(shown, MFD_CLOEXEC) };

	FUZZ_CHECK(f.fd != -1 && write(f.fd, p, len) == (ssize_t)len);
	return f;
}

static void
fill_list(struct file *f, const uint8_t *data, size_t size)
{
	f->len = size < FILE_BYTES ? size : FILE_BYTES;
	memcpy(f->bytes, data, f->len);
}

/* Whatever the bytes, this is a filter; with base, a successor of it. */
static void
fill_filter(struct file *f, const uint8_t *data, size_t size,
    const struct file *base)
{
	struct kv_pkbf_header h = { .revision = (uint32_t)size,
		.hashes = 3,
		.length = (uint8_t)(3 + (size > 0 ? data[0] % 13 : 0)) };

	if (base != NULL)
		h.length = (uint8_t)base->bytes[23];
	kv_pkbf_header_encode(&h, f->bytes);
	f->len = (size_t)kv_pkbf_file_bytes(h.length);
	for (size_t i = KV_PKBF_HEADER_BYTES; i < f->len; i++)
		f->bytes[i] = (uint8_t)((size > 0 ? data[i % size] : 0) |
		    (base != NULL ? base->bytes[i] : 0));
}

static void
check_made(const struct delta_file *a, const struct delta_file *out)
{
	struct delta_file b = open_file("new", fresh.bytes, fresh.len);
	struct delta_file again = open_file("again", "", 0);
	static uint8_t made[FILE_BYTES + 1];
	char why[DELTA_WHY_BYTES];
	enum delta_end end = delta_make(a, &b, out, why);

	FUZZ_CHECK(end != DELTA_FAILED);
	if (end == DELTA_DONE) {
		FUZZ_CHECK(delta_apply(a, out, &again, why) == DELTA_DONE);
		FUZZ_CHECK(pread(again.fd, made, sizeof(made), 0) ==
		    (ssize_t)fresh.len);
		FUZZ_CHECK(memcmp(made, fresh.bytes, fresh.len) == 0);
	} else
		FUZZ_CHECK(why[0] != '\0');
	close(b.fd);
	close(again.fd);
}

static void
check_header(const struct delta_file *d, size_t size)
{
	char why[DELTA_WHY_BYTES];
	struct delta_header h;

	if (delta_find_header(d, &h, why) == DELTA_DONE)
		FUZZ_CHECK(h.size == size && delta_read_header(d, &h));
	else
		FUZZ_CHECK(why[0] != '\0' && !delta_read_header(d, &h));
}

/* What is made must have the SHA-256 that the input says: it never has. */
static void
check_applied(const struct delta_file *a, const struct delta_file *out,
    const uint8_t *data, size_t size)
{
	static uint8_t delta[FILE_BYTES] = "pkbfd1";
	struct sha256 sha;
	struct delta_file d;
	struct stat st;
	char why[DELTA_WHY_BYTES];

	delta[6] = old.len >= 6 && memcmp(old.bytes, "pkbfv1", 6) == 0 ? 1 : 2;
	FUZZ_CHECK(sha256_begin(&sha));
	FUZZ_CHECK(sha256_add(&sha, old.bytes, old.len));
	FUZZ_CHECK(sha256_end(&sha, delta + 7));
	sha256_free(&sha);
	if (size > sizeof(delta) - 71)
		size = sizeof(delta) - 71;
	memcpy(delta + 71, data, size);
	d = open_file("delta", delta, 71 + size);
	check_header(&d, 71 + size);
	why[0] = '\0';
	FUZZ_CHECK(delta_apply(a, &d, out, why) == DELTA_NO_SUCCESSOR);
	FUZZ_CHECK(why[0] != '\0');
	/* A record takes 64 bits of the delta, so nothing grows. */
	FUZZ_CHECK(fstat(out->fd, &st) == 0 &&
	    (size_t)st.st_size <= old.len + 2 * size);
	close(d.fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct delta_file a, out, raw;
	size_t n;
	int how;

	if (size < 3)
		return 0;
	how = data[0];
	n = (size_t)(data[1] << 8 | data[2]);
	data += 3;
	size -= 3;
	n = n < size ? n : size;
	if ((how & FILTERS) != 0) {
		fill_filter(&old, data, n, NULL);
		fill_filter(&fresh, data + n, size - n, &old);
	} else {
		fill_list(&old, data, n);
		fill_list(&fresh, data + n, size - n);
	}
	a = open_file("old", old.bytes, old.len);
	out = open_file("out", "", 0);
	if ((how & APPLY) != 0)
		check_applied(&a, &out, data + n, size - n);
	else
		check_made(&a, &out);
	raw = open_file("raw", data, size);
	check_header(&raw, size);
	close(raw.fd);
	close(a.fd);
	close(out.fd);
	return 0;
}
