/* SPDX-License-Identifier: ISC */
/*
 * source lib/kv_pread.c
 * proof  position --z3 --unwind 257: every h1 and h2, i below 256, every length
 * proof  header [quick] --no-conversion-check --unwind 9: every header
 * proof  open_fd [quick] --unwind 26 --unwindset kv_pread.0:BAD+2: every file, any answer to a call, BAD reads that are short or interrupted
 * proof  lookup --replace kv_pkbf_position:any_position --replace kv_pread:any_pread --unwind HASHES+1: filters of any length with up to HASHES hashes, any hash, any answer to a read
 */
#define BAD 3
#define HASHES 31

#include "lib/kv_pkbf.c"

#include <errno.h>

#include "prove.h"

void
position(void)
{
	const struct kv_pkbf_hash h = { nondet_u64(), nondet_u64() };
	uint8_t length = nondet_byte();

	GIVEN(length >= KV_PKBF_LENGTH_MIN && length <= KV_PKBF_LENGTH_MAX);
	for (unsigned int i = 0; i < 256; i++) {
		unsigned __int128 sum = h.h1, n = i;

		sum += n * h.h2 + n * (n - 1) * (n + 1) / 6;
		PROVE(kv_pkbf_position(&h, i, length) ==
			(uint64_t)(sum &
			    (((unsigned __int128)1 << length) - 1)),
		    "the formula, with no overflow");
	}
}

void
header(void)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES], again[KV_PKBF_HEADER_BYTES];
	struct kv_pkbf_header h;
	size_t at = any_size_up_to(KV_PKBF_HEADER_BYTES - 1);

	if (kv_pkbf_header_decode(raw, &h) != KV_OK)
		return;
	PROVE(h.hashes > 0, "a key is not listed by no hash");
	PROVE(h.length >= KV_PKBF_LENGTH_MIN && h.length <= KV_PKBF_LENGTH_MAX,
	    "a length that a filter can have");
	kv_pkbf_header_encode(&h, again);
	PROVE(again[at] == raw[at], "encoding inverts decoding");
}

static off_t size;
static int bad;

int
fstat(int fd, struct stat *st)
{
	struct stat any;

	*st = any;
	size = st->st_size;
	return nondet_bool() ? 0 : -1;
}

/* The header's memory is not set before, so it has any value already. */
ssize_t
pread(int fd, void *to, size_t len, off_t offset)
{
	size_t n = any_size_up_to(len);

	PROVE(fd == 7, "the descriptor");
	PROVE(len > 0 && offset >= 0, "something to read");
	PROVE(__CPROVER_w_ok(to, len), "room to read into");
	if (nondet_bool()) {
		errno = nondet_int();
		GIVEN(errno != EINTR || ++bad <= BAD);
		return -1;
	}
	GIVEN(n == 0 || n == len || ++bad <= BAD);
	return (ssize_t)n;
}

void
open_fd(void)
{
	struct kv_pkbf f = { .fd = -1 };
	enum kv_err r = kv_pkbf_open_fd(7, &f);

	PROVE(r == KV_OK || f.fd == -1, "an error leaves fd to the caller");
	if (r != KV_OK)
		return;
	PROVE(f.fd == 7 && f.map == NULL, "owns fd, and maps nothing");
	PROVE(f.header.length >= 3 && f.header.length <= 40, "a length");
	PROVE(size == 24 + ((off_t)1 << f.header.length) / 8, "all is there");
	PROVE(f.header.hashes > 0, "has hashes");
}

static struct kv_pkbf filter;
static struct kv_pkbf_hash asked;
static uint64_t place;
static unsigned int asked_for, set;
static bool failed, clear;

/* Instead of kv_pkbf_position, as `position` proves it. */
uint64_t
any_position(const struct kv_pkbf_hash *h, unsigned int i, uint8_t length)
{
	PROVE(h == &asked && length == filter.header.length, "of this key");
	PROVE(i == asked_for && asked_for == set, "each one in turn");
	asked_for++;
	place = nondet_u64() & (((uint64_t)1 << length) - 1);
	return place;
}

/* Instead of kv_pread, which reads all, or fails. */
enum kv_err
any_pread(int fd, void *to, size_t len, off_t offset, enum kv_err end)
{
	uint8_t byte = nondet_byte();

	PROVE(fd == 7 && len == 1, "a byte of the filter");
	PROVE(offset == 24 + (off_t)(place >> 3) &&
		offset < kv_pkbf_file_bytes(filter.header.length),
	    "inside it");
	PROVE(!failed && !clear, "nothing after the answer");
	*(uint8_t *)to = byte;
	failed = nondet_bool();
	if (failed)
		return nondet_bool() ? KV_ERR_SYSTEM : end;
	if ((byte >> (7 - (place & 7)) & 1) != 0)
		set++;
	else
		clear = true;
	return KV_OK;
}

void
lookup(void)
{
	bool listed;
	enum kv_err r;

	asked = (struct kv_pkbf_hash){ nondet_u64(), nondet_u64() };
	filter.fd = 7;
	filter.header.hashes = nondet_byte() & HASHES;
	filter.header.length = nondet_byte();
	GIVEN(filter.header.hashes > 0); /* `header` proves it */
	GIVEN(filter.header.length >= KV_PKBF_LENGTH_MIN &&
	    filter.header.length <= KV_PKBF_LENGTH_MAX);
	r = kv_pkbf_lookup(&filter, &asked, &listed);
	PROVE((r != KV_OK) == failed, "fails if a read does");
	PROVE(!listed || r == KV_OK, "an error lists nothing");
	PROVE(r != KV_OK || listed == (set == filter.header.hashes),
	    "listed if each bit is set");
	PROVE(r != KV_OK || listed != clear, "else one is clear");
}
