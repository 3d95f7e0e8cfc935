/* SPDX-License-Identifier: ISC */
/* sshd/reasons: what "keyveto enable" and "disable" ask before a change. */
#ifndef CLI_SSHD_REASONS_H
#define CLI_SSHD_REASONS_H

#include "sshd/tryout.h"

/* --- started.c ------------------------------------------------------------ */

/*
 * Whether each sshd of this machine either uses the files that enable is to
 * write, or reads none of them. dump is what "sshd -T" prints without keyveto's
 * lines, and settings the same, parsed. False after messages. A note names what
 * cannot be seen.
 */
bool sshd_started_allows(const struct sshd_files *files, const char *dump,
    const struct sshd_settings *settings);

/* --- sources.c ------------------------------------------------------------ */

enum sshd_sources {
	SSHD_SOURCES_UNKNOWN, /* sshd gave no answer; after a message */
	SSHD_SOURCES_OTHER,   /* after a message for each difference */
	SSHD_SOURCES_SAME,
};

/*
 * Compares now and next by what sshd says of each account, and each Match block
 * for itself: sshd says nothing of clients of other machines, and of accounts
 * that are in no list. Runs none of the commands, and reads none of the files
 * with keys. guarded: what the guard stands before now, it must stand before
 * afterwards, too.
 */
enum sshd_sources sshd_sources_compare(const struct sshd_options *o,
    struct sshd_copy *now, struct sshd_copy *next, bool guarded);

/* Whether a Match block of now has a line that it lacks in next. */
bool sshd_sources_leaves_match(const struct sshd_tree *now,
    const struct sshd_tree *next);

/*
 * Says, after before, how to keep what counts now: by deleting the marks in each
 * of sshd's files that has some. after ends the message.
 */
void sshd_sources_advise(const struct sshd_files *files, const char *before,
    const char *after);

/* --- same_keys.c ---------------------------------------------------------- */

/*
 * Compares sshd's settings without and with keyveto's lines, base and next;
 * asks sshd once for all accounts that Match blocks cannot tell apart. For each
 * account whose files the guard takes over, reads the files as sshd does, runs
 * the guard, and compares the bytes. For each account with an
 * AuthorizedKeysCommand, does so with the command's output. False after a
 * message that names the account.
 *
 * With --yes leaves out, after a message, an account that keeps its files from
 * being read, as by a file system of its own that gives no answer: such an
 * account cannot keep enable from the others. Not root or an administrator.
 */
bool sshd_same_keys(const struct sshd_options *o, const struct sshd_tryout *t,
    struct sshd_copy *base, struct sshd_copy *next,
    const struct accounts *accounts);

/* --- foreign_lines.c ------------------------------------------------------ */

/*
 * Both functions look for foreign lines in the files, in sshd's tree as it is,
 * and in PAM's services; service is the one that sshd uses.
 *
 * Whether disable can remove keyveto's lines. False, after a message, if a
 * foreign guard or module needs the lines in keyveto.conf: without them it
 * would refuse keys that are only logged now, or print other keys. A message
 * names each foreign line; if disable can go on, it is a note.
 */
bool sshd_foreign_lines_allow(const struct sshd_files *files,
    const struct sshd_tree *now, const char *service);

/*
 * Whether enable can write the planned keyveto.conf of --warn. False, after a
 * message for each such line, if a foreign guard or module goes by that file
 * and would let in what it refuses now. A file that lets it in already, as
 * after an earlier --warn, is no reason for false.
 */
bool sshd_foreign_lines_allow_warn(const struct sshd_files *files,
    const struct sshd_tree *now, const char *service);

#endif
