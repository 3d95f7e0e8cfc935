/* SPDX-License-Identifier: ISC */
/*
 * A key that stands in any text, also packed or in UTF-16, is found when the
 * file is read, or a problem tells of the file. The first three bytes say how
 * the text is stored, and where in it the key goes.
 */
#include <sys/mman.h>

#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz.h"
#include "keys/input.h"
#include "kv_base64.h"
#include "kv_fingerprint.h"

#define KEY_BASE64 \
	"AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
#define KEY_LINE "ssh-ed25519 " KEY_BASE64
#define HEAD_BYTES 3
#define TEXT_MAX (64 * 1024)

enum storage { PLAIN, GZIP, UTF16, STORAGES };

struct result {
	uint8_t wanted[KV_SHA256_BYTES]; /* the digest of the key */
	bool found;
	size_t problems;
};

static void
on_key(const struct input_key *key, void *arg)
{
	struct result *result = arg;
	uint8_t digest[KV_SHA256_BYTES];

	if (key->key.type == KV_KEY_NONE) {
		FUZZ_CHECK(key->spki.len > 0);
		return;
	}
	kv_fingerprint_digest(&key->key, digest);
	result->found |= memcmp(digest, result->wanted, sizeof(digest)) == 0;
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	struct result *result = arg;

	FUZZ_CHECK(problem->reason[0] != '\0');
	result->problems++;
}

static void
digest_of_key(uint8_t digest[static KV_SHA256_BYTES])
{
	uint8_t blob[64];
	struct kv_sshkey key;
	size_t len;

	FUZZ_CHECK(kv_base64_decode(KEY_BASE64, strlen(KEY_BASE64), blob,
		       sizeof(blob), &len) == KV_OK);
	FUZZ_CHECK(kv_sshkey_parse(blob, len, &key) == KV_OK);
	kv_fingerprint_digest(&key.key, digest);
}

static size_t
pack(const uint8_t *text, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { 0 };
	size_t used;

	FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8,
		       Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (uint8_t *)(uintptr_t)text;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	used = cap - z.avail_out;
	deflateEnd(&z);
	return used;
}

static size_t
widen(const uint8_t *text, size_t len, uint8_t *out)
{
	size_t n = 0;

	out[n++] = 0xff;
	out[n++] = 0xfe;
	for (size_t i = 0; i < len; i++) {
		out[n++] = text[i];
		out[n++] = 0;
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t text[TEXT_MAX + sizeof(KEY_LINE)];
	static uint8_t stored[2 * sizeof(text) + 1024];
	struct result result = { .found = false };
	const struct input_sink sink = { .key = on_key,
		.problem = on_problem,
		.arg = &result };
	size_t at, len;
	enum storage storage;
	int fd;

	if (size < HEAD_BYTES || size - HEAD_BYTES > TEXT_MAX)
		return 0;
	storage = data[0] % STORAGES;
	at = (size_t)(data[1] << 8 | data[2]);
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (at > size)
		at = size;
	memcpy(text, data, at);
	memcpy(text + at, KEY_LINE, strlen(KEY_LINE));
	memcpy(text + at + strlen(KEY_LINE), data + at, size - at);
	len = size + strlen(KEY_LINE);
	if (storage == GZIP)
		len = pack(text, len, stored, sizeof(stored));
	else if (storage == UTF16)
		len = widen(text, len, stored);
	else
		memcpy(stored, text, len);

	digest_of_key(result.wanted);
	FUZZ_CHECK((fd = memfd_create("fuzz", MFD_CLOEXEC)) != -1);
	FUZZ_CHECK(write(fd, stored, len) == (ssize_t)len);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	input_read_fd(fd, "fuzz", &sink);
	close(fd);
	/* A key in a comment is none. */
	if (memchr(text, '#', at) == NULL)
		FUZZ_CHECK(result.found || result.problems > 0);
	return 0;
}
