/* SPDX-License-Identifier: ISC */
/*
 * accounts/way_in: whether a key is sure to let its account in, to a shell and
 * from everywhere, so that nobody is locked out as long as it stays. A doubt is
 * a no.
 */
#ifndef CLI_ACCOUNTS_WAY_IN_H
#define CLI_ACCOUNTS_WAY_IN_H

#include "host/accounts.h"
#include "sshd_config/sshd_config.h"

/*
 * Whether sshd takes keys of this type and size. type is the name in the line.
 * settings NULL, of a machine without sshd: yes.
 */
bool way_in_accepts(const struct sshd_settings *settings, const char *type,
    unsigned int bits);

/*
 * Whether sshd and this machine let the account log in with one key: neither
 * PermitRootLogin, PubkeyAuthentication, AuthenticationMethods, the lists of
 * users and groups, the shell nor an expiry keeps it out. settings NULL: yes,
 * as far as sshd goes.
 */
bool way_in_admits(const struct sshd_settings *settings,
    const struct account *account);

/*
 * Whether the lists of users and groups keep the account out, wherever it comes
 * from. A doubt is a no. settings NULL: no.
 */
bool way_in_is_closed(const struct sshd_settings *settings,
    const struct account *account);

#endif
