/* SPDX-License-Identifier: ISC */
/*
 * report/owners: whose a key is, by the lines of --owners: KIND PATTERN PERSON
 * [TEAM]. KIND is key (a fingerprint), comment or account (also ACCOUNT@HOST);
 * * and ? are wildcards in the last two. The first line that matches counts.
 */
#ifndef CLI_REPORT_OWNERS_H
#define CLI_REPORT_OWNERS_H

#include "report/fleet.h"

/*
 * Has queries know owner_id(fp, comment, account, host), the id of a row of the
 * table owner, or NULL. Returns what SQLite says. f stays where it is.
 */
int fleet_owners_register(struct fleet *f);
void fleet_owners_free(struct fleet *f);

/* Reads a line, which it changes. False with a reason in *whyp. */
bool fleet_owners_add(struct fleet *f, char *line, const char **whyp);

#endif
