/* SPDX-License-Identifier: ISC */
/* sets/list_date: the date in LIST.sources, beside the list (see kv_sources). */
#ifndef CLI_SETS_LIST_DATE_H
#define CLI_SETS_LIST_DATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sets *secondsp to the day of the line "# date YYYY-MM-DD" of the file behind
 * fd, in seconds since 1970. False if it has no such line.
 */
bool list_date_read(int fd, int64_t *secondsp);

#endif
