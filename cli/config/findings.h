/* SPDX-License-Identifier: ISC */
/*
 * config/findings: what a login makes of a keyveto.conf. The guard's own
 * functions read it, by the guard's own rules.
 */
#ifndef CLI_CONFIG_FINDINGS_H
#define CLI_CONFIG_FINDINGS_H

#include "config/readers.h"
#include "kv_verdict.h"

/* What is looked at. */
struct config_subject {
	const char *name; /* that messages give to the file */
	const char *path; /* where logins find it; NULL: nowhere yet */
	const char *text; /* what is in it, or is to be in it */
	size_t len;
	const struct config_readers *readers; /* of the filters */
	bool draft;  /* readers will find it in another place */
	bool silent; /* no message */
};

struct config_findings {
	struct kv_config config; /* what holds, without mistakes */
	struct kv_judge judge;	 /* its filters */
	size_t mistakes;	 /* lines that are wrong */
	size_t unreadable;	 /* the file, or filters, by a user */
	size_t notices;		 /* it works, but deserves a look */
	enum kv_action on_error; /* of a login now */
};

/*
 * Looks at it, and says each mistake, each file that cannot be read, and what
 * deserves a look: "keyveto: NAME:LINE: reason". Ended by config_findings_free.
 * False after a message, without memory.
 */
bool config_findings_make(struct config_findings *f,
    const struct config_subject *s);
void config_findings_free(struct config_findings *f);

/* Whether no login by key has a verdict. */
bool config_findings_no_verdict(const struct config_findings *f);

/* Prints what a login does now. */
void config_findings_print(const struct config_findings *f, const char *name);

/*
 * Whether the line, without its end, is an AllowKey line without a mistake. Its
 * reason is cut off.
 */
bool config_line_allows(const char *line, size_t len,
    struct kv_allowed_key *key);

#endif
