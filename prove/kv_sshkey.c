/* SPDX-License-Identifier: ISC */
/*
 * source lib/kv_sshkey.c
 * proof  equal [quick] --unwind 6: any two keys with fields of up to FIELD bytes
 * proof  bits [quick] --unwind 10: integers of any length
 */
#define FIELD 2

#include "kv_sshkey.h"

#include "prove.h"

/* As kv_bytes:equal proves it. */
bool
kv_span_equal(struct kv_span x, struct kv_span y)
{
	if (x.len != y.len)
		return false;
	for (size_t i = 0; i < FIELD; i++)
		if (i < x.len && x.p[i] != y.p[i])
			return false;
	return true;
}

static void
any_key(struct kv_pubkey *k)
{
	k->type = (enum kv_keytype)any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD);
	for (size_t i = 0; i <= KV_PUBKEY_FIELDS; i++) {
		struct kv_span *s = i < KV_PUBKEY_FIELDS ?
		    &k->field[i] :
		    &k->application;

		s->len = any_size_up_to(FIELD);
		s->p = s->len > 0 ? any_bytes(FIELD) : NULL;
	}
}

void
equal(void)
{
	struct kv_pubkey a, b;
	size_t which = any_size_up_to(KV_PUBKEY_FIELDS);
	size_t at = any_size_up_to(FIELD);
	struct kv_span x, y;

	any_key(&a);
	any_key(&b);
	PROVE(kv_pubkey_equal(&a, &a) == (a.type != KV_KEY_NONE),
	    "a key equals itself, no key equals nothing");
	PROVE(kv_pubkey_equal(&a, &b) == kv_pubkey_equal(&b, &a),
	    "in either order");
	if (!kv_pubkey_equal(&a, &b))
		return;
	PROVE(a.type == b.type, "of one type");
	x = which < KV_PUBKEY_FIELDS ? a.field[which] : a.application;
	y = which < KV_PUBKEY_FIELDS ? b.field[which] : b.application;
	PROVE(x.len == y.len, "every field is as long");
	PROVE(at >= x.len || x.p[at] == y.p[at], "every byte is the same");
}

void
bits(void)
{
	struct kv_pubkey k = { .type = KV_KEY_RSA };
	size_t n = any_size_up_to(KV_MPINT_MAX_BYTES);
	unsigned int found;

	k.field[1] = (struct kv_span){ any_bytes(n), n };
	GIVEN(n == 0 || k.field[1].p[0] != 0);
	found = kv_pubkey_bits(&k);
	PROVE(n > 0 || found == 0, "zero has no bit");
	if (n == 0)
		return;
	PROVE(found > (n - 1) * 8 && found <= n * 8, "in the first byte");
	PROVE(k.field[1].p[0] >> ((found - 1) % 8) == 1, "the topmost bit");
}
