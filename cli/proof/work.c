/* SPDX-License-Identifier: ISC */
#include "proof/work.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kv_err.h"

/*
 * Of a proof, which is kept if it is good, or of a modulus. A modulus can be
 * chosen so that its bytes are those of a forged proof: kind tells them apart.
 */
enum kind { PROOF, MODULUS };
struct verdict {
	enum kind kind;
	uint8_t digest[KV_SHA256_BYTES];
	bool good;
};

/* Of PROOF_WORK_MAX. */
#define UNIT (1024ull * 1024 * 1024)

/* The factors that OpenSSL calls small, too. */
#define SMALL_FACTOR_MAX 751

void
proof_work_free(struct proof_work *work)
{
	tdestroy(work->known, free);
	*work = (struct proof_work){ .spent = 0 };
}

static int
compare_verdicts(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	return x->kind != y->kind ?
	    (x->kind > y->kind) - (x->kind < y->kind) :
	    memcmp(x->digest, y->digest, sizeof(x->digest));
}

/* Returns the verdict that is known of a digest, or NULL. */
static const struct verdict *
find_verdict(const struct proof_work *work, enum kind kind,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	struct verdict sought = { .kind = kind };
	struct verdict *const *found;

	memcpy(sought.digest, digest, sizeof(sought.digest));
	found = tfind(&sought, &work->known, compare_verdicts);
	return found != NULL ? *found : NULL;
}

/* Without memory for it, the verdict will be found again. */
static void
keep_verdict(struct proof_work *work, enum kind kind,
    const uint8_t digest[static KV_SHA256_BYTES], bool good)
{
	struct verdict *v = malloc(sizeof(*v));

	if (v == NULL)
		return;
	v->kind = kind;
	memcpy(v->digest, digest, sizeof(v->digest));
	v->good = good;
	if (tsearch(v, &work->known, compare_verdicts) == NULL)
		free(v);
}

void
proof_work_count_bad(struct proof_work *work)
{
	if (work->bad < PROOF_BAD_MAX)
		work->bad++;
}

bool
proof_work_begin(struct proof_work *work, char why[static PROOF_WHY_BYTES])
{
	work->over = work->bad == PROOF_BAD_MAX;
	return !work->over ||
	    proof_refuse(why,
		"not verified: %d proofs before it were bad, which is the most "
		"that one run looks at: give it to a run of its own",
		PROOF_BAD_MAX);
}

/* An RSA key's numbers. */
struct rsa {
	BIGNUM *n, *e;
};

/*
 * Spends the work for a power modulo n with an exponent of so many bits. False
 * with a reason, and work->over, if there is not so much left.
 */
static bool
spend(struct proof_work *work, const struct rsa *rsa, int exponent_bits,
    char why[static PROOF_WHY_BYTES])
{
	const uint64_t bits = (uint64_t)BN_num_bits(rsa->n);
	const uint64_t cost =
	    (bits * bits * (uint64_t)exponent_bits + UNIT - 1) / UNIT;

	if (bits <= PROOF_USUAL_BITS &&
	    BN_num_bits(rsa->e) <= PROOF_USUAL_E_BITS)
		return true;
	if (cost <= PROOF_WORK_MAX - work->spent) {
		work->spent += cost;
		return true;
	}
	work->over = true;
	return proof_refuse(why,
	    "not verified: the RSA keys of more than %d bits, or with an "
	    "exponent of more than %d bits, take more work than one run "
	    "spends (%d keys of %d bits): give it to a run of its own",
	    PROOF_USUAL_BITS, PROOF_USUAL_E_BITS, PROOF_WORK_KEYS,
	    PROOF_WORK_KEY_BITS);
}

static bool
has_small_factor(const BIGNUM *n)
{
	if (!BN_is_odd(n))
		return true;
	for (BN_ULONG d = 3; d <= SMALL_FACTOR_MAX; d += 2) {
		if (BN_mod_word(n, d) == 0)
			return true;
	}
	return false;
}

/*
 * Whether n is certainly neither a prime nor a power of one. If p is the only
 * prime factor of n, 2^n is 2 modulo p (Fermat), so 2^(n-1) - 1 and n have the
 * factor p in common. Two random primes have a common factor in this way only
 * with a chance that does not matter; then it is known to everybody.
 */
static bool
has_several_primes(const BIGNUM *n)
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *x = BN_new(), *e = BN_dup(n), *two = BN_new();
	bool several = ctx != NULL && x != NULL && e != NULL && two != NULL &&
	    BN_set_word(two, 2) && BN_sub_word(e, 1) &&
	    BN_mod_exp_mont(x, two, e, n, ctx, NULL) && BN_sub_word(x, 1) &&
	    BN_gcd(x, x, n, ctx) && BN_is_one(x);

	BN_free(two);
	BN_free(e);
	BN_free(x);
	BN_CTX_free(ctx);
	return several;
}

/* The SHA-256 of a modulus: the same one may come with many exponents. */
static bool
digest_modulus(const BIGNUM *n, uint8_t digest[static KV_SHA256_BYTES])
{
	const size_t len = (size_t)BN_num_bytes(n);
	uint8_t *bytes = malloc(len + 1);

	if (bytes == NULL)
		return false;
	BN_bn2bin(n, bytes);
	kv_fingerprint_digest_blob(bytes, len, digest);
	free(bytes);
	return true;
}

/* False with a reason, also if no work is left for it. */
static bool
is_sound_rsa(struct proof_work *work, const struct rsa *rsa,
    char why[static PROOF_WHY_BYTES])
{
	uint8_t digest[KV_SHA256_BYTES];
	const struct verdict *known;
	bool good;

	if (!digest_modulus(rsa->n, digest))
		return proof_refuse(why, "%s", kv_strerror(KV_ERR_MEMORY));
	known = find_verdict(work, MODULUS, digest);
	if (known != NULL)
		good = known->good;
	else if (has_small_factor(rsa->n))
		good = false;
	else if (!spend(work, rsa, BN_num_bits(rsa->n), why))
		return false;
	else {
		good = has_several_primes(rsa->n);
		keep_verdict(work, MODULUS, digest, good);
	}
	return (good && BN_is_odd(rsa->e) && !BN_is_one(rsa->e)) ||
	    proof_refuse(why,
		"no sound RSA key: its modulus or its exponent is chosen so "
		"that anybody can sign");
}

/* Verifies a signature that is not known yet, and then judges the key. */
static bool
judge_rsa(struct proof_work *work, const struct proof_key *key,
    proof_signature_fn is_signed, const void *proof,
    char why[static PROOF_WHY_BYTES])
{
	struct rsa rsa = { NULL, NULL };
	bool ok;

	if (!EVP_PKEY_get_bn_param(key->pkey, OSSL_PKEY_PARAM_RSA_N, &rsa.n) ||
	    !EVP_PKEY_get_bn_param(key->pkey, OSSL_PKEY_PARAM_RSA_E, &rsa.e))
		ok = proof_refuse(why, "OpenSSL cannot decode this key");
	else
		ok = spend(work, &rsa, BN_num_bits(rsa.e), why) &&
		    is_signed(proof, key, why) && is_sound_rsa(work, &rsa, why);
	BN_free(rsa.n);
	BN_free(rsa.e);
	ERR_clear_error();
	return ok;
}

bool
proof_work_judge(struct proof_work *work,
    const uint8_t digest[static KV_SHA256_BYTES], const struct proof_key *key,
    proof_signature_fn is_signed, const void *proof,
    char why[static PROOF_WHY_BYTES])
{
	bool ok;

	if (!proof_work_begin(work, why))
		return false;
	if (find_verdict(work, PROOF, digest) != NULL)
		return true;
	ok = key->pem.ssh.key.type == KV_KEY_RSA ?
	    judge_rsa(work, key, is_signed, proof, why) :
	    is_signed(proof, key, why);
	if (ok)
		keep_verdict(work, PROOF, digest, true);
	else if (!work->over)
		proof_work_count_bad(work);
	return ok;
}
