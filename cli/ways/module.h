/* SPDX-License-Identifier: ISC */
/* ways/module: whether PAM asks pam_keyveto.so about every key. */
#ifndef CLI_WAYS_MODULE_H
#define CLI_WAYS_MODULE_H

#include "ways/pam_stack.h"

#define WAYS_MODULE "pam_keyveto.so"

/* Where libpam looks for modules. The Makefile says so. */
#ifdef KV_PAMDIR
#define WAYS_MODULE_DIR KV_PAMDIR
#else
#define WAYS_MODULE_DIR "/usr/lib/security"
#endif

/*
 * The module's first session line, or NULL. *judgesp: it is the very first
 * session line, so that no other line hides the key from it, and requisite and
 * in no substack, so that its refusal ends the stack. Nothing else counts as
 * guarded.
 */
const struct pam_line *ways_find_module(const struct pam_stack *s,
    bool *judgesp);

#endif
