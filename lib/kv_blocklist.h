/* SPDX-License-Identifier: ISC */
/*
 * kv_blocklist: reads an exact list of compromised keys, in the form that
 * badkeys publishes as blocklist.dat.
 *
 * The file is nothing but records of 16 bytes, in ascending order: 15 bytes of
 * hash, then 1 byte that says which source the key comes from. There is no
 * header, no version and no count. Several records may have the same hash.
 *
 * The hash is the first 120 bits of SHA-256 over one number of the key, in big
 * endian without leading zero bytes: the modulus of RSA, y of DSA, the x
 * coordinate of ECDSA, the public key of Ed25519 and Ed448. Of ML-DSA it is over
 * the public key as it is. So an RSA key is found under any exponent, and an
 * ECDSA key with its point negated.
 *
 * Reading takes no lock and maps no memory, as in kv_pkbf. A list is replaced by
 * rename(2), never in place.
 */
#ifndef KV_BLOCKLIST_H
#define KV_BLOCKLIST_H

#include <sys/types.h>

#include <endian.h>
#include <string.h>

#include "kv_sshkey.h"

#define KV_BLOCKLIST_HASH_BYTES 15
#define KV_BLOCKLIST_RECORD_BYTES 16
/* The most records that KV_BLOCKLIST_READS_MAX reads can search: 4 GiB. */
#define KV_BLOCKLIST_RECORDS_MAX ((uint64_t)1 << 28)
#define KV_BLOCKLIST_READS_MAX 24

struct kv_blocklist {
	int fd;
	uint64_t records;
	const uint8_t *map; /* for kv_read_at; opening it maps nothing */
};

struct kv_blocklist_hash {
	uint8_t byte[KV_BLOCKLIST_HASH_BYTES];
};

/*
 * Checks the list behind fd: a regular file of 1 to KV_BLOCKLIST_RECORDS_MAX
 * whole records. The order of the records is not checked here. On success l owns
 * fd, until kv_blocklist_close. On an error fd stays the caller's.
 * KV_ERR_NOT_REGULAR, KV_ERR_LIST_SIZE, KV_ERR_LIST_TOO_LARGE, KV_ERR_SYSTEM
 * (errno).
 */
KV_MUST_CHECK enum kv_err kv_blocklist_open_fd(int fd, struct kv_blocklist *l);
void kv_blocklist_close(struct kv_blocklist *l);

/*
 * Whether the hashes of two records, of which one follows the other, are both all
 * zeroes or both all ones: a part of the file was lost.
 */
bool kv_blocklist_is_hole(const uint8_t a[static KV_BLOCKLIST_HASH_BYTES],
    const uint8_t b[static KV_BLOCKLIST_HASH_BYTES]);

/*
 * How many hashes a key has: 0 for KV_KEY_NONE, 2 for the composite type (its
 * ML-DSA-44 and its Ed25519 half), else 1. A key is listed if any of them is.
 */
size_t kv_blocklist_hash_count(const struct kv_pubkey *key);

/* Sets *h to hash number index (from 0, below the count) of key. */
void kv_blocklist_hash_key(const struct kv_pubkey *key, size_t index,
    struct kv_blocklist_hash *h);

/* Sets *h to the hash of a number in big endian; leading zero bytes are cut. */
void kv_blocklist_hash_number(struct kv_span number,
    struct kv_blocklist_hash *h);

/* Sets *h to the hash of bytes as they are. */
void kv_blocklist_hash_bytes(struct kv_span bytes, struct kv_blocklist_hash *h);

/* The first 64 bits of a hash or a record, as a number. */
static inline uint64_t
kv_blocklist_leading_bits(const uint8_t *hash)
{
	uint64_t v;

	memcpy(&v, hash, sizeof(v));
	return be64toh(v);
}

/*
 * Sets *listedp to whether the list holds h, and *idp to the source in the first
 * record that has it. Makes at most KV_BLOCKLIST_READS_MAX positioned reads. A
 * record that was read and has the hash counts, wherever it stands and whatever
 * is wrong elsewhere. Errors (*listedp is false): KV_ERR_LIST_ORDER if records
 * that were read are not in order; KV_ERR_LIST_HOLE if several of them are all
 * zeroes or all ones; KV_ERR_LIST_SIZE if the file has shrunk; KV_ERR_SYSTEM
 * (errno).
 */
KV_MUST_CHECK enum kv_err kv_blocklist_lookup(const struct kv_blocklist *l,
    const struct kv_blocklist_hash *h, bool *listedp, uint8_t *idp);

#endif
