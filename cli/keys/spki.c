/* SPDX-License-Identifier: ISC */
#include "keys/spki.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "host/files.h"
#include "keys/der_element.h"
#include "keys/pem.h"
#include "kv_spki.h"

/* SEQUENCE { SEQUENCE { OBJECT IDENTIFIER ... } BIT STRING } and no more. */
static bool
is_spki(const uint8_t *p, size_t len)
{
	struct kv_bytes all = { p, len }, outer, algorithm, oid, key;

	return der_take(&all, DER_SEQUENCE, &outer) && all.left == 0 &&
	    der_take(&outer, DER_SEQUENCE, &algorithm) &&
	    der_take(&outer, DER_BIT_STRING, &key) && outer.left == 0 &&
	    der_take(&algorithm, DER_OID, &oid) && oid.left > 0 &&
	    key.left > 1 && key.p[0] < 8;
}

/*
 * Reads the next element into buf, which has PEM_MAX_BYTES. Returns NULL with
 * its length in *lenp (0: end of the input), or the reason why it cannot be
 * read.
 */
static const char *
next_element(FILE *in, uint8_t *buf, size_t *lenp)
{
	enum der_header header = DER_SHORT;
	struct kv_span rest;
	size_t have = 0, len = 0;
	uint8_t tag = 0;
	int c;

	*lenp = 0;
	/* Byte by byte: a short element must not be overrun. */
	while (header == DER_SHORT && have < DER_HEADER_BYTES &&
	    (c = getc(in)) != EOF) {
		buf[have++] = (uint8_t)c;
		rest = (struct kv_span){ buf, have };
		header = der_get_header(&rest, &tag, &len);
	}
	if (ferror(in))
		return strerror(errno);
	if (have == 0)
		return NULL;
	if (buf[0] == '-')
		return "not raw DER but PEM, perhaps, which is read without "
		       "--spki";
	if (header != DER_WHOLE || tag != DER_SEQUENCE ||
	    have != der_header_bytes(len))
		return "not a SubjectPublicKeyInfo in DER";
	if (len > PEM_MAX_BYTES - have)
		return "longer than any key";
	if (fread(buf + have, 1, len, in) != len)
		return ferror(in) ? strerror(errno) : "ends too early";
	*lenp = have + len;
	return is_spki(buf, *lenp) ? NULL : "not a SubjectPublicKeyInfo in DER";
}

void
spki_read(const char *path, const struct input_sink *sink)
{
	struct input_key key = { .path = path, .line = 1, .type = "SPKI" };
	const int fd = files_open(path, 0);
	FILE *in = fd != -1 ? fdopen(fd, "r") : NULL;
	uint8_t *buf = malloc(PEM_MAX_BYTES);
	struct input_problem problem = { .path = path };
	size_t len = 0;

	if (in == NULL || buf == NULL) {
		problem.reason = strerror(errno);
		goto out;
	}
	while (
	    (problem.reason = next_element(in, buf, &len)) == NULL && len > 0) {
		key.spki = (struct kv_span){ buf, len };
		sink->key(&key, sink->arg);
		if (sink->progress != NULL)
			sink->progress(len, sink->arg);
	}
out:
	/* The start of the next one cannot be found. */
	if (problem.reason != NULL)
		sink->problem(&problem, sink->arg);
	free(buf);
	if (in != NULL)
		fclose(in);
}

bool
spki_each(const struct input_key *key, bool compressed,
    bool (*f)(struct kv_span spki, void *arg), void *arg)
{
	uint8_t buf[KV_SPKI_MAX_BYTES];
	struct kv_span spki = { buf, 0 };

	if (key->key.type == KV_KEY_NONE)
		return f(key->spki, arg);
	for (size_t i = 0; i < kv_spki_count(&key->key); i++) {
		if (kv_spki_encode(&key->key, i, buf, sizeof(buf), &spki.len) !=
		    KV_OK)
			return cli_error("%s: internal error", key->path);
		if (!f(spki, arg))
			return false;
	}
	if (compressed &&
	    kv_spki_encode_compressed(&key->key, buf, sizeof(buf), &spki.len) ==
		KV_OK)
		return f(spki, arg);
	return true;
}
