/* SPDX-License-Identifier: ISC */
/* keys/der_element: elements of DER in their only form (X.690 section 10). */
#ifndef CLI_KEYS_DER_ELEMENT_H
#define CLI_KEYS_DER_ELEMENT_H

#include "kv_bytes.h"

#define DER_BIT_STRING 0x03
#define DER_OID 0x06
#define DER_SEQUENCE 0x30

/* The longest header of an element of up to 1 MiB, as PEM_MAX_BYTES. */
#define DER_HEADER_BYTES 5

/*
 * Parses a DER header, of which have bytes are there: tag, then the length in
 * one byte, or 0x80 + n and n bytes (X.690 8.1.3), in its shortest form (10.1).
 * False if it is anything else.
 */
bool der_length(const uint8_t *p, size_t have, size_t *header_lenp,
    size_t *lenp);

/*
 * Moves b past an element with this tag, and sets *contentp to what is in it.
 * False if there is none, or not all of it.
 */
bool der_take(struct kv_bytes *b, uint8_t tag, struct kv_bytes *contentp);

#endif
