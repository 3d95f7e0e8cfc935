/* SPDX-License-Identifier: ISC */
/* base/json_text: JSON strings of untrusted bytes. */
#ifndef CLI_BASE_JSON_TEXT_H
#define CLI_BASE_JSON_TEXT_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

/*
 * A JSON string of untrusted bytes. If they are not UTF-8, or contain DEL, all
 * but printable ASCII becomes \xNN. NULL if out of memory.
 */
json_t *json_bytes(const void *text, size_t len);
/* As json_bytes, for a C string; JSON's null for NULL. */
json_t *json_text(const char *s);

/*
 * Prints object as a line on standard output, and frees it. NULL is reported as
 * out of memory. False after a message.
 */
bool json_print(json_t *object);

#endif
