/* SPDX-License-Identifier: ISC */
/* json_text: JSON strings of bytes that may be anything. */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <jansson.h>

#include <stddef.h>

/*
 * A JSON string of untrusted bytes: where they are no text, all that is not
 * printable ASCII becomes \xNN. NULL without memory.
 */
json_t *json_bytes(const void *text, size_t len);
/* The same of a C string. */
json_t *json_text(const char *s);

#endif
