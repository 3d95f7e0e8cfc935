/* SPDX-License-Identifier: ISC */
/*
 * why/leaks: what the sources of badkeys' list and of the built-in list are, in
 * words.
 */
#ifndef CLI_WHY_LEAKS_H
#define CLI_WHY_LEAKS_H

/*
 * A clause that says how the private halves of a source became known; NULL for
 * a name that is not known here.
 */
const char *leak_of_source(const char *name);

/*
 * Two sentences, in lines, that say what the keys of a source of the built-in
 * list are and why they need no secret; NULL for another name.
 */
const char *leak_of_built_in(const char *name);

#endif
