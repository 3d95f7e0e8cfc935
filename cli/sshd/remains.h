/* SPDX-License-Identifier: ISC */
/*
 * sshd/remains: guards and modules that lines other than keyveto's own name,
 * and that are still there once "keyveto sshd disable" has taken its lines out.
 */
#ifndef CLI_SSHD_REMAINS_H
#define CLI_SSHD_REMAINS_H

#include "sshd/sshd.h"

/*
 * Whether keyveto's lines can be taken out: not if one of them, in keyveto.conf,
 * says what such a guard or module does. Each is named in a message, as a note
 * if it does no harm.
 */
bool sshd_remains_allow(const struct sshd_options *o,
    const struct sshd_present *p);

#endif
