/* SPDX-License-Identifier: ISC */
/* audit/audit: the keys that this machine accepts or has. */
#ifndef CLI_AUDIT_AUDIT_H
#define CLI_AUDIT_AUDIT_H

#include "keys/input.h"

/*
 * Gives every key that keyveto audit judges: those of all accounts, the host
 * keys, and the CAs. For root. What cannot be read is counted in *problemsp.
 * judge says which configuration counts. False after a message.
 */
bool audit_each_key(const struct kv_judge *judge,
    void (*key)(const struct input_key *key, void *arg), void *arg,
    uint64_t *problemsp);

#endif
