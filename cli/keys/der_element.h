/* SPDX-License-Identifier: ISC */
/* keys/der_element: elements of DER (X.690 sections 8.1 and 10). */
#ifndef CLI_KEYS_DER_ELEMENT_H
#define CLI_KEYS_DER_ELEMENT_H

#include "kv_bytes.h"

#define DER_INTEGER 0x02
#define DER_BIT_STRING 0x03
#define DER_OCTET_STRING 0x04
#define DER_OID 0x06
#define DER_SEQUENCE 0x30
#define DER_SET 0x31
#define DER_CONTEXT_0 0xa0

/* The longest header of an element of up to 1 MiB, as PEM_MAX_BYTES. */
#define DER_HEADER_BYTES 5

enum der_header { DER_BAD, DER_SHORT, DER_WHOLE };

/*
 * Removes the tag and the length of an element from data. The length may be in
 * a longer form than it must. SIZE_MAX is the indefinite length of BER.
 */
enum der_header der_get_header(struct kv_span *data, uint8_t *tagp,
    size_t *lenp);

/* How many bytes the header of an element with so much in it has in DER. */
size_t der_header_bytes(size_t len);

/* Removes an element from data. False if it is not whole. */
bool der_get_element(struct kv_span *data, uint8_t *tagp,
    struct kv_span *contentp);

/*
 * Moves b past an element with this tag in its only form, and sets *contentp to
 * what is in it. False if there is none, or not all of it.
 */
bool der_take(struct kv_bytes *b, uint8_t tag, struct kv_bytes *contentp);

#endif
