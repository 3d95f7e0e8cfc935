/* SPDX-License-Identifier: ISC */
#include "published/patch.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

/* Of the frame's header (RFC 8878, 3.1.1.1). */
#define DESCRIPTOR_AT 4
#define WINDOW_AT 5
#define HEADER_MIN_BYTES 6
#define DICTIONARY_ID 0x03
#define CHECKSUM 0x04
#define SINGLE_SEGMENT 0x20
#define WINDOW_LOG_MIN 10

static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

/* A whole file in memory. */
struct mapped {
	uint8_t *p; /* MAP_FAILED: it is not */
	size_t len;
};

static bool
map(int fd, uint64_t len, int prot, int flags, struct mapped *m)
{
	m->len = (size_t)len;
	m->p = len == 0 || len > SIZE_MAX / 2 ?
	    MAP_FAILED :
	    mmap(NULL, m->len, prot, flags, fd, 0);
	return m->p != MAP_FAILED;
}

static bool
map_to_read(int fd, struct mapped *m)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	    map(fd, (uint64_t)st.st_size, PROT_READ, MAP_PRIVATE, m);
}

/* Makes the file len bytes long, for which there is room. */
static bool
map_to_write(int fd, uint64_t len, struct mapped *m)
{
	return (fallocate(fd, 0, 0, (off_t)len) == 0 || errno == EOPNOTSUPP ||
		   errno == ENOSYS || errno == EINTR) &&
	    ftruncate(fd, (off_t)len) == 0 &&
	    map(fd, len, PROT_READ | PROT_WRITE, MAP_SHARED, m);
}

static void
unmap(const struct mapped *m)
{
	if (m->p != MAP_FAILED)
		(void)munmap(m->p, m->len);
}

/*
 * The window that a frame asks for is memory of whoever applies it by hand: no
 * more than twice the least power of two that spans the old file.
 */
static bool
is_window_small(uint8_t window, size_t old_len)
{
	const unsigned int log = (window >> 3) + WINDOW_LOG_MIN;
	const uint64_t bytes = (UINT64_C(1) << log) +
	    (UINT64_C(1) << log >> 3) * (window & 7);
	uint64_t max = UINT64_C(1) << WINDOW_LOG_MIN;

	while (max < old_len)
		max *= 2;
	return bytes <= 2 * max;
}

/* Whether it is one frame, as a patch has it. Sets *lenp to what it gives. */
static bool
is_patch(const struct mapped *patch, size_t old_len,
    const struct patch_bounds *bounds, uint64_t *lenp)
{
	const uint8_t *p = patch->p;

	if (patch->len < HEADER_MIN_BYTES ||
	    memcmp(p, magic, sizeof(magic)) != 0 ||
	    (p[DESCRIPTOR_AT] & CHECKSUM) == 0 ||
	    (p[DESCRIPTOR_AT] & DICTIONARY_ID) != 0 ||
	    ((p[DESCRIPTOR_AT] & SINGLE_SEGMENT) == 0 &&
		!is_window_small(p[WINDOW_AT], old_len)) ||
	    ZSTD_findFrameCompressedSize(p, patch->len) != patch->len)
		return false;
	*lenp = ZSTD_getFrameContentSize(p, patch->len);
	return *lenp != ZSTD_CONTENTSIZE_UNKNOWN &&
	    *lenp != ZSTD_CONTENTSIZE_ERROR && *lenp >= bounds->min &&
	    *lenp <= bounds->max;
}

/*
 * In one call into the whole output, which needs no window; the library compares
 * the checksum.
 */
static bool
decompress(const struct mapped *old, const struct mapped *patch,
    const struct mapped *out)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();
	const bool ok = ctx != NULL &&
	    !ZSTD_isError(ZSTD_DCtx_refPrefix(ctx, old->p, old->len)) &&
	    ZSTD_decompressDCtx(ctx, out->p, out->len, patch->p, patch->len) ==
		out->len;

	(void)ZSTD_freeDCtx(ctx);
	return ok;
}

bool
patch_apply(int old, int patch, const struct patch_bounds *bounds, int out)
{
	struct mapped from = { .p = MAP_FAILED }, how = from, to = from;
	uint64_t len;
	const bool ok = map_to_read(old, &from) && map_to_read(patch, &how) &&
	    is_patch(&how, from.len, bounds, &len) &&
	    map_to_write(out, len, &to) && decompress(&from, &how, &to);

	unmap(&from);
	unmap(&how);
	unmap(&to);
	return ok;
}
