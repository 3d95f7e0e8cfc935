/* SPDX-License-Identifier: ISC */
#include "keys/unpack.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include "keys/der_element.h"

/* As much as keys/input may have read when it asks for a form. */
#define IN_BYTES (256 * 1024)
/* inflateInit2: a window of 32 KiB, and a gzip header. */
#define GZIP_WINDOW (15 + 16)
/* Where a tar header says that it is one (POSIX ustar). */
#define TAR_MAGIC_AT 257
/* A PKCS #12 store without its first element: INTEGER 3, SEQUENCE, OID. */
#define PKCS12_VERSION "\x02\x01\x03"
/* 1.2.840.113549.1.7.1: what follows is data. */
#define OID_DATA "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"

struct unpack_layer {
	enum unpack_form form;
	z_stream gzip;
	lzma_stream xz;
	uint64_t total; /* bytes given so far */
	bool ended;	/* the form's own end was seen */
	bool below_ended;
	struct utf16 utf16;
	size_t at, len; /* what is left in in */
	uint8_t in[IN_BYTES];
};

struct magic {
	size_t at;
	const char *bytes;
	size_t len;
	const char *name;
};
#define UNPACK_FIRST "unpack it first"
#define EXPORT "export its certificates as PEM"
#define LOOKS ": keyveto does not look into it: "
#define MAGIC(at, bytes, name) \
	{ \
		at, bytes, sizeof(bytes) - 1, name LOOKS UNPACK_FIRST \
	}
#define JAVA(bytes) \
	{ \
		0, bytes, sizeof(bytes) - 1, "Java key store" LOOKS EXPORT \
	}

static const struct magic foreign[] = {
	MAGIC(0, "PK\3\4", "zip archive"),
	MAGIC(0, "PK\5\6", "zip archive"),
	MAGIC(4, "1AY&SY", "bzip2 file"),
	MAGIC(0, "\x28\xb5\x2f\xfd", "zstd file"),
	MAGIC(0, "\x04\x22\x4d\x18", "lz4 file"),
	MAGIC(0, "\x1f\x9d\x90", "file of compress"),
	MAGIC(0, "LZIP\1", "lzip file"),
	MAGIC(0, "\x89LZO\0\r\n\x1a\n", "lzop file"),
	MAGIC(0, "\x5d\0\0\x80\0\xff\xff\xff\xff", "lzma file"),
	MAGIC(0, "7z\xbc\xaf\x27\x1c", "7z archive"),
	MAGIC(0, "Rar!\x1a\x07", "rar archive"),
	MAGIC(0, "070701", "cpio archive"),
	MAGIC(0, "070702", "cpio archive"),
	MAGIC(0, "070707", "cpio archive"),
	MAGIC(0, "!<arch>\n", "ar archive"),
	MAGIC(0, "\xed\xab\xee\xdb", "rpm package"),
	MAGIC(0, "MSCF\0\0\0\0", "cab archive"),
	MAGIC(0, "hsqs", "squashfs image"),
	MAGIC(0, "\xff\xfe\0\0", "UTF-32 text"),
	MAGIC(0, "\0\0\xfe\xff", "UTF-32 text"),
	MAGIC(TAR_MAGIC_AT, "ustar", "tar archive"),
	JAVA("\xfe\xed\xfe\xed\0\0\0\1"),
	JAVA("\xfe\xed\xfe\xed\0\0\0\2"),
	JAVA("\xce\xce\xce\xce\0\0\0\1"),
	JAVA("\xce\xce\xce\xce\0\0\0\2"),
};

static const struct {
	const char *bytes;
	size_t len;
	enum unpack_form form;
} forms[] = {
	{ "\x1f\x8b\x08", 3, UNPACK_GZIP },
	{ "\xfd"
	  "7zXZ\0",
	    6, UNPACK_XZ },
	{ "\xff\xfe", 2, UNPACK_UTF16LE },
	{ "\xfe\xff", 2, UNPACK_UTF16BE },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum unpack_form
unpack_recognise(struct kv_span start)
{
	bool big;

	if (start.len >= 4 && memcmp(start.p, "\xff\xfe\0\0", 4) == 0)
		return UNPACK_NONE;
	for (size_t i = 0; i < COUNT(forms); i++) {
		size_t n = forms[i].len;

		if (start.len >= n && memcmp(start.p, forms[i].bytes, n) == 0)
			return forms[i].form;
		if (start.len < n &&
		    (start.len == 0 ||
			memcmp(start.p, forms[i].bytes, start.len) == 0))
			return UNPACK_SHORT;
	}
	if (!utf16_is_start(start, &big))
		return UNPACK_NONE;
	return big ? UNPACK_UTF16BE : UNPACK_UTF16LE;
}

/* Removes these bytes from the start of data, or returns false. */
static bool
skip_bytes(struct kv_span *data, const char *bytes, size_t len)
{
	if (data->len < len || memcmp(data->p, bytes, len) != 0)
		return false;
	data->p += len;
	data->len -= len;
	return true;
}

static bool
is_pkcs12(struct kv_span start)
{
	uint8_t tag;
	size_t len;

	return der_get_header(&start, &tag, &len) == DER_WHOLE &&
	    tag == DER_SEQUENCE &&
	    skip_bytes(&start, PKCS12_VERSION, sizeof(PKCS12_VERSION) - 1) &&
	    der_get_header(&start, &tag, &len) == DER_WHOLE &&
	    tag == DER_SEQUENCE &&
	    skip_bytes(&start, OID_DATA, sizeof(OID_DATA) - 1);
}

const char *
unpack_foreign(struct kv_span start)
{
	if (is_pkcs12(start))
		return "PKCS #12 key store" LOOKS EXPORT;
	for (size_t i = 0; i < COUNT(foreign); i++) {
		const struct magic *m = &foreign[i];

		if (start.len >= m->at + m->len &&
		    memcmp(start.p + m->at, m->bytes, m->len) == 0)
			return m->name;
	}
	return NULL;
}

static bool
start_layer(struct unpack *u, struct unpack_layer *layer)
{
	if (layer->form == UNPACK_GZIP &&
	    inflateInit2(&layer->gzip, GZIP_WINDOW) != Z_OK)
		u->why = "out of memory";
	if (layer->form == UNPACK_XZ &&
	    lzma_stream_decoder(&layer->xz, UNPACK_XZ_BYTES,
		LZMA_CONCATENATED) != LZMA_OK)
		u->why = "out of memory";
	return u->why == NULL;
}

static size_t
count_packed(const struct unpack *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		n += u->layer[i]->form == UNPACK_GZIP ||
		    u->layer[i]->form == UNPACK_XZ;
	return n;
}

bool
unpack_add(struct unpack *u, enum unpack_form form, struct kv_span start)
{
	const bool packed = form == UNPACK_GZIP || form == UNPACK_XZ;
	struct unpack_layer *layer;

	u->why = NULL;
	if (u->n == UNPACK_LAYERS ||
	    (packed && count_packed(u) == UNPACK_PACKED_MAX)) {
		u->why = "packed more than twice: unpack it first";
		return false;
	}
	/* What was read at once is never more than one layer gave. */
	if ((layer = calloc(1, sizeof(*layer))) == NULL ||
	    start.len > sizeof(layer->in)) {
		u->why = "out of memory";
		free(layer);
		return false;
	}
	if (u->n == 0)
		u->read = start.len;
	layer->form = form;
	layer->utf16.big = form == UNPACK_UTF16BE;
	layer->len = start.len;
	if (start.len > 0)
		memcpy(layer->in, start.p, start.len);
	u->layer[u->n++] = layer;
	return start_layer(u, layer);
}

static ssize_t read_layer(struct unpack *u, size_t n, uint8_t *buf, size_t cap);

/*
 * Reads on below a layer until it has at least want bytes, or there are no
 * more. False with u->why, or errno.
 */
static bool
refill(struct unpack *u, size_t n, size_t want)
{
	struct unpack_layer *l = u->layer[n - 1];

	if (l->len - l->at >= want || l->below_ended)
		return true;
	memmove(l->in, l->in + l->at, l->len - l->at);
	l->len -= l->at;
	l->at = 0;
	while (l->len < want && !l->below_ended) {
		ssize_t got = read_layer(u, n - 1, l->in + l->len,
		    sizeof(l->in) - l->len);

		if (got == -1)
			return false;
		l->below_ended = got == 0;
		l->len += (size_t)got;
	}
	return true;
}

/* After a member of gzip: another, or zeros to the end (gzip(1)). */
static bool
next_member(struct unpack *u, size_t n)
{
	struct unpack_layer *l = u->layer[n - 1];

	for (;;) {
		if (!refill(u, n, 3))
			return false;
		if (l->at < l->len && l->in[l->at] == 0)
			l->at++;
		else
			break;
	}
	l->ended = l->at == l->len;
	if (l->ended)
		return true;
	if (unpack_recognise((struct kv_span){ l->in + l->at,
		l->len - l->at }) != UNPACK_GZIP ||
	    inflateReset(&l->gzip) != Z_OK) {
		u->why = "other data behind its gzip data";
		return false;
	}
	return true;
}

static ssize_t
read_gzip(struct unpack *u, size_t n, uint8_t *buf, size_t cap)
{
	struct unpack_layer *l = u->layer[n - 1];
	int r;

	l->gzip.next_out = buf;
	l->gzip.avail_out = (uInt)cap;
	while (!l->ended && l->gzip.avail_out == cap) {
		if (!refill(u, n, 1))
			return -1;
		l->gzip.next_in = l->in + l->at;
		l->gzip.avail_in = (uInt)(l->len - l->at);
		r = inflate(&l->gzip, Z_NO_FLUSH);
		l->at = l->len - l->gzip.avail_in;
		if (r == Z_STREAM_END) {
			if (next_member(u, n))
				continue;
			/* What came out is good: the error comes again. */
			if (l->gzip.avail_out == cap)
				return -1;
			break;
		}
		if (r == Z_BUF_ERROR && l->below_ended && l->at == l->len) {
			u->why = "its gzip data is cut short";
			return -1;
		}
		if (r != Z_OK && r != Z_BUF_ERROR) {
			u->why = r == Z_MEM_ERROR ? "out of memory" :
						    "its gzip data is damaged";
			return -1;
		}
	}
	return (ssize_t)(cap - l->gzip.avail_out);
}

static ssize_t
read_xz(struct unpack *u, size_t n, uint8_t *buf, size_t cap)
{
	struct unpack_layer *l = u->layer[n - 1];
	lzma_ret r;

	l->xz.next_out = buf;
	l->xz.avail_out = cap;
	while (!l->ended && l->xz.avail_out == cap) {
		if (!refill(u, n, 1))
			return -1;
		l->xz.next_in = l->in + l->at;
		l->xz.avail_in = l->len - l->at;
		r = lzma_code(&l->xz, l->below_ended ? LZMA_FINISH : LZMA_RUN);
		l->at = l->len - l->xz.avail_in;
		l->ended = r == LZMA_STREAM_END;
		if (r == LZMA_OK || r == LZMA_STREAM_END ||
		    (r == LZMA_BUF_ERROR && !l->below_ended))
			continue;
		u->why = r == LZMA_BUF_ERROR ? "its xz data is cut short" :
		    r == LZMA_MEMLIMIT_ERROR ? "needs more than 128 MiB of "
					       "memory to be unpacked" :
		    r == LZMA_MEM_ERROR	     ? "out of memory" :
					       "its xz data is damaged";
		return -1;
	}
	return (ssize_t)(cap - l->xz.avail_out);
}

static ssize_t
read_utf16(struct unpack *u, size_t n, uint8_t *buf, size_t cap)
{
	/*
	 * It may go on as 8-bit text. The caller reads a regular file again as
	 * it is, and finds the keys in that text then. Elsewhere, they would
	 * be read as other letters, and missed.
	 */
	const bool stop = n > 1 || !u->regular;
	struct unpack_layer *l = u->layer[n - 1];
	struct kv_span rest;
	size_t out;

	do {
		if (stop && utf16_is_ascii(&l->utf16)) {
			u->why = "begins as UTF-16, but goes on as 8-bit text: "
				 "remove its first two bytes";
			return -1;
		}
		/* Four bytes: a pair of surrogates. */
		if (!refill(u, n, 4))
			return -1;
		rest = (struct kv_span){ l->in + l->at, l->len - l->at };
		out = utf16_convert(&l->utf16, &rest, !l->below_ended, stop,
		    buf, cap);
		l->at = l->len - rest.len;
	} while (out == 0 && (rest.len >= 2 || !l->below_ended));
	return (ssize_t)out;
}

/* Layer n counts from 1; layer 0 is the file. */
static ssize_t
read_layer(struct unpack *u, size_t n, uint8_t *buf, size_t cap)
{
	struct unpack_layer *l;
	ssize_t got;

	if (n == 0) {
		got = read(u->fd, buf, cap);
		u->read += got > 0 ? (uint64_t)got : 0;
		return got;
	}
	l = u->layer[n - 1];
	if (l->form == UNPACK_GZIP)
		got = read_gzip(u, n, buf, cap);
	else if (l->form == UNPACK_XZ)
		got = read_xz(u, n, buf, cap);
	else
		return read_utf16(u, n, buf, cap);
	if (got > 0)
		l->total += (uint64_t)got;
	if (l->total > UNPACK_MAX_BYTES) {
		u->why = "unpacks to more than 1 GiB; the rest was not read: "
			 "unpack it first";
		return -1;
	}
	if (u->wary && l->total > UNPACK_WARY_BYTES &&
	    l->total / UNPACK_WARY_RATIO > u->read) {
		u->why = "unpacks to more than 32 times its size, which no "
			 "file of proofs and keys does: unpack it first";
		return -1;
	}
	return got;
}

ssize_t
unpack_read(struct unpack *u, uint8_t *buf, size_t cap)
{
	u->why = NULL;
	return read_layer(u, u->n, buf, cap);
}

enum unpack_form
unpack_form(const struct unpack *u)
{
	return u->n > 0 ? u->layer[0]->form : UNPACK_NONE;
}

void
unpack_free(struct unpack *u)
{
	while (u->n > 0) {
		struct unpack_layer *layer = u->layer[--u->n];

		inflateEnd(&layer->gzip);
		lzma_end(&layer->xz);
		free(layer);
	}
}
