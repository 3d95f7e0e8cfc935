/* SPDX-License-Identifier: ISC */
/* sshd/base: what sshd does without keyveto's lines. */
#ifndef CLI_SSHD_BASE_H
#define CLI_SSHD_BASE_H

#include "sshd/sshd.h"

/* A struct of zeroes is empty. */
struct sshd_base {
	struct sshd_copy copy; /* the configuration without keyveto's lines */
	/* "sshd -T" about the copy, as text and parsed. NULL: no answer. */
	char *dump;
	struct sshd_settings *settings;
	struct sshd_file *pam; /* the file of PAM's service for sshd */
};

/*
 * Sets b, which is empty: copies the base of the files, asks sshd about it, and
 * adds the file of PAM's service to files. False after a message. If sshd gave
 * no answer, it fails if needs_answer is true; otherwise b->dump and
 * b->settings are NULL, and b->copy.top is if a part of the configuration
 * cannot be read. Always call sshd_base_close, even after a failure.
 */
bool sshd_base_read(struct sshd_base *b, const struct sshd_options *o,
    struct sshd_files *files, bool needs_answer);
void sshd_base_close(struct sshd_base *b);

/*
 * False, after a message, if sshd takes keys from a file or a command now, but
 * would take none without keyveto's lines: then "AuthorizedKeysFile none"
 * stands outside keyveto's marks. now is the configuration with them. If sshd
 * gives no answer, the lines outside Match blocks decide.
 */
bool sshd_base_keeps_keys(const struct sshd_base *b,
    const struct sshd_options *o, struct sshd_copy *now);

#endif
