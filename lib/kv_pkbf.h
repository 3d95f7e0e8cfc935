/* SPDX-License-Identifier: ISC */
/*
 * kv_pkbf: reads a pkbfv1 Bloom filter.
 *
 * Layout, integers big endian: "pkbfv1", u32 revision, u64 time (seconds since
 * 1970), u32 entries, u8 k, u8 p, then 2^p bits. Bit n is in byte n / 8 under
 * the mask 1 << (7 - n % 8).
 *
 * Reading takes no lock and maps no memory: anyone who may read a file may lock
 * it, and a mapped file that is truncated kills the process. A writer only sets
 * bits, and never changes k and p, so reading beside a writer is safe.
 */
#ifndef KV_PKBF_H
#define KV_PKBF_H

#include <sys/types.h>

#include "kv_bytes.h"

#define KV_PKBF_MARKER_BYTES 6
#define KV_PKBF_HEADER_BYTES 24
#define KV_PKBF_LENGTH_MIN 3 /* p; below, there is no whole byte */
#define KV_PKBF_LENGTH_MAX 40

struct kv_pkbf_header {
	uint32_t revision;
	uint64_t time;
	uint32_t entries;
	uint8_t hashes; /* k */
	uint8_t length; /* p, the filter has 2^p bits */
};

struct kv_pkbf {
	int fd;
	struct kv_pkbf_header header;
	const uint8_t *map; /* for kv_read_at; opening it maps nothing */
};

/* The two hashes of an SPKI. All its bit positions follow from them. */
struct kv_pkbf_hash {
	uint64_t h1, h2;
};

/* The size in bytes of a filter file with 2^length bits; length 3 to 40. */
off_t kv_pkbf_file_bytes(uint8_t length);

/* Decodes and checks a header. KV_ERR_FILTER_MARKER, _HASHES or _LENGTH. */
KV_MUST_CHECK enum kv_err
kv_pkbf_header_decode(const uint8_t raw[static KV_PKBF_HEADER_BYTES],
    struct kv_pkbf_header *h);
void kv_pkbf_header_encode(const struct kv_pkbf_header *h,
    uint8_t raw[static KV_PKBF_HEADER_BYTES]);

/*
 * Checks the filter file behind fd: a regular file with a good header and
 * exactly the size that the header says. On success f owns fd, until
 * kv_pkbf_close. On an error fd stays the caller's. KV_ERR_NOT_REGULAR,
 * KV_ERR_FILTER_*, KV_ERR_SYSTEM (errno).
 */
KV_MUST_CHECK enum kv_err kv_pkbf_open_fd(int fd, struct kv_pkbf *f);
void kv_pkbf_close(struct kv_pkbf *f);

struct kv_pkbf_hash kv_pkbf_hash(const uint8_t *spki, size_t len)
    __attribute__((nonnull));

/* The bit that hash number i (from 0) stands for, of 2^length bits. */
static inline uint64_t
kv_pkbf_position(const struct kv_pkbf_hash *h, unsigned int i, uint8_t length)
{
	uint64_t n = i;

	/* 2^length divides 2^64, so an overflow does not change the result. */
	return (h->h1 + n * h->h2 + (n * n * n - n) / 6) &
	    (((uint64_t)1 << length) - 1);
}

/*
 * Sets *listedp to whether the filter (probably) holds the SPKI. Reads single
 * bytes and stops at the first bit that is not set. Errors (*listedp is false):
 * KV_ERR_SYSTEM (errno); KV_ERR_FILTER_SIZE if the file has shrunk.
 */
KV_MUST_CHECK enum kv_err kv_pkbf_lookup(const struct kv_pkbf *f,
    const struct kv_pkbf_hash *h, bool *listedp);

#endif
