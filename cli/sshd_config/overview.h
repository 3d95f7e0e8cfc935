/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/overview: what can be seen in sshd's configuration files without
 * asking sshd about each account.
 */
#ifndef CLI_SSHD_CONFIG_OVERVIEW_H
#define CLI_SSHD_CONFIG_OVERVIEW_H

#include "sshd_config/match.h"
#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"

struct sshd_overview {
	struct sshd_tree tree;	 /* the lines that could be read */
	bool varies;		 /* accounts may have different settings */
	bool by_origin;		 /* clients from elsewhere may have, too */
	bool odd_pattern;	 /* sshd -T does not show such a file's name */
	char blocking[1024];	 /* "" or the line that names a file sshd would
				 * wait for, whenever it is asked */
	struct sshd_match match; /* by which accounts differ then */
};

/*
 * Looks for Match blocks that set what counts here. In doubt (a file cannot be
 * read, sshd's own file is not known) it says that the settings vary, and
 * that it is unknown by what. Ended by sshd_overview_free.
 */
void sshd_overview(const struct sshd *sshd, struct sshd_overview *o);

void sshd_overview_free(struct sshd_overview *o);

#endif
