/* SPDX-License-Identifier: ISC */
/*
 * sshd/foreign_lines: lines for the guard or the module that somebody else
 * wrote into sshd's or PAM's files. "keyveto sshd disable" leaves them there,
 * and "keyveto sshd enable --warn" must not change what they refuse.
 */
#ifndef CLI_SSHD_FOREIGN_LINES_H
#define CLI_SSHD_FOREIGN_LINES_H

#include "sshd/sshd.h"

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
