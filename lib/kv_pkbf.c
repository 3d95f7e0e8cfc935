/* SPDX-License-Identifier: ISC */
#include "kv_pkbf.h"

#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kv_pread.h"

static const uint8_t marker[KV_PKBF_MARKER_BYTES] = { 'p', 'k', 'b', 'f', 'v',
	'1' };

static uint64_t
load_be(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	while (len-- > 0)
		v = v << 8 | *p++;
	return v;
}

static void
store_be(uint8_t *p, size_t len, uint64_t v)
{
	while (len-- > 0) {
		p[len] = (uint8_t)v;
		v >>= 8;
	}
}

off_t
kv_pkbf_file_bytes(uint8_t length)
{
	return KV_PKBF_HEADER_BYTES + ((off_t)1 << (length - 3));
}

enum kv_err
kv_pkbf_header_decode(const uint8_t raw[static KV_PKBF_HEADER_BYTES],
    struct kv_pkbf_header *h)
{
	if (memcmp(raw, marker, sizeof(marker)) != 0)
		return KV_ERR_FILTER_MARKER;
	h->revision = (uint32_t)load_be(raw + 6, 4);
	h->time = load_be(raw + 10, 8);
	h->entries = (uint32_t)load_be(raw + 18, 4);
	h->hashes = raw[22];
	h->length = raw[23];
	/* With no hash function every key would be listed. */
	if (h->hashes == 0)
		return KV_ERR_FILTER_HASHES;
	if (h->length < KV_PKBF_LENGTH_MIN || h->length > KV_PKBF_LENGTH_MAX)
		return KV_ERR_FILTER_LENGTH;
	return KV_OK;
}

void
kv_pkbf_header_encode(const struct kv_pkbf_header *h,
    uint8_t raw[static KV_PKBF_HEADER_BYTES])
{
	memcpy(raw, marker, sizeof(marker));
	store_be(raw + 6, 4, h->revision);
	store_be(raw + 10, 8, h->time);
	store_be(raw + 18, 4, h->entries);
	raw[22] = h->hashes;
	raw[23] = h->length;
}

enum kv_err
kv_pkbf_open_fd(int fd, struct kv_pkbf *f)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];
	struct stat st;
	enum kv_err r;

	if (fstat(fd, &st) == -1)
		return KV_ERR_SYSTEM;
	if (!S_ISREG(st.st_mode))
		return KV_ERR_NOT_REGULAR;
	if ((r = kv_pread(fd, raw, sizeof(raw), 0, KV_ERR_FILTER_SIZE)) !=
		KV_OK ||
	    (r = kv_pkbf_header_decode(raw, &f->header)) != KV_OK)
		return r;
	if (st.st_size != kv_pkbf_file_bytes(f->header.length))
		return KV_ERR_FILTER_SIZE;
	f->fd = fd;
	f->map = NULL;
	return KV_OK;
}

void
kv_pkbf_close(struct kv_pkbf *f)
{
	if (f->fd != -1)
		close(f->fd);
	f->fd = -1;
}

struct kv_pkbf_hash
kv_pkbf_hash(const uint8_t *spki, size_t len)
{
	struct kv_pkbf_hash h = { XXH64(spki, len, 0), XXH64(spki, len, 1) };

	/* An odd step reaches every position of a power-of-two filter. */
	if (h.h2 % 2 == 0)
		h.h2++;
	return h;
}

enum kv_err
kv_pkbf_lookup(const struct kv_pkbf *f, const struct kv_pkbf_hash *h,
    bool *listedp)
{
	uint64_t bit;
	uint8_t byte;
	enum kv_err r;

	*listedp = false;
	for (unsigned int i = 0; i < f->header.hashes; i++) {
		bit = kv_pkbf_position(h, i, f->header.length);
		if ((r = kv_read_at(f->fd, f->map, &byte, 1,
			 KV_PKBF_HEADER_BYTES + (off_t)(bit / 8),
			 KV_ERR_FILTER_SIZE)) != KV_OK)
			return r;
		if ((byte & 0x80U >> (bit % 8)) == 0)
			return KV_OK;
	}
	*listedp = true;
	return KV_OK;
}
