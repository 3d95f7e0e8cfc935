/* SPDX-License-Identifier: ISC */
/*
 * accounts/refused: audits all accounts and TrustedUserCAKeys, and tells of which
 * accounts listed keys are refused, and which of them have no other key.
 */
#ifndef CLI_ACCOUNTS_REFUSED_H
#define CLI_ACCOUNTS_REFUSED_H

#include "accounts/table.h"
#include "base/texts.h"
#include "host/accounts.h"
#include "host/change.h"
#include "sshd_config/sshd_config.h"

/* An account of which the configuration refuses a listed key. */
struct audit_refused_account {
	const struct account *account; /* the caller's */
	bool locked_out;	       /* it refuses each of its keys */
};

/* All zeroes: none. */
struct audit_refused {
	struct audit_table table; /* a row for each account with a listed key */
	struct audit_refused_account *v;
	size_t n, n_locked_out;
	/*
	 * Listed CAs in TrustedUserCAKeys. No server knows who has a
	 * certificate of one, so that they are counted by themselves.
	 */
	size_t listed_cas, refused_cas;
	struct texts unknown; /* accounts with problems */
	/*
	 * Problems that put nobody out: lines without a key, and links to
	 * nothing, of accounts that are neither root nor administrators.
	 */
	uint64_t keyless;
	/*
	 * Accounts of whose keys some could not be judged, such as those of a
	 * file that cannot be read. The accounts are the caller's.
	 */
	const struct account **unjudged;
	size_t n_unjudged;
	/* sshd's settings or TrustedUserCAKeys could not be read. */
	bool unjudged_settings;
	/*
	 * A sentence for each AuthorizedKeysCommand of which nobody knows
	 * beforehand which keys it prints for root or an administrator.
	 */
	struct texts unasked;
	/* Certificates may let root or an administrator in: no file has those keys. */
	bool by_certificate;
};

/*
 * Audits the accounts by r and its judge. Without sshd, their files are those
 * of keyveto.conf. For root, the members of hold (or NULL) and other
 * administrators an AuthorizedKeysCommand is asked, too. seconds are for each
 * account. Always call audit_refused_free. False after a message.
 */
bool audit_refused_find(struct audit_refused *h, const struct sshd *sshd,
    const struct accounts *accounts, const struct change_hold *hold,
    unsigned int seconds, struct report *r);

/* Adds what others, of the same accounts, found. False without memory. */
bool audit_refused_join(struct audit_refused *h,
    const struct audit_refused *other);

/* Prints the table and the names on standard output. */
void audit_refused_print(const struct audit_refused *h);

void audit_refused_free(struct audit_refused *h);

#endif
