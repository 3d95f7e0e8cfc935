/* SPDX-License-Identifier: ISC */
/*
 * report/page/page: the HTML page of keyveto report, without its data. `embed`
 * makes it of page.html, page.css and page.js when keyveto is built.
 */
#ifndef CLI_REPORT_PAGE_PAGE_H
#define CLI_REPORT_PAGE_PAGE_H

#include <stddef.h>

/*
 * The page is these pieces, in this order. After each piece comes what its slot
 * names. The slot of the last piece is NULL: nothing comes after it.
 *
 *   data      JSON, in which every <, >, &, U+2028 and U+2029 is \uXXXX
 *   made      when the report was made, as 2026-11-23 13:20 UTC
 *   version   of keyveto
 *
 * All other slots are decimal numbers. A browser shows them at once, and even
 * if it runs no JavaScript:
 *
 *   hosts           hosts, also those that did not answer
 *   locked          accounts whose last key is listed
 *   listed_keys     keys that are listed
 *   listed_places   lines (or parts of files) with such a key
 *   listed_hosts    hosts with such a key
 *   silent          hosts that did not answer
 *   cut             hosts that answered, but whose audit was cut off
 *   old             hosts whose list is old
 *   unwell          hosts whose doctor says "problem"
 *
 * A slot may come more than once.
 */
struct page_piece {
	const unsigned char *bytes;
	size_t len;
	const char *slot;
};

extern const struct page_piece page_pieces[];

#endif
