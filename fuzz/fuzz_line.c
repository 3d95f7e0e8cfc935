/* SPDX-License-Identifier: ISC */
/*
 * Lines of authorized_keys: the parts of a line point into the line, and libssh
 * accepts no Ed25519 key that kv_line_parse refuses.
 */
#include <libssh/libssh.h>
#include <openssl/evp.h>
#include <string.h>

#include "fuzz.h"
#include "kv_line.h"

/* Two strings: "ssh-ed25519" and 32 bytes. */
#define ED25519_BLOB_BYTES (4 + 11 + 4 + KV_ED25519_BYTES)

static void
check_inside(struct kv_span part, const uint8_t *data, size_t size)
{
	FUZZ_CHECK(part.len == 0 ||
	    (part.p >= data && part.len <= size &&
		part.p + part.len <= data + size));
}

/*
 * libssh ignores bytes behind the key in a blob, and accepts another name at
 * its start. So check only blobs whose length and name are right.
 */
static void
check_libssh_refuses(const struct kv_line *line)
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
	check_inside(line.options, data, size);
	check_inside(line.type, data, size);
	check_inside(line.comment, data, size);
	check_inside(line.blob, blob, sizeof(blob));
	if (r != KV_OK)
		check_libssh_refuses(&line);
	else
		FUZZ_CHECK(line.is_blank || line.key.key.type != KV_KEY_NONE);
	(void)kv_line_has_option(line.options, "cert-authority");
	return 0;
}
