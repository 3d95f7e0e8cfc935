/* SPDX-License-Identifier: ISC */
/*
 * A filter file that opens has the size its header says. A look-up in it does
 * not fail.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_pkbf.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];
	struct kv_pkbf_hash h = kv_pkbf_hash(data, size);
	struct kv_pkbf f;
	bool listed;
	int fd = memfd_create("filter", MFD_CLOEXEC);

	FUZZ_CHECK(fd != -1 && write(fd, data, size) == (ssize_t)size);
	if (kv_pkbf_open_fd(fd, &f) != KV_OK) {
		close(fd);
		return 0;
	}
	FUZZ_CHECK(f.header.hashes > 0 &&
	    kv_pkbf_file_bytes(f.header.length) == (off_t)size);
	kv_pkbf_header_encode(&f.header, raw);
	for (size_t i = 0; i < sizeof(raw); i++)
		FUZZ_CHECK(raw[i] == data[i]);
	FUZZ_CHECK(kv_pkbf_lookup(&f, &h, &listed) == KV_OK);
	for (unsigned int i = 0; i < f.header.hashes; i++) {
		uint64_t bit = kv_pkbf_position(&h, i, f.header.length);
		uint8_t byte = data[KV_PKBF_HEADER_BYTES + bit / 8];

		FUZZ_CHECK(!listed || (byte & 0x80U >> bit % 8) != 0);
	}
	kv_pkbf_close(&f);
	return 0;
}
