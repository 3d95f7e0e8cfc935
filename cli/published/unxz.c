/* SPDX-License-Identifier: ISC */
#include "published/unxz.h"

#include <stddef.h>
#include <string.h>

/* xz -9 needs 65 MiB to unpack. A file may ask for 4 GiB. */
#define MEMORY_MAX (128 * 1024 * 1024)
#define OUT_BYTES (256 * 1024)

static const uint8_t magic[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };

void
unxz_begin(struct unxz *u, bool (*data)(const void *p, size_t len, void *arg),
    void *arg)
{
	*u = (struct unxz){
		.xz = LZMA_STREAM_INIT,
		.data = data,
		.arg = arg,
	};
}

static const char *
lzma_reason(lzma_ret r)
{
	switch (r) {
	case LZMA_MEM_ERROR:
		return "out of memory";
	case LZMA_MEMLIMIT_ERROR:
		return "needs more than 128 MiB of memory to be unpacked";
	case LZMA_BUF_ERROR:
		return "ends within the packed data: cut short; try again "
		       "later";
	default:
		return "its xz data is damaged";
	}
}

static bool
run_decoder(struct unxz *u, const uint8_t *p, size_t len, lzma_action action)
{
	static uint8_t out[OUT_BYTES];
	lzma_ret r = LZMA_OK;

	u->xz.next_in = p;
	u->xz.avail_in = len;
	do {
		u->xz.next_out = out;
		u->xz.avail_out = sizeof(out);
		r = lzma_code(&u->xz, action);
		if (r != LZMA_OK && r != LZMA_STREAM_END &&
		    (r != LZMA_BUF_ERROR || action == LZMA_FINISH)) {
			u->why = lzma_reason(r);
			return false;
		}
		if (u->xz.avail_out < sizeof(out) &&
		    !u->data(out, sizeof(out) - u->xz.avail_out, u->arg))
			return false;
	} while (r == LZMA_OK &&
	    (u->xz.avail_in > 0 || u->xz.avail_out == 0 ||
		action == LZMA_FINISH));
	return true;
}

/* Decides by the first bytes whether it is xz. */
static bool
decide(struct unxz *u, const void *p, size_t len)
{
	lzma_ret r = LZMA_OK;

	u->decided = true;
	u->is_xz = len >= sizeof(magic) && memcmp(p, magic, sizeof(magic)) == 0;
	if (u->is_xz)
		r = lzma_stream_decoder(&u->xz, MEMORY_MAX, LZMA_CONCATENATED);
	if (r != LZMA_OK)
		u->why = lzma_reason(r);
	return r == LZMA_OK;
}

bool
unxz_add(struct unxz *u, const void *p, size_t len)
{
	if (!u->decided && !decide(u, p, len))
		return false;
	return u->is_xz ? run_decoder(u, p, len, LZMA_RUN) :
			  u->data(p, len, u->arg);
}

bool
unxz_end(struct unxz *u)
{
	return !u->is_xz || run_decoder(u, NULL, 0, LZMA_FINISH);
}

void
unxz_free(struct unxz *u)
{
	lzma_end(&u->xz);
}
