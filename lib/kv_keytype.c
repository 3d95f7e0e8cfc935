/* SPDX-License-Identifier: ISC */
#include "kv_keytype.h"

#include <string.h>
#include <strings.h>

#define CERT "-cert-v01@openssh.com"

/* The canonical name of a plain type comes first: kv_keytype_name finds it. */
static const struct kv_keyname names[] = {
	{ "ssh-ed25519", KV_KEY_ED25519, false },
	{ "ssh-ed25519" CERT, KV_KEY_ED25519, true },
	{ "ssh-rsa", KV_KEY_RSA, false },
	{ "ssh-rsa" CERT, KV_KEY_RSA, true },
	{ "rsa-sha2-256", KV_KEY_RSA, false },
	{ "rsa-sha2-256" CERT, KV_KEY_RSA, true },
	{ "rsa-sha2-512", KV_KEY_RSA, false },
	{ "rsa-sha2-512" CERT, KV_KEY_RSA, true },
	{ "ecdsa-sha2-nistp256", KV_KEY_ECDSA_P256, false },
	{ "ecdsa-sha2-nistp256" CERT, KV_KEY_ECDSA_P256, true },
	{ "ecdsa-sha2-nistp384", KV_KEY_ECDSA_P384, false },
	{ "ecdsa-sha2-nistp384" CERT, KV_KEY_ECDSA_P384, true },
	{ "ecdsa-sha2-nistp521", KV_KEY_ECDSA_P521, false },
	{ "ecdsa-sha2-nistp521" CERT, KV_KEY_ECDSA_P521, true },
	{ "sk-ssh-ed25519@openssh.com", KV_KEY_SK_ED25519, false },
	{ "sk-ssh-ed25519" CERT, KV_KEY_SK_ED25519, true },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", KV_KEY_SK_ECDSA_P256, false },
	{ "sk-ecdsa-sha2-nistp256" CERT, KV_KEY_SK_ECDSA_P256, true },
	{ "webauthn-sk-ecdsa-sha2-nistp256@openssh.com", KV_KEY_SK_ECDSA_P256,
	    false },
	{ "webauthn-sk-ecdsa-sha2-nistp256" CERT, KV_KEY_SK_ECDSA_P256, true },
	{ "ssh-dss", KV_KEY_DSA, false },
	{ "ssh-dss" CERT, KV_KEY_DSA, true },
	{ "ssh-ed448", KV_KEY_ED448, false },
	{ "ssh-ed448" CERT, KV_KEY_ED448, true },
	{ "ssh-mldsa44-ed25519", KV_KEY_MLDSA44_ED25519, false },
	{ "ssh-mldsa44-ed25519-cert", KV_KEY_MLDSA44_ED25519, true },
	{ "ssh-mldsa44-ed25519@openssh.com", KV_KEY_MLDSA44_ED25519_OLD,
	    false },
	{ "ssh-mldsa44-ed25519" CERT, KV_KEY_MLDSA44_ED25519_OLD, true },
};

static const struct kv_keyname short_names[] = {
	{ "RSA", KV_KEY_RSA, false },
	{ "DSA", KV_KEY_DSA, false },
	{ "ECDSA", KV_KEY_ECDSA_P256, false },
	{ "ED25519", KV_KEY_ED25519, false },
	{ "ED25519-SK", KV_KEY_SK_ED25519, false },
	{ "ECDSA-SK", KV_KEY_SK_ECDSA_P256, false },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct kv_keyname *
kv_keyname_find(struct kv_span name)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		if (kv_span_is(name, names[i].name))
			return &names[i];
	}
	return NULL;
}

const struct kv_keyname *
kv_keyname_find_in_blob(struct kv_span name, bool *any_curvep)
{
	const struct kv_keyname *found = kv_keyname_find(name);

	*any_curvep = false;
	for (size_t i = 0; found == NULL && i < COUNT(short_names); i++) {
		const char *s = short_names[i].name;

		if (name.len == strlen(s) &&
		    strncasecmp((const char *)name.p, s, name.len) == 0) {
			found = &short_names[i];
			*any_curvep = found->type == KV_KEY_ECDSA_P256;
		}
	}
	return found;
}

const char *
kv_keytype_name(enum kv_keytype type)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		if (names[i].type == type)
			return names[i].name;
	}
	return "";
}

const char *
kv_keytype_curve(enum kv_keytype type)
{
	switch (type) {
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
		return "nistp256";
	case KV_KEY_ECDSA_P384:
		return "nistp384";
	case KV_KEY_ECDSA_P521:
		return "nistp521";
	case KV_KEY_NONE:
	case KV_KEY_RSA:
	case KV_KEY_DSA:
	case KV_KEY_ED25519:
	case KV_KEY_ED448:
	case KV_KEY_SK_ED25519:
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		break;
	}
	return NULL;
}

size_t
kv_keytype_point_bytes(enum kv_keytype type)
{
	switch (type) {
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
		return 1 + 2 * 32;
	case KV_KEY_ECDSA_P384:
		return 1 + 2 * 48;
	case KV_KEY_ECDSA_P521:
		return 1 + 2 * 66;
	case KV_KEY_NONE:
	case KV_KEY_RSA:
	case KV_KEY_DSA:
	case KV_KEY_ED25519:
	case KV_KEY_ED448:
	case KV_KEY_SK_ED25519:
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		break;
	}
	return 0;
}
