/* SPDX-License-Identifier: ISC */
#include "keys/store.h"

#include <string.h>

#include "keys/der_element.h"

/* A PKCS #12 store without its first element: INTEGER 3, SEQUENCE, OID. */
#define PKCS12_VERSION "\x02\x01\x03"
/* 1.2.840.113549.1.7.1: the contents are not encrypted. */
#define OID_DATA "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
/* 1.2.840.113549.1.12.10.1, and one number more: the kind of a bag. */
#define OID_BAG "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01"
#define BAG_CERTIFICATE 3
#define BAG_CRL 4

/* Entries of a Java store: 1 is a private key, 3 a secret one. */
#define JAVA_CERTIFICATE 2
#define JAVA_DIGEST_BYTES 20

#define LEN(s) (sizeof(s) - 1)

/* Removes an element with this tag from data, or returns false. */
static bool
get_element(struct kv_span *data, uint8_t tag, struct kv_span *contentp)
{
	uint8_t found;

	return der_get_element(data, &found, contentp) && found == tag;
}

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
	    skip_bytes(&start, PKCS12_VERSION, LEN(PKCS12_VERSION)) &&
	    der_get_header(&start, &tag, &len) == DER_WHOLE &&
	    tag == DER_SEQUENCE && skip_bytes(&start, OID_DATA, LEN(OID_DATA));
}

static bool
is_java(struct kv_span start)
{
	return start.len >= 8 &&
	    (memcmp(start.p, "\xfe\xed\xfe\xed\0\0\0", 7) == 0 ||
		memcmp(start.p, "\xce\xce\xce\xce\0\0\0", 7) == 0) &&
	    (start.p[7] == 1 || start.p[7] == 2);
}

const char *
store_name(struct kv_span start)
{
	if (is_pkcs12(start))
		return "PKCS #12 key store";
	return is_java(start) ? "Java key store" : NULL;
}

/* What is in the [0] behind the type of a ContentInfo. */
static bool
get_data(struct kv_span info, struct kv_span *safep)
{
	struct kv_span content;

	return skip_bytes(&info, OID_DATA, LEN(OID_DATA)) &&
	    get_element(&info, DER_CONTEXT_0, &content) &&
	    get_element(&content, DER_OCTET_STRING, safep);
}

/* Tells if safe, the SafeContents, has bags of certificates only. */
static bool
has_no_key_bag(struct kv_span safe)
{
	struct kv_span bags, bag;

	if (!get_element(&safe, DER_SEQUENCE, &bags) || safe.len > 0)
		return false;
	while (bags.len > 0) {
		if (!get_element(&bags, DER_SEQUENCE, &bag) ||
		    !skip_bytes(&bag, OID_BAG, LEN(OID_BAG)) || bag.len == 0 ||
		    (bag.p[0] != BAG_CERTIFICATE && bag.p[0] != BAG_CRL))
			return false;
	}
	return true;
}

static bool
is_keyless_pkcs12(struct kv_span data)
{
	struct kv_span pfx, info, safe, infos;

	if (!get_element(&data, DER_SEQUENCE, &pfx) ||
	    !skip_bytes(&pfx, PKCS12_VERSION, LEN(PKCS12_VERSION)) ||
	    !get_element(&pfx, DER_SEQUENCE, &info) || !get_data(info, &safe) ||
	    !get_element(&safe, DER_SEQUENCE, &infos) || safe.len > 0)
		return false;
	while (infos.len > 0) {
		if (!get_element(&infos, DER_SEQUENCE, &info) ||
		    !get_data(info, &safe) || !has_no_key_bag(safe))
			return false;
	}
	return true;
}

/* Removes a number of n bytes from data. */
static bool
get_number(struct kv_span *data, size_t n, size_t *valuep)
{
	*valuep = 0;
	if (data->len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		*valuep = *valuep << 8 | data->p[i];
	data->p += n;
	data->len -= n;
	return true;
}

/* Removes bytes with their length, a number of n bytes, before them. */
static bool
skip_string(struct kv_span *data, size_t n)
{
	size_t len;

	if (!get_number(data, n, &len) || data->len < len)
		return false;
	data->p += len;
	data->len -= len;
	return true;
}

/* Each entry: its kind, name and time, then the certificate with its type. */
static bool
is_keyless_java(struct kv_span data)
{
	size_t version, count, kind, time;

	if (!get_number(&data, 4, &version) ||
	    !get_number(&data, 4, &version) || !get_number(&data, 4, &count))
		return false;
	for (; count > 0; count--) {
		if (!get_number(&data, 4, &kind) || kind != JAVA_CERTIFICATE ||
		    !skip_string(&data, 2) || !get_number(&data, 8, &time) ||
		    (version == 2 && !skip_string(&data, 2)) ||
		    !skip_string(&data, 4))
			return false;
	}
	return data.len == JAVA_DIGEST_BYTES;
}

bool
store_is_keyless(struct kv_span data)
{
	return is_java(data) ? is_keyless_java(data) : is_keyless_pkcs12(data);
}
