/* SPDX-License-Identifier: ISC */
/*
 * sshd/usable: whether the guard, the module, and keyveto.conf with its filters
 * are installed so that logins can use them. Paths are below o->root.
 */
#ifndef CLI_SSHD_USABLE_H
#define CLI_SSHD_USABLE_H

#include "reading/judging.h"
#include "sshd/sshd.h"

/*
 * Whether sshd would run the guard at path (runnable_path); RUNNABLE_DOUBTFUL
 * is false, and so is a path that kv_trusted_check refuses. False after a
 * message.
 */
bool sshd_usable_guard(const struct sshd_options *o, const char *path);
/*
 * Whether the guard would execute a program that is named behind its "--": only
 * root may be able to write the program. If false, why says why; no message is
 * printed.
 */
bool sshd_usable_program(const struct sshd_options *o, const char *program,
    char *why, size_t cap);
/*
 * Whether PAM can find the module, which is named as in a line of PAM's. False
 * after a message.
 */
bool sshd_usable_module(const struct sshd_options *o, const char *module);
/*
 * Whether a process of that user can read a keyveto.conf and its filters. user
 * is a name, "" for root, or "%u" for any account, which counts as nobody.
 * False after a message.
 */
bool sshd_usable_filters(const struct sshd_options *o, const char *config,
    const char *user, const struct accounts *accounts);

struct sshd_text {
	const char *p;
	size_t len;
};

/*
 * Opens a keyveto.conf below o->root, as if it had that text (NULL: as it is),
 * and its filters. After true the caller closes j with judging_close. False
 * after a message.
 */
bool sshd_usable_open(const struct sshd_options *o, const char *config,
    const struct sshd_text *text, struct judging *j);

#endif
