/* SPDX-License-Identifier: ISC */
/*
 * audit/former: the keys that a former audit judged, from what keyveto audit
 * --json printed. A log has only fingerprints: so it takes a former audit to
 * know a key that is in no file any more. Its verdict counts, because filters
 * and lists cannot be asked about a fingerprint: they hold hashes of the key.
 */
#ifndef CLI_AUDIT_FORMER_H
#define CLI_AUDIT_FORMER_H

#include "audit/since.h"

/*
 * Adds the keys of a file: those with "verdict": "listed", or with l->all those
 * of any verdict. "-" is standard input. What cannot be read is a problem in r.
 */
void former_read(struct logins *l, struct report *r, const char *path);

/*
 * Adds which account had which key, by an audit that must be whole: of this
 * host, of all keys, and not cut off; and of these accounts, if not of all. False
 * after a message.
 */
bool former_read_accounts(struct since *s, const char *path,
    const char *const *user, size_t n_users);

#endif
