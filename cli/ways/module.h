/* SPDX-License-Identifier: ISC */
/* ways/module: whether PAM asks pam_keyveto.so about every key. */
#ifndef CLI_WAYS_MODULE_H
#define CLI_WAYS_MODULE_H

#include "ways/pam_stack.h"

#define WAYS_MODULE "pam_keyveto.so"

/* Where libpam looks for modules. The Makefile sets KV_PAMDIR. */
#ifdef KV_PAMDIR
#define WAYS_MODULE_DIR KV_PAMDIR
#else
#define WAYS_MODULE_DIR "/usr/lib/security"
#endif

/*
 * Returns the module's first session line, or NULL. *judgesp tells whether the
 * module judges every key. The line must be the first session line of all, so
 * that no other line hides the key; and requisite and in no substack, so that a
 * refusal ends the stack. Nothing else counts as guarded.
 */
const struct pam_line *ways_find_module(const struct pam_stack *s,
    bool *judgesp);

#endif
