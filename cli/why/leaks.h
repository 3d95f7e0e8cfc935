/* SPDX-License-Identifier: ISC */
/* why/leaks: what the sources of badkeys' list are, in words. */
#ifndef CLI_WHY_LEAKS_H
#define CLI_WHY_LEAKS_H

/*
 * A clause that says how the private halves of a source became known; NULL for
 * a name that is not known here.
 */
const char *leak_of_source(const char *name);

#endif
