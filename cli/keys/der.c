/* SPDX-License-Identifier: ISC */
/* Recognises the form of bare DER by its outermost elements. */
#include <string.h>

#include "keys/der_element.h"
#include "keys/pem_forms.h"

/*
 * A SEQUENCE that ends at the end of the data (but for line ends) or beyond it.
 * Its first element is an INTEGER, or a SEQUENCE that starts with an OID
 * (SPKI), or with [0] or an INTEGER (X.509, PKCS#10: only if the outer length
 * is 0x80 or more). So one of the first five bytes is a control character that
 * no text has, if lengths are in their shortest form.
 */
bool
pem_looks_like_der(struct kv_span data)
{
	size_t outer = 0, len;
	enum der_header header;
	uint8_t tag;

	if (data.len == 0 || data.p[0] != DER_SEQUENCE)
		return false;
	if ((header = der_get_header(&data, &tag, &outer)) != DER_WHOLE)
		return header == DER_SHORT;
	if (outer == 0 || outer > PEM_MAX_BYTES)
		return false;
	for (size_t i = outer; i < data.len; i++) {
		if (data.p[i] != '\r' && data.p[i] != '\n')
			return false;
	}
	if (data.len == 0 || data.p[0] == DER_INTEGER)
		return true;
	if (data.p[0] != DER_SEQUENCE)
		return false;
	if ((header = der_get_header(&data, &tag, &len)) != DER_WHOLE)
		return header == DER_SHORT;
	if (len == SIZE_MAX)
		return false;
	return data.len == 0 || data.p[0] == DER_OID ||
	    (outer >= 0x80 &&
		(data.p[0] == DER_CONTEXT_0 || data.p[0] == DER_INTEGER));
}

bool
pem_der_names_key(struct kv_span data)
{
	static const char *const oids[] = {
		"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", /* rsaEncryption */
		"\x2a\x86\x48\xce\x3d\x02\x01",		/* id-ecPublicKey */
		"\x2a\x86\x48\xce\x38\x04\x01",		/* id-dsa */
		"\x2b\x65",				/* Ed25519, X25519... */
		"\x2a\x86\x48\x86\xf7\x0d\x01\x05",	/* PKCS #5 */
		"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01", /* of PKCS #12 */
	};
	struct kv_span content, oid;
	size_t len;
	uint8_t tag;

	/* The end may be missing. */
	if (der_get_header(&data, &tag, &len) != DER_WHOLE ||
	    tag != DER_SEQUENCE || !der_get_element(&data, &tag, &content))
		return false;
	/* PKCS#8 has its version before. */
	if (tag == DER_INTEGER && !der_get_element(&data, &tag, &content))
		return false;
	if (tag != DER_SEQUENCE || !der_get_element(&content, &tag, &oid) ||
	    tag != DER_OID)
		return false;
	for (size_t i = 0; i < sizeof(oids) / sizeof(oids[0]); i++) {
		len = strlen(oids[i]);
		if (oid.len >= len && memcmp(oid.p, oids[i], len) == 0)
			return true;
	}
	return false;
}

/* Reads a SEQUENCE that starts with an INTEGER: private or PKCS#1. */
static bool
read_numbered(struct kv_span der, struct kv_span rest, const struct pem_out *o)
{
	struct kv_span content;
	size_t numbers = 1;
	uint8_t tag = 0;

	while (der_get_element(&rest, &tag, &content) && tag == DER_INTEGER)
		numbers++;
	if (numbers == 1 && tag == DER_SEQUENCE)
		return pem_read_form(PEM_PKCS8, der, o);
	if (numbers == 1 && tag == DER_OCTET_STRING)
		return pem_read_form(PEM_EC, der, o);
	if (numbers == 2)
		return pem_read_form(PEM_RSA_PUBLIC, der, o);
	if (numbers == 6)
		return pem_read_form(PEM_DSA, der, o);
	if (numbers >= 9)
		return pem_read_form(PEM_RSA, der, o);
	return pem_refuse(o,
	    "DER in none of the forms of a key that keyveto reads");
}

/*
 * Tells if info is the signed part of a request, not of a certificate. The one
 * has an INTEGER, then a name: a SEQUENCE that is empty or starts with a SET. A
 * other has [0]; in version 1, an INTEGER and then an algorithm: a
 * SEQUENCE that starts with an OID.
 */
static bool
is_request(struct kv_span info)
{
	struct kv_span content;
	uint8_t tag;

	return der_get_element(&info, &tag, &content) && tag == DER_INTEGER &&
	    der_get_element(&info, &tag, &content) && tag == DER_SEQUENCE &&
	    (content.len == 0 || content.p[0] == DER_SET);
}

static bool
read_whole_der(struct kv_span der, const struct pem_out *o)
{
	struct kv_span data = der, content, first, second;
	uint8_t tag, next;

	if (!der_get_element(&data, &tag, &content) ||
	    !der_get_element(&content, &tag, &first))
		return pem_refuse(o, "DER is cut short");
	if (tag == DER_INTEGER)
		return read_numbered(der, content, o);
	if (!der_get_element(&content, &next, &second))
		return pem_refuse(o, "DER is cut short");
	if (next == DER_BIT_STRING)
		return pem_read_form(PEM_SPKI, der, o);
	if (next == DER_OCTET_STRING)
		return pem_read_form(PEM_ENCRYPTED, der, o);
	return pem_read_form(is_request(first) ? PEM_REQUEST : PEM_CERTIFICATE,
	    der, o);
}

bool
pem_read_der(struct kv_span data, struct pem_key *key, char *why, size_t cap)
{
	const struct pem_out o = { .key = key, .why = why, .cap = cap };

	*key = (struct pem_key){ 0 };
	why[0] = '\0';
	if (read_whole_der(data, &o)) {
		why[0] = '\0';
		return true;
	}
	pem_key_free(key);
	return false;
}
