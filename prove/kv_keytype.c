/* SPDX-License-Identifier: ISC */
/*
 * That a comparison reads no byte beyond a name is proved apart: kv_bytes:equal.
 *
 * source lib/kv_keytype.c lib/kv_bytes.c
 * proof  find [quick] --unwind NAME+8: names of up to NAME bytes
 * proof  find_in_blob --unwind NAME+8: names of up to NAME bytes
 * proof  types --unwind NAME+8: every type, and every value that is none
 */
#define NAME 56

#include "kv_keytype.h"

#include <string.h>

#include "prove.h"

static struct kv_span
any_name(void)
{
	static uint8_t bytes[NAME];

	for (size_t i = 0; i < NAME; i++)
		bytes[i] = nondet_byte();
	return (struct kv_span){ bytes, any_size_up_to(NAME) };
}

static void
prove_same(struct kv_span name, const char *found, uint8_t ignored)
{
	size_t at = any_size_up_to(NAME);

	PROVE(strlen(found) == name.len, "the whole name");
	PROVE(at >= name.len ||
		((name.p[at] ^ found[at]) & 0xff & ~ignored) == 0,
	    "each byte");
}

void
find(void)
{
	struct kv_span name = any_name();
	const struct kv_keyname *kn = kv_keyname_find(name);

	if (kn == NULL)
		return;
	prove_same(name, kn->name, 0);
	PROVE(kn->type != KV_KEY_NONE, "an entry has a type");
	PROVE(name.len < KV_KEYTYPE_NAME_BYTES, "every name fits");
}

void
find_in_blob(void)
{
	struct kv_span name = any_name();
	bool any_curve;
	const struct kv_keyname *kn = kv_keyname_find_in_blob(name, &any_curve);

	PROVE(kn != NULL || (kv_keyname_find(name) == NULL && !any_curve),
	    "finds what kv_keyname_find finds");
	if (kn == NULL)
		return;
	/* Case is one bit of a letter. */
	prove_same(name, kn->name, 0x20);
	PROVE(kn->type != KV_KEY_NONE, "an entry has a type");
	PROVE(!any_curve || (kn->type == KV_KEY_ECDSA_P256 && name.len == 5),
	    "only the name ECDSA leaves the curve open");
}

void
types(void)
{
	enum kv_keytype type = (enum kv_keytype)nondet_int();
	const char *name = kv_keytype_name(type);
	const char *curve = kv_keytype_curve(type);
	struct kv_span s = { (const uint8_t *)name, strlen(name) };
	const struct kv_keyname *kn = kv_keyname_find(s);

	if (type < KV_KEY_RSA || type > KV_KEY_MLDSA44_ED25519_OLD) {
		PROVE(s.len == 0, "no type has no name");
		PROVE(curve == NULL, "no type has no curve");
	} else {
		PROVE(kn != NULL && kn->type == type && !kn->is_cert,
		    "the name of a type names it");
	}
	PROVE((curve != NULL) == (kv_keytype_point_bytes(type) != 0),
	    "a curve has points");
}
