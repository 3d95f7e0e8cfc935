/* SPDX-License-Identifier: ISC */
/* confirm/output: prints what is known of a key, as text or as JSON. */
#ifndef CLI_CONFIRM_OUTPUT_H
#define CLI_CONFIRM_OUTPUT_H

#include "confirm/keep.h"

/* An AllowKey line to copy holds for so long. */
#define OUTPUT_ALLOW_DAYS 90

struct output {
	bool json, quiet;
	const char *asked; /* the URL, for people */
	const struct keep *keep;
	int64_t now;
};

/*
 * Prints a line, or a JSON object, for each place of the key:
 *   PATH:LINE: confirmed: TYPE BITS SHA256:... COMMENT (proof: PATH)
 *   PATH:LINE: not confirmed: TYPE BITS SHA256:... COMMENT
 *   PATH:LINE: no answer: TYPE BITS SHA256:... COMMENT (REASON)
 * and of a key that is not confirmed the AllowKey line. False after a message.
 */
bool output_hit(const struct output *o, const struct hit *hit);

#endif
