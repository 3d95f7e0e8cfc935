/* SPDX-License-Identifier: ISC */
/*
 * Patches: the input is applied as one to an old file of its first bytes. What it
 * gives has the size that its header says, within the bounds, and another
 * decoder, which streams, makes the same of it. A patch that libzstd makes of
 * the input is one; without its checksum it is none.
 *
 * The first two bytes say how many of the input are the old file's.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "fuzz.h"
#include "published/patch.h"

#define FILE_BYTES 65536
#define DESCRIPTOR_AT 4
#define CHECKSUM 0x04

static const struct patch_bounds bounds = { 1, FILE_BYTES };

static int
open_file(const char *name, const void *p, size_t len)
{
	const int fd = memfd_create(name, MFD_CLOEXEC);

	FUZZ_CHECK(fd != -1 && write(fd, p, len) == (ssize_t)len);
	return fd;
}

static size_t
size_of(int fd)
{
	struct stat st;

	FUZZ_CHECK(fstat(fd, &st) == 0);
	return (size_t)st.st_size;
}

/* Applies it as zstd -d --patch-from does. Returns how long the new file is. */
static size_t
stream(const uint8_t *old, size_t old_len, const uint8_t *patch, size_t len,
    uint8_t out[static FILE_BYTES + 1])
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();
	ZSTD_inBuffer in = { patch, len, 0 };
	ZSTD_outBuffer to = { out, FILE_BYTES + 1, 0 };
	size_t left;

	FUZZ_CHECK(!ZSTD_isError(ZSTD_DCtx_refPrefix(ctx, old, old_len)));
	do
		left = ZSTD_decompressStream(ctx, &to, &in);
	while (!ZSTD_isError(left) && left > 0 && in.pos < in.size);
	ZSTD_freeDCtx(ctx);
	return left == 0 ? to.pos : 0;
}

static void
check_applied(const uint8_t *old, size_t old_len, const uint8_t *patch,
    size_t len)
{
	static uint8_t made[FILE_BYTES], streamed[FILE_BYTES + 1];
	const int a = open_file("old", old, old_len);
	const int p = open_file("patch", patch, len);
	const int out = open_file("out", "", 0);
	const bool ok = patch_apply(a, p, &bounds, out);
	const size_t n = size_of(out);

	FUZZ_CHECK(n <= bounds.max);
	if (ok) {
		FUZZ_CHECK(n == ZSTD_getFrameContentSize(patch, len));
		FUZZ_CHECK(pread(out, made, sizeof(made), 0) == (ssize_t)n);
		FUZZ_CHECK(stream(old, old_len, patch, len, streamed) == n);
		FUZZ_CHECK(memcmp(made, streamed, n) == 0);
	}
	close(a);
	close(p);
	close(out);
}

static void
check_made(const uint8_t *old, size_t old_len, const uint8_t *new, size_t len)
{
	static uint8_t patch[2 * FILE_BYTES], made[FILE_BYTES];
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	const int a = open_file("old", old, old_len);
	const int out = open_file("out", "", 0);
	size_t n;
	int p;

	(void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
	(void)ZSTD_CCtx_refPrefix(ctx, old, old_len);
	n = ZSTD_compress2(ctx, patch, sizeof(patch), new, len);
	FUZZ_CHECK(!ZSTD_isError(n));
	p = open_file("patch", patch, n);
	FUZZ_CHECK(patch_apply(a, p, &bounds, out));
	FUZZ_CHECK(pread(out, made, sizeof(made), 0) == (ssize_t)len);
	FUZZ_CHECK(memcmp(made, new, len) == 0);
	patch[DESCRIPTOR_AT] &= (uint8_t)~CHECKSUM;
	FUZZ_CHECK(ftruncate(p, 0) == 0 && ftruncate(out, 0) == 0 &&
	    pwrite(p, patch, n - 4, 0) == (ssize_t)(n - 4));
	FUZZ_CHECK(!patch_apply(a, p, &bounds, out) && size_of(out) == 0);
	ZSTD_freeCCtx(ctx);
	close(a);
	close(p);
	close(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n;

	if (size < 3 || size > FILE_BYTES)
		return 0;
	n = (size_t)(data[0] << 8 | data[1]);
	data += 2;
	size -= 2;
	n = n < size ? n : size - 1;
	check_applied(data, n, data + n, size - n);
	if (n > 0)
		check_made(data, n, data + n, size - n);
	return 0;
}
