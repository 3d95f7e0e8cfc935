/* SPDX-License-Identifier: ISC */
/*
 * reading/keys: input_read and input_read_fd, by keyveto-reader: this process
 * does not read the file. Of a key its canonical blob comes back, which the
 * functions of the login path take apart.
 */
#ifndef CLI_READING_KEYS_H
#define CLI_READING_KEYS_H

#include "base/record.h"
#include "keys/input.h"

/*
 * As input_read. Of the sink key, problem and file count, and plain and wary. If the reader cannot be started, or does not end as it should, that is
 * a problem of path.
 */
void reading_keys(const char *path, const struct input_sink *sink);

/* The same for an open descriptor, which stays the caller's. */
void reading_keys_fd(int fd, const char *path, const struct input_sink *sink);

/* The reader's side: sends a key. */
void reading_send_key(struct record_out *o, const struct input_key *key);

/* Adds what tells of a key to a record. */
void reading_add_key(struct record_out *o, const struct input_key *key);

/*
 * Gives sink->key what is in the payload of such a record. False if
 * reading_add_key writes no such payload.
 */
KV_MUST_CHECK bool reading_receive_key(struct kv_bytes payload,
    const struct input_sink *sink);

/* Adds the canonical blob of a plain key to a record; an empty one for none. */
void reading_add_blob(struct record_out *o, const struct kv_pubkey *key);

/* Takes such a blob apart. False if it is none of a plain key. */
KV_MUST_CHECK bool reading_parse_blob(struct kv_span blob,
    struct kv_pubkey *key);

#endif
