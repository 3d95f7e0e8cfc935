/* SPDX-License-Identifier: ISC */
/* The sentences of keys/krl, for programs that read no KRL themselves. */
#include "keys/krl.h"

void
krl_reasons(uint64_t left_out, const char *reason[static KRL_REASONS])
{
	size_t n = 0;

	if (left_out & KRL_CERTIFICATES)
		reason[n++] =
		    "revokes certificates by serial number or key ID, which "
		    "keyveto cannot: keep it in RevokedKeys";
	if (left_out & KRL_SHA1)
		reason[n++] = "revokes keys by SHA-1, which keyveto cannot: "
			      "keep it in RevokedKeys";
	if (left_out & KRL_OTHER)
		reason[n++] = "has a section that keyveto does not know: keep "
			      "it in RevokedKeys";
	reason[n] = NULL;
}
