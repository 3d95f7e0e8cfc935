/* SPDX-License-Identifier: ISC */
/* kv_err: the error codes of the keyveto library and their texts. */
#ifndef KV_ERR_H
#define KV_ERR_H

#define KV_MUST_CHECK __attribute__((warn_unused_result))

/* What a library function that can fail returns. Only 0 is success. */
enum kv_err {
	KV_OK = 0,
	KV_ERR_INTERNAL,
	KV_ERR_MEMORY,
	KV_ERR_SYSTEM,	 /* errno says which */
	KV_ERR_NO_SPACE, /* the caller's buffer is too small */

	KV_ERR_TRUNCATED,
	KV_ERR_TRAILING,
	KV_ERR_BASE64,
	KV_ERR_NAME,

	KV_ERR_TYPE_UNKNOWN,
	KV_ERR_TYPE_MISMATCH,
	KV_ERR_INT_NEGATIVE,
	KV_ERR_INT_TOO_LARGE,
	KV_ERR_RSA_ZERO,
	KV_ERR_CURVE,
	KV_ERR_POINT,
	KV_ERR_KEY_LENGTH,
	KV_ERR_CERT_TYPE,
	KV_ERR_CERT_PRINCIPALS,
	KV_ERR_CERT_OPTIONS,
	KV_ERR_CERT_CA,
	KV_ERR_NO_POINT, /* the key has no elliptic curve point */

	KV_ERR_LINE_NO_KEY,
	KV_ERR_LINE_QUOTE,
	KV_ERR_LINE_TOO_LONG,
	KV_ERR_LINE_MARKER,
	KV_ERR_LINE_SSH1,

	KV_ERR_FILTER_MARKER,
	KV_ERR_FILTER_HASHES,
	KV_ERR_FILTER_LENGTH,
	KV_ERR_FILTER_SIZE,

	KV_ERR_LIST_SIZE,
	KV_ERR_LIST_TOO_LARGE,
	KV_ERR_LIST_ORDER,
	KV_ERR_LIST_HOLE,

	KV_ERR_NOT_REGULAR,
	KV_ERR_INSECURE,
	KV_ERR_CONFIG,
};

/*
 * Returns the text of an error: a static string in lower case, without a full
 * stop. For KV_ERR_SYSTEM it is "system error": add strerror(errno) to it.
 */
const char *kv_strerror(enum kv_err err);

#endif
