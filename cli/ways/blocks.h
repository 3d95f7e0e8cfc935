/* SPDX-License-Identifier: ISC */
/*
 * ways/blocks: Match blocks that set again what the guard goes by, so
 * that sshd does not ask it about some keys.
 */
#ifndef CLI_WAYS_BLOCKS_H
#define CLI_WAYS_BLOCKS_H

#include "sshd_config/tree.h"

/* Whether TrustedUserCAKeys is set anywhere, in a Match block too. */
bool sshd_escape_trusts_user_ca(const struct sshd_tree *t);

/* Whether a line, where it holds, opens a way in that bypasses the guard. */
bool sshd_escape_opens(const struct sshd_tree *t, const struct sshd_line *l);

/*
 * Whether the line's Match block, or one that includes its file, asks for more
 * than who logs in.
 */
bool sshd_escape_by_origin(const struct sshd_tree *t,
    const struct sshd_line *l);

#endif
