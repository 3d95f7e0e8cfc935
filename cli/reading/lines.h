/* SPDX-License-Identifier: ISC */
/*
 * reading/lines: what keyveto-reader says of a line of authorized_keys. Keys
 * are canonical blobs, which the functions of the login path take apart.
 */
#ifndef CLI_READING_LINES_H
#define CLI_READING_LINES_H

#include "kv_line.h"
#include "reading/finding.h"

#define READING_TYPE_BYTES 1024

/* A line that was received. Spans and keys last as long as the record. */
struct reading_line {
	uint64_t number;
	/* READING_LINE_KEY */
	struct kv_span blob;	  /* of key */
	struct kv_pubkey key, ca; /* ca: KV_KEY_NONE unless a certificate */
	struct kv_span comment;
	/* What is said of key and ca, if they were judged: the verdict alone. */
	struct finding key_found, ca_found;
	bool is_ca; /* the options have cert-authority */
	char
	    type[READING_TYPE_BYTES]; /* READING_LINE_UNKNOWN; may be cut off */
	/* READING_LINE_PROBLEM: number is 0 if it is about the whole file */
	const char *reason;
};

/*
 * Sets *line to what is in the payload of a record with this tag. judge is that
 * by whose files its keys were judged; NULL: they were not. False if
 * keyveto-reader sends no such record.
 */
KV_MUST_CHECK bool reading_receive_line(uint8_t tag, struct kv_bytes payload,
    const struct kv_judge *judge, struct reading_line *line);

#endif
