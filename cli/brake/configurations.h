/* SPDX-License-Identifier: ISC */
/*
 * brake/configurations: each keyveto.conf by which a login of this machine may
 * be judged. That is the default one, those that a guard in sshd's
 * configuration names with --config, in Match blocks, too, and those that a
 * line of the module in PAM's stacks names with config=.
 */
#ifndef CLI_BRAKE_CONFIGURATIONS_H
#define CLI_BRAKE_CONFIGURATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* All zeroes: none. */
struct brake_configurations {
	/* Each another file. NULL: there is none, and the defaults hold. */
	char **path;
	size_t n;
	/*
	 * There may be others: something could not be read, or understood. The
	 * reason was printed.
	 */
	bool incomplete;
};

/*
 * Finds them, and adds the one at also, unless that is NULL. False after a
 * message without memory. Always call brake_configurations_free.
 */
bool brake_configurations_find(struct brake_configurations *c,
    const char *also);

void brake_configurations_free(struct brake_configurations *c);

#endif
