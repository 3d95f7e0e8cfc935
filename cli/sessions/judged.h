/* SPDX-License-Identifier: ISC */
/*
 * sessions/judged: which verdict the keys of sessions have. A log has their
 * fingerprints: the keys themselves are looked for in the accounts' files.
 */
#ifndef CLI_SESSIONS_JUDGED_H
#define CLI_SESSIONS_JUDGED_H

#include "reading/chosen.h"
#include "sessions/session.h"

/* Sets the verdicts of the keys that are found. False after a message. */
bool judged_find(struct sessions *s, const struct judging *judging);

#endif
