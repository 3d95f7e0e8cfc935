/* SPDX-License-Identifier: ISC */
/*
 * Lines of authorized_keys: what parses points into the line; and libssh, a
 * second opinion, imports no Ed25519 key that we would refuse.
 */
#include <libssh/libssh.h>
#include <openssl/evp.h>
#include <string.h>

#include "fuzz.h"
#include "kv_line.h"

/* Two strings: "ssh-ed25519" and 32 bytes. */
#define ED25519_BLOB_BYTES (4 + 11 + 4 + KV_ED25519_BYTES)

static void
inside(struct kv_span part, const uint8_t *data, size_t size)
{
	FUZZ_CHECK(part.len == 0 ||
	    (part.p >= data && part.len <= size &&
		part.p + part.len <= data + size));
}

/*
 * libssh is laxer: it takes what follows the key in a blob, and another name
 * at its start. So the question is only put where both are as they should be.
 */
static void
ask_libssh(const struct kv_line *line)
{
	char text[(ED25519_BLOB_BYTES + 2) / 3 * 4 + 1];
	ssh_key key = NULL;

	if (line->blob.len != ED25519_BLOB_BYTES ||
	    !kv_span_is(line->type, "ssh-ed25519") ||
	    memcmp(line->blob.p, "\0\0\0\013ssh-ed25519", 4 + 11) != 0)
		return;
	EVP_EncodeBlock((unsigned char *)text, line->blob.p,
	    (int)line->blob.len);
	FUZZ_CHECK(ssh_pki_import_pubkey_base64(text, SSH_KEYTYPE_ED25519,
		       &key) != SSH_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_line line;
	enum kv_err r;

	r = kv_line_parse((struct kv_span){ data, size }, blob, sizeof(blob),
	    &line);
	inside(line.options, data, size);
	inside(line.type, data, size);
	inside(line.comment, data, size);
	inside(line.blob, blob, sizeof(blob));
	if (r != KV_OK)
		ask_libssh(&line);
	else
		FUZZ_CHECK(line.is_blank || line.key.key.type != KV_KEY_NONE);
	(void)kv_line_has_option(line.options, "cert-authority");
	return 0;
}
