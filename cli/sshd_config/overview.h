/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/overview: what sshd's configuration files show without asking
 * sshd about each account.
 */
#ifndef CLI_SSHD_CONFIG_OVERVIEW_H
#define CLI_SSHD_CONFIG_OVERVIEW_H

#include "sshd_config/match.h"
#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"

struct sshd_overview {
	struct sshd_tree tree;	 /* the lines that could be read */
	bool varies;		 /* a Match block sets where keys come from */
	bool keys_by_origin;	 /* such a block is about the client, or another
				  * thing than the account */
	char unread[512];	 /* why a file could not be read, or "" */
	bool odd_pattern;	 /* AuthorizedKeysFile has a name that sshd -T
				  * does not show as one word */
	char blocking[1024];	 /* a sentence about a host key that sshd would
				  * wait for, whenever it is asked; or "" */
	struct sshd_match match; /* what the Match lines ask for */
};

/*
 * Reads sshd's configuration files. If a file cannot be read, or sshd's own
 * file is not known, varies and match.unknown are true. Call sshd_overview_free
 * in the end.
 */
void sshd_overview(const struct sshd *sshd, struct sshd_overview *o);

void sshd_overview_free(struct sshd_overview *o);

#endif
