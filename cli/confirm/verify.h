/* SPDX-License-Identifier: ISC */
/* confirm/verify: has keyveto-worker read what may be a proof. */
#ifndef CLI_CONFIRM_VERIFY_H
#define CLI_CONFIRM_VERIFY_H

#include "kv_bytes.h"
#include "proof/answer.h"

/*
 * Reads the file from its start: whether it is a proof by the key with this
 * SPKI. Without an SPKI, whether it is a page of HTML or XML.
 */
void verify_answer(int fd, struct kv_span spki, struct answer *answer);

#endif
