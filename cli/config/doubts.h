/* SPDX-License-Identifier: ISC */
/*
 * config/doubts: a change of keyveto.conf that has no mistake, and may lock
 * people out all the same.
 */
#ifndef CLI_CONFIG_DOUBTS_H
#define CLI_CONFIG_DOUBTS_H

#include "config/findings.h"

/*
 * Compares what a login made of the text before with what it would make of the
 * one now, and says each doubt. Returns how many there are. A state of things
 * that was there before is no doubt.
 */
size_t config_doubts(const struct config_subject *before,
    const struct config_findings *was, const struct config_subject *now,
    const struct config_findings *is);

#endif
