/* SPDX-License-Identifier: ISC */
/*
 * sshd/setup: sshd's, PAM's and keyveto's files as "keyveto sshd enable" and
 * "disable" find them.
 */
#ifndef CLI_SSHD_SETUP_H
#define CLI_SSHD_SETUP_H

#include "sshd/sshd.h"
#include "sshd/state.h"

struct sshd_setup {
	const struct sshd_options *o;
	struct sshd_state state;
	struct sshd_files files; /* sshd's, keyveto.conf, the state's, PAM's */
	bool lacks_top;		 /* there is no SSHD_TREE_TOP */
	struct sshd_copy now;
	struct sshd_copy base; /* without keyveto's lines */
	/* "sshd -T" about base, as text and parsed. NULL: no answer. */
	char *dump;
	struct sshd_settings *settings;
	char service[SSHD_VALUE_BYTES]; /* PAM's service for sshd */
	struct sshd_file *pam;		/* the file of that service */
};

/*
 * Reads cmd's options, locks the state against another keyveto sshd, reads the
 * files, and calls change. Returns the exit status of the process. Without
 * SSHD_TREE_TOP it fails if needs_top is true. Otherwise it sets p->lacks_top,
 * and the copies have an SSHD_TREE_TOP that includes SSHD_TREE_DROP_INS, as the
 * next one that a package installs.
 */
int sshd_setup_change(const struct cli_command *cmd, int argc, char **argv,
    bool needs_top, int (*change)(struct sshd_setup *p));

/*
 * Makes p->base and all that follows it. False after a message. If sshd gave no
 * answer: true, p->dump is NULL, p->service is "sshd", and why says so.
 */
bool sshd_setup_ask(struct sshd_setup *p, char *why, size_t cap);

/*
 * False, after a message, if sshd takes keys from a file or a command now, but
 * would take none without keyveto's lines: then "AuthorizedKeysFile none"
 * stands outside keyveto's marks. If sshd gives no answer, the lines outside
 * Match blocks decide. Call sshd_setup_ask first.
 */
bool sshd_setup_keeps_keys(struct sshd_setup *p);

/* Whether keyveto's lines are in one of these files. */
bool sshd_setup_has_lines(const struct sshd_setup *p,
    enum sshd_file_owner whose);

#endif
