/* SPDX-License-Identifier: ISC */
#include "kv_err.h"

const char *
kv_strerror(enum kv_err err)
{
	/* No default: the compiler reports a missing text. */
	switch (err) {
	case KV_OK:
		return "no error";
	case KV_ERR_INTERNAL:
		return "internal error";
	case KV_ERR_MEMORY:
		return "out of memory";
	case KV_ERR_SYSTEM:
		return "system error";
	case KV_ERR_NO_SPACE:
		return "too long";
	case KV_ERR_TRUNCATED:
		return "key data ends too early";
	case KV_ERR_TRAILING:
		return "data after the end of the key";
	case KV_ERR_BASE64:
		return "invalid base64";
	case KV_ERR_NAME:
		return "NUL byte inside a name";
	case KV_ERR_TYPE_UNKNOWN:
		return "unknown key type";
	case KV_ERR_TYPE_MISMATCH:
		return "key type differs from the type inside the key";
	case KV_ERR_INT_NEGATIVE:
		return "negative integer in key";
	case KV_ERR_INT_TOO_LARGE:
		return "integer of more than 16384 bits in key";
	case KV_ERR_RSA_ZERO:
		return "RSA modulus is zero";
	case KV_ERR_CURVE:
		return "curve name does not match the key type";
	case KV_ERR_POINT:
		return "elliptic curve point is not in uncompressed form";
	case KV_ERR_KEY_LENGTH:
		return "public key has the wrong length for its type";
	case KV_ERR_CERT_TYPE:
		return "certificate is neither a user nor a host certificate";
	case KV_ERR_CERT_PRINCIPALS:
		return "invalid list of principals in certificate";
	case KV_ERR_CERT_OPTIONS:
		return "invalid options in certificate";
	case KV_ERR_CERT_CA:
		return "certificate signed by another certificate";
	case KV_ERR_NO_POINT:
		return "not an elliptic curve key";
	case KV_ERR_LINE_NO_KEY:
		return "no key on this line";
	case KV_ERR_LINE_QUOTE:
		return "unterminated quote in the options";
	case KV_ERR_LINE_TOO_LONG:
		return "line too long";
	case KV_ERR_LINE_MARKER:
		return "unknown marker";
	case KV_ERR_LINE_SSH1:
		return "SSH protocol 1 key, which no current sshd accepts";
	case KV_ERR_FILTER_MARKER:
		return "not a pkbfv1 filter";
	case KV_ERR_FILTER_HASHES:
		return "filter header says 0 hash functions";
	case KV_ERR_FILTER_LENGTH:
		return "filter length exponent is not between 3 and 40";
	case KV_ERR_FILTER_SIZE:
		return "file size does not match the filter header";
	case KV_ERR_LIST_SIZE:
		return "no exact list: it is empty, or not whole records of 16 bytes";
	case KV_ERR_LIST_TOO_LARGE:
		return "an exact list of more than 4 GiB";
	case KV_ERR_LIST_ORDER:
		return "the records of the list are not in order";
	case KV_ERR_LIST_HOLE:
		return "the list has a hole: several records are all zeroes or "
		       "all ones; get it or build it again";
	case KV_ERR_NOT_REGULAR:
		return "not a regular file";
	case KV_ERR_INSECURE:
		return "bad ownership or modes";
	case KV_ERR_CONFIG:
		return "configuration error";
	}
	return "unknown error";
}
