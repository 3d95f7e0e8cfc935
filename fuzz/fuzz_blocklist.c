/* SPDX-License-Identifier: ISC */
/*
 * A lookup in a list in order finds what a search of all records finds. In any
 * other list a key is listed only if a record has it. The first 15 bytes of the
 * input are the hash, the rest is the list.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_blocklist.h"

#define RECORD KV_BLOCKLIST_RECORD_BYTES
#define HASH KV_BLOCKLIST_HASH_BYTES

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_blocklist_hash h;
	struct kv_blocklist l;
	const uint8_t *record, *first = NULL;
	bool listed, sorted = true, whole;
	enum kv_err r;
	uint8_t id = 0;
	size_t n;
	int fd;

	if (size < HASH)
		return 0;
	memcpy(h.byte, data, HASH);
	record = data + HASH;
	size -= HASH;
	n = size / RECORD;
	whole = n > 0 && size % RECORD == 0;
	fd = memfd_create("list", MFD_CLOEXEC);
	FUZZ_CHECK(fd != -1 && write(fd, record, size) == (ssize_t)size);
	r = kv_blocklist_open_fd(fd, &l);
	FUZZ_CHECK(r == (whole ? KV_OK : KV_ERR_LIST_SIZE));
	if (!whole) {
		close(fd);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = record + i * RECORD;

		if (i > 0 &&
		    (memcmp(at - RECORD, at, HASH) > 0 ||
			kv_blocklist_is_hole(at - RECORD, at)))
			sorted = false;
		if (first == NULL && memcmp(at, h.byte, HASH) == 0)
			first = at;
	}
	r = kv_blocklist_lookup(&l, &h, &listed, &id);
	FUZZ_CHECK(r == KV_OK ||
	    ((r == KV_ERR_LIST_ORDER || r == KV_ERR_LIST_HOLE) && !sorted));
	FUZZ_CHECK(!listed || first != NULL);
	if (sorted)
		FUZZ_CHECK(listed == (first != NULL));
	if (sorted && listed)
		FUZZ_CHECK(id == first[HASH]);
	kv_blocklist_close(&l);
	return 0;
}
