/* SPDX-License-Identifier: ISC */
/*
 * sshd/sources: whether sshd takes the keys of each account from the same
 * places after a change as now. Keyveto's own lines name these places in
 * another way, as files behind the guard. Who has taken some of its marks out
 * has made some of its lines his own, and without the others sshd could take
 * keys from more places, or from fewer.
 */
#ifndef CLI_SSHD_SOURCES_H
#define CLI_SSHD_SOURCES_H

#include "sshd/files.h"
#include "sshd/sshd.h"

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

#endif
