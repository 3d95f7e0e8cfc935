/* SPDX-License-Identifier: ISC */
/*
 * sshd/usable: whether the guard, the module, and keyveto.conf with its filters
 * are installed so that logins can use them.
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
bool sshd_usable_guard(const char *path);
/*
 * Whether the guard would execute a program that is named behind its "--": only
 * root may be able to write the program. If false, why says why; no message is
 * printed.
 */
bool sshd_usable_program(const char *program, char *why, size_t cap);
/*
 * Whether PAM can find the module, which is named as in a line of PAM's. False
 * after a message.
 */
bool sshd_usable_module(const char *module);
/*
 * Whether root's guard gets a verdict by the keyveto.conf at this path, as far as
 * its files can be opened. If not, why says why; no message is printed.
 */
bool sshd_usable_verdict(const char *config, char why[static SSHD_WHY_BYTES]);
/*
 * Whether a process of that user can read a keyveto.conf (NULL: the defaults
 * hold) and its filters; with lets_in, whether it goes by OnError allow there. user is a name, "" for root,
 * or "%u" for any account, which counts as nobody. False after a message.
 */
bool sshd_usable_filters(const char *config, const char *user,
    const struct accounts *accounts, bool lets_in);

struct sshd_text {
	const char *p;
	size_t len;
};

/*
 * Opens a keyveto.conf, as if it had that text (NULL: as it is), and its
 * filters. After true the caller closes j with judging_close. False after a
 * message.
 */
bool sshd_usable_open(const char *config, const struct sshd_text *text,
    struct judging *j);

#endif
