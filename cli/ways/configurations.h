/* SPDX-License-Identifier: ISC */
/* ways/configurations: which keyveto.conf a login may be judged by. */
#ifndef CLI_WAYS_CONFIGURATIONS_H
#define CLI_WAYS_CONFIGURATIONS_H

#include "base/texts.h"

/*
 * The default one, those that a guard in sshd's configuration names with
 * --config, in Match blocks, too, and those that a line of the module in PAM's
 * stacks names with config=. All zeroes: none.
 */
struct configurations {
	bool defaults;	    /* hold, since there is no default one */
	struct texts paths; /* each of another file */
	bool incomplete;    /* there may be others; the reason was printed */
};

/*
 * Finds them, and adds the one at also, unless that is NULL. False after a
 * message without memory. Always call texts_free for the paths.
 */
bool configurations_find(struct configurations *c, const char *also);

/* Whether a guard or a line of the module names the one at path, or may do so. */
bool configurations_name(const char *path);

#endif
