/* SPDX-License-Identifier: ISC */
/* keys/spki: the SPKIs of a key, and an input of nothing but SPKIs. */
#ifndef CLI_KEYS_SPKI_H
#define CLI_KEYS_SPKI_H

#include "keys/input.h"

/*
 * As input_read, for raw SPKIs: one or more in DER, end to end, in a file or on
 * standard input ("-"). Each becomes a key with nothing but an SPKI.
 */
void spki_read(const char *path, const struct input_sink *sink);

/*
 * Calls f for each SPKI of a key, until f returns false. With compressed, also
 * for the one with the compressed point, if the key has one. False if f
 * returned false, or after a message.
 */
bool spki_each(const struct input_key *key, bool compressed,
    bool (*f)(struct kv_span spki, void *arg), void *arg);

#endif
