/* SPDX-License-Identifier: ISC */
/*
 * update/source: where another filter comes from, who is to have signed it, and
 * what the settings allow it to be.
 */
#ifndef CLI_UPDATE_SOURCE_H
#define CLI_UPDATE_SOURCE_H

#include "update/fetch.h"
#include "update/notes.h"
#include "update/options.h"
#include "update/settings.h"

struct update_source {
	struct update_settings settings;
	struct kv_config config;
	struct fetch_place from, signature;
	struct fetch_limits limits;
	char name[UPDATE_DIGEST_CHARS]; /* in the notes */
	int signers;			/* -1: no signature is asked for */
	char signers_name[UPDATE_DIGEST_CHARS]; /* in the notes; "" then */
};

/*
 * Reads the settings, and finds out what they and the options ask for. *pathp
 * is the filter that is to be replaced; it lasts as long as s and o do. False
 * after a message. Call update_source_close in both cases.
 */
bool update_source_open(struct update_source *s, const struct update_options *o,
    bool (*stopped)(void), const char **pathp);
void update_source_close(struct update_source *s);

#endif
