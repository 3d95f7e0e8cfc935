/* SPDX-License-Identifier: ISC */
#include "base/sha256.h"

#include "command.h"

static bool
report_no_sha(void)
{
	return cli_error("OpenSSL cannot make a SHA-256");
}

bool
sha256_begin(struct sha256 *s)
{
	s->ctx = EVP_MD_CTX_new();
	return (s->ctx != NULL &&
		   EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) == 1) ||
	    report_no_sha();
}

bool
sha256_add(struct sha256 *s, const void *p, size_t len)
{
	return EVP_DigestUpdate(s->ctx, p, len) == 1 || report_no_sha();
}

bool
sha256_end(struct sha256 *s, uint8_t digest[static SHA256_BYTES])
{
	return EVP_DigestFinal_ex(s->ctx, digest, NULL) == 1 || report_no_sha();
}

void
sha256_free(struct sha256 *s)
{
	EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}
