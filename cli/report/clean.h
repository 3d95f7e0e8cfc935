/* SPDX-License-Identifier: ISC */
/*
 * report/clean: text from another host, made fit for a terminal, a spreadsheet
 * and a page.
 */
#ifndef CLI_REPORT_CLEAN_H
#define CLI_REPORT_CLEAN_H

#include <stddef.h>

/*
 * Sets out to the text as a C string of valid UTF-8. What is no UTF-8, controls,
 * line ends, and characters that are invisible or change the direction of text
 * become \xNN or \uNNNN. What does not fit in cap bytes is cut off, and "..."
 * stands for it; cap is at least 16.
 */
void clean_text(const void *text, size_t len, char *out, size_t cap);

#endif
