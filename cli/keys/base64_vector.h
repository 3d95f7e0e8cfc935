/* SPDX-License-Identifier: ISC */
/*
 * keys/base64_vector: kv_base64_decode_groups with AVX2, if the processor has
 * it (checked at run time). Without it, keyveto check takes 1.4 times as long
 * for a million lines (bench/README.md).
 */
#ifndef CLI_KEYS_BASE64_VECTOR_H
#define CLI_KEYS_BASE64_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes beyond cap must be writable in out. */
#define BASE64_VECTOR_SLACK 32

/* As kv_base64_decode_groups; out has cap + BASE64_VECTOR_SLACK bytes. */
size_t base64_vector_groups(const uint8_t *text, size_t len, uint8_t *out,
    size_t cap);

#endif
