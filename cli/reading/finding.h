/* SPDX-License-Identifier: ISC */
/*
 * reading/finding: a key that is reported, with all that is printed of it; and
 * a problem, or a note, about a file or a line. Each is printed as text or as
 * JSON, or travels as a record from the process that found it to the one that
 * prints.
 */
#ifndef CLI_READING_FINDING_H
#define CLI_READING_FINDING_H

#include <stdio.h>

#include "keys/input.h"
#include "kv_verdict.h"
#include "base/record.h"

/* All spans are untrusted bytes of somebody else. */
struct finding {
	struct kv_span path;
	uint64_t line;
	enum kv_verdict verdict;
	enum kv_action action;
	enum kv_part part;
	struct kv_span type;
	unsigned int bits;
	char fingerprint[KV_FINGERPRINT_BYTES]; /* "" if there is none */
	/* Of the SPKI that is looked up for it. Only for JSON. */
	uint8_t spki_sha256[KV_SHA256_BYTES];
	struct kv_span comment;
	uint64_t filters; /* bit i: the judge's filter i lists it */
	uint64_t lists;	  /* the same of its exact lists */
	bool denied;	  /* it is in kv_denied; then source is there */
	bool built_in;	  /* it is in kv_built_in; then source is there */
	char source[KV_SOURCE_NAME_BYTES]; /* in the first list */
	/* In each list whose bit is set. */
	uint8_t source_id[KV_CONFIG_MAX_BLOCKLISTS];
	char sources[KV_CONFIG_MAX_BLOCKLISTS][KV_SOURCE_NAME_BYTES];
	struct kv_span reason;
};

/* Sets name to that of a source in a list of a judge. */
typedef void (*finding_name_fn)(const struct kv_judge *judge, size_t list,
    uint8_t id, char name[static KV_SOURCE_NAME_BYTES]);

/* Of a judge whose files this process has: out of LIST.sources. */
void finding_name_source(const struct kv_judge *judge, size_t list, uint8_t id,
    char name[static KV_SOURCE_NAME_BYTES]);

/* Sets what a decision of a judge says; reason points into d. */
void finding_set_verdict(struct finding *f, const struct kv_judge *judge,
    finding_name_fn name, const struct kv_decision *d);

/*
 * Describes a key by the decision of a judge. json tells that JSON is printed.
 * The spans point into key and d.
 */
void finding_describe(struct finding *f, const struct kv_judge *judge,
    finding_name_fn name, const struct input_key *key,
    const struct kv_decision *d, bool json);

/* Sets text to the key's fingerprint; "" for a type that SSH does not have. */
void finding_format_fingerprint(const struct kv_pubkey *key,
    char text[static KV_FINGERPRINT_BYTES]);

/* The list of the key that is no file, or NULL. */
const struct kv_list *finding_list(const struct finding *f);

/* Prints the finding as report.h says, with the paths of the judge's files. */
void finding_print_text(FILE *out, const struct kv_judge *judge,
    const struct finding *f);
/* account is the owner of the file, or NULL. */
void finding_print_json(FILE *out, const struct kv_judge *judge,
    const char *account, const struct finding *f);

/* As report_problem prints it: a line on err, and with json one on out. */
void finding_print_problem(FILE *out, FILE *err, bool json, const char *account,
    const struct input_problem *problem);

/* Prints "keyveto: PATH:LINE: REASON". */
void finding_print_note(FILE *err, const struct input_problem *note);

/* The tag is the caller's. */
void finding_send(struct record_out *o, uint8_t tag, const struct finding *f);
void finding_send_problem(struct record_out *o, uint8_t tag,
    const struct input_problem *problem);

/*
 * Reads the payload of a record. The spans point into it. False if anything in
 * it is not as finding_send writes it, or not of a judge with so many filters
 * and lists.
 */
KV_MUST_CHECK bool finding_receive(struct kv_bytes payload, size_t n_filters,
    size_t n_lists, struct finding *f);

/* The verdict alone, within a record; source_id, too. */
void finding_add_verdict(struct record_out *o, const struct finding *f);
KV_MUST_CHECK bool finding_get_verdict(struct kv_bytes *payload,
    size_t n_filters, size_t n_lists, struct finding *f);

/*
 * The same of a problem. Its strings are copies in text, of cap bytes, and cut
 * if they are longer; a NUL ends them.
 */
KV_MUST_CHECK bool finding_receive_problem(struct kv_bytes payload, char *text,
    size_t cap, struct input_problem *problem);

#endif
