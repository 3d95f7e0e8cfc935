/* SPDX-License-Identifier: ISC */
/* config/doubts: valid changes of keyveto.conf that may lock people out. */
#ifndef CLI_CONFIG_DOUBTS_H
#define CLI_CONFIG_DOUBTS_H

#include "config/findings.h"

/*
 * Compares what a login made of the text before with what it would make of the
 * text now. Prints a message for each doubt, and returns their number. What was
 * already so before is not a doubt.
 */
size_t config_doubts(const struct config_subject *before,
    const struct config_findings *was, const struct config_subject *now,
    const struct config_findings *is);

#endif
