/* SPDX-License-Identifier: ISC */
#include "sets/delta.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "command.h"
#include "sets/delta_parts.h"
#include "base/io.h"
#include "kv_blocklist.h"

#define MAGIC_BYTES 6
#define KIND_AT MAGIC_BYTES
#define OLD_SHA256_AT (KIND_AT + 1)
#define NEW_SHA256_AT (OLD_SHA256_AT + SHA256_BYTES)
#define REST_AT (NEW_SHA256_AT + SHA256_BYTES)

static const uint8_t magic[MAGIC_BYTES] = { 'p', 'k', 'b', 'f', 'd', '1' };

enum delta_end
delta_refuse(char why[static DELTA_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, DELTA_WHY_BYTES, fmt, ap);
	va_end(ap);
	return DELTA_NO_SUCCESSOR;
}

/* --- the header ----------------------------------------------------------- */

static uint64_t
get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static void
put_u64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static bool
decode_filters(const uint8_t *p, struct delta_full_header *x)
{
	struct delta_header *h = &x->h;

	memcpy(x->old_raw, p, sizeof(x->old_raw));
	memcpy(x->new_raw, p + sizeof(x->old_raw), sizeof(x->new_raw));
	p += sizeof(x->old_raw) + sizeof(x->new_raw);
	h->came = get_u64(p);
	x->m = get_u64(p + 8);
	if (kv_pkbf_header_decode(x->old_raw, &h->old_header) != KV_OK ||
	    kv_pkbf_header_decode(x->new_raw, &h->new_header) != KV_OK ||
	    h->old_header.hashes != h->new_header.hashes ||
	    h->old_header.length != h->new_header.length ||
	    h->came > (uint64_t)1 << h->old_header.length)
		return false;
	h->old_size = h->new_size = (uint64_t)kv_pkbf_file_bytes(
	    h->old_header.length);
	return true;
}

static bool
decode_lists(const uint8_t *p, struct delta_full_header *x)
{
	const uint64_t old = get_u64(p), fresh = get_u64(p + 8);
	struct delta_header *h = &x->h;

	h->gone = get_u64(p + 16);
	x->m = get_u64(p + 24);
	x->gone_bytes = get_u64(p + 32);
	x->came_m = get_u64(p + 40);
	if (old > KV_BLOCKLIST_RECORDS_MAX ||
	    fresh > KV_BLOCKLIST_RECORDS_MAX || h->gone > old ||
	    old - h->gone > fresh)
		return false;
	h->came = fresh - (old - h->gone);
	h->old_size = old * KV_BLOCKLIST_RECORD_BYTES;
	h->new_size = fresh * KV_BLOCKLIST_RECORD_BYTES;
	return true;
}

/*
 * Whether n gaps in code m, which with themselves add up to no more than room,
 * each with extra bits, can take so many bytes.
 */
static bool
can_take(uint64_t bytes, uint64_t n, uint64_t m, uint64_t room,
    unsigned int extra)
{
	const uint64_t one = 1;
	struct golomb code;
	uint64_t least, most;

	if (m < 1 || m > one << GOLOMB_RICE_MAX || (n == 0 && m != 1) ||
	    bytes > INT64_MAX / 8)
		return false;
	/* n is at most 2^40. */
	code = golomb_code(m);
	least = n * (one + extra + code.bits - (code.cut > 0));
	most = n * (one + extra + code.bits) + 7;
	most = room / m > UINT64_MAX - most ? UINT64_MAX : most + room / m;
	return bytes * 8 >= least && bytes * 8 <= most;
}

static bool
has_possible_size(const struct delta_full_header *x)
{
	const struct delta_header *h = &x->h;
	const bool is_filter = h->kind == DELTA_FILTER;
	uint64_t left = h->size -
	    (is_filter ? DELTA_FILTER_BYTES : DELTA_LIST_BYTES);

	if (is_filter)
		return can_take(left, h->came, x->m,
		    (uint64_t)1 << h->old_header.length, 0);
	return x->gone_bytes <= left &&
	    can_take(x->gone_bytes, h->gone, x->m,
		h->old_size / KV_BLOCKLIST_RECORD_BYTES, 0) &&
	    can_take(left - x->gone_bytes, h->came, x->came_m, UINT64_MAX, 64);
}

/* As delta_find_header. */
static enum delta_end
decode_header(const struct delta_file *delta, struct delta_full_header *x,
    char why[static DELTA_WHY_BYTES])
{
	uint8_t raw[DELTA_HEADER_MAX] = { 0 };
	struct delta_header *h = &x->h;
	struct stat st;
	size_t len;

	memset(x, 0, sizeof(*x));
	why[0] = '\0';
	if (fstat(delta->fd, &st) == -1) {
		cli_error("%s: %s", delta->shown, strerror(errno));
		return DELTA_FAILED;
	}
	if (!S_ISREG(st.st_mode))
		return delta_refuse(why, "not a regular file");
	h->size = (uint64_t)st.st_size;
	len = h->size < sizeof(raw) ? (size_t)h->size : sizeof(raw);
	if (!cli_read_at(delta->shown, delta->fd, raw, len, 0))
		return DELTA_FAILED;
	if (memcmp(raw, magic, MAGIC_BYTES) != 0)
		return delta_refuse(why, "not a delta");
	h->kind = raw[KIND_AT];
	if (h->kind != DELTA_FILTER && h->kind != DELTA_LIST)
		return delta_refuse(why,
		    "a delta of kind %u, which this keyveto does not know",
		    raw[KIND_AT]);
	memcpy(h->old_sha256, raw + OLD_SHA256_AT, SHA256_BYTES);
	memcpy(h->new_sha256, raw + NEW_SHA256_AT, SHA256_BYTES);
	if (h->size < (h->kind == DELTA_FILTER ? DELTA_FILTER_BYTES :
						 DELTA_LIST_BYTES) ||
	    !(h->kind == DELTA_FILTER ? decode_filters(raw + REST_AT, x) :
					decode_lists(raw + REST_AT, x)) ||
	    !has_possible_size(x))
		return delta_refuse(why,
		    "a damaged delta: its header contradicts itself or its "
		    "size; get it again");
	return DELTA_DONE;
}

enum delta_end
delta_find_header(const struct delta_file *delta, struct delta_header *h,
    char why[static DELTA_WHY_BYTES])
{
	struct delta_full_header x;
	enum delta_end end = decode_header(delta, &x, why);

	*h = x.h;
	return end;
}

bool
delta_read_header(const struct delta_file *delta, struct delta_header *h)
{
	char why[DELTA_WHY_BYTES];
	enum delta_end end = delta_find_header(delta, h, why);

	if (end == DELTA_NO_SUCCESSOR)
		cli_error("%s: %s", delta->shown, why);
	return end == DELTA_DONE;
}

bool
delta_write_header(const struct delta_file *out,
    const struct delta_full_header *x)
{
	const struct delta_header *h = &x->h;
	uint8_t raw[DELTA_HEADER_MAX], *p = raw + REST_AT;
	size_t len = h->kind == DELTA_FILTER ?
	    DELTA_FILTER_BYTES :
	    DELTA_LIST_BYTES;

	memcpy(raw, magic, MAGIC_BYTES);
	raw[KIND_AT] = (uint8_t)h->kind;
	memcpy(raw + OLD_SHA256_AT, h->old_sha256, SHA256_BYTES);
	memcpy(raw + NEW_SHA256_AT, h->new_sha256, SHA256_BYTES);
	if (h->kind == DELTA_FILTER) {
		memcpy(p, x->old_raw, sizeof(x->old_raw));
		p += sizeof(x->old_raw);
		memcpy(p, x->new_raw, sizeof(x->new_raw));
		p += sizeof(x->new_raw);
		put_u64(p, h->came);
		put_u64(p + 8, x->m);
	} else {
		put_u64(p, h->old_size / KV_BLOCKLIST_RECORD_BYTES);
		put_u64(p + 8, h->new_size / KV_BLOCKLIST_RECORD_BYTES);
		put_u64(p + 16, h->gone);
		put_u64(p + 24, x->m);
		put_u64(p + 32, x->gone_bytes);
		put_u64(p + 40, x->came_m);
	}
	return io_write_at(out->fd, raw, len, 0) ||
	    cli_failed(out->shown, "cannot be written");
}

enum delta_end
delta_judge_hashes(const struct delta_header *h,
    const uint8_t old[static SHA256_BYTES],
    const uint8_t fresh[static SHA256_BYTES], char why[static DELTA_WHY_BYTES])
{
	if (memcmp(old, h->old_sha256, SHA256_BYTES) != 0)
		return delta_refuse(why,
		    "it applies to a file with another SHA-256, and not to "
		    "this one");
	if (memcmp(fresh, h->new_sha256, SHA256_BYTES) != 0)
		return delta_refuse(why,
		    "a damaged delta: what it makes of this file has another "
		    "SHA-256 than it says; get it again");
	return DELTA_DONE;
}

/* --- making and applying -------------------------------------------------- */

/* Sets *yesp to whether the file begins as a filter. False after a message. */
static bool
begins_as_filter(const struct delta_file *f, bool *yesp)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];
	struct kv_pkbf_header h;
	struct stat st;

	*yesp = false;
	if (fstat(f->fd, &st) == -1)
		return cli_error("%s: %s", f->shown, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < KV_PKBF_HEADER_BYTES)
		return true;
	if (!cli_read_at(f->shown, f->fd, raw, sizeof(raw), 0))
		return false;
	*yesp = kv_pkbf_header_decode(raw, &h) == KV_OK;
	return true;
}

enum delta_end
delta_make(const struct delta_file *old, const struct delta_file *fresh,
    const struct delta_file *out, char why[static DELTA_WHY_BYTES])
{
	bool is_filter;

	why[0] = '\0';
	if (!begins_as_filter(old, &is_filter))
		return DELTA_FAILED;
	return is_filter ? delta_make_filter(old, fresh, out, why) :
			   delta_make_list(old, fresh, out, why);
}

enum delta_end
delta_apply(const struct delta_file *old, const struct delta_file *delta,
    const struct delta_file *out, char why[static DELTA_WHY_BYTES])
{
	struct delta_full_header x;
	enum delta_end end = decode_header(delta, &x, why);
	struct stat st;

	if (end != DELTA_DONE)
		return end;
	if (fstat(old->fd, &st) == -1) {
		cli_error("%s: %s", old->shown, strerror(errno));
		return DELTA_FAILED;
	}
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != x.h.old_size)
		return delta_refuse(why,
		    "it applies to a file of %" PRIu64 " bytes, and not to "
		    "this one",
		    x.h.old_size);
	return x.h.kind == DELTA_FILTER ?
	    delta_apply_filter(old, delta, &x, out, why) :
	    delta_apply_list(old, delta, &x, out, why);
}
