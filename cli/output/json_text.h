/* SPDX-License-Identifier: ISC */
/* output/json_text: JSON of bytes that may be anything. */
#ifndef CLI_OUTPUT_JSON_TEXT_H
#define CLI_OUTPUT_JSON_TEXT_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

/*
 * A JSON string of untrusted bytes: where they are no text, all that is not
 * printable ASCII becomes \xNN. NULL without memory.
 */
json_t *json_bytes(const void *text, size_t len);
/* The same of a C string. */
json_t *json_text(const char *s);

/*
 * Prints an object, which is freed, as a line on standard output. NULL is want
 * of memory. False after a message.
 */
bool json_print(json_t *object);

#endif
