/* SPDX-License-Identifier: ISC */
/*
 * Lines of authorized_keys: the parts of a line point into the line, and libssh
 * accepts no Ed25519 key that kv_line_parse refuses. A file is read as its
 * lines, of which those that do not fit are passed over.
 */
#include <sys/mman.h>

#include <libssh/libssh.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_line.h"
#include "kv_lines.h"

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

static void
check_lines(struct kv_span rest)
{
	uint8_t room[64];
	struct kv_lines lines;
	struct kv_span line;
	bool more;
	enum kv_err err;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(
	    fd != -1 && write(fd, rest.p, rest.len) == (ssize_t)rest.len);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	kv_lines_init(&lines, fd, room, sizeof(room));
	for (uint64_t n = 1; rest.len > 0; n++) {
		const uint8_t *nl = memchr(rest.p, '\n', rest.len);
		size_t len = nl != NULL ? (size_t)(nl - rest.p) : rest.len;

		err = kv_lines_next(&lines, &line, &more);
		FUZZ_CHECK(more && lines.number == n);
		if (len < sizeof(room))
			FUZZ_CHECK(err == KV_OK &&
			    kv_span_equal(line,
				(struct kv_span){ rest.p, len }));
		else
			FUZZ_CHECK(err == KV_ERR_LINE_TOO_LONG);
		len += nl != NULL;
		rest.p += len;
		rest.len -= len;
	}
	FUZZ_CHECK(kv_lines_next(&lines, &line, &more) == KV_OK && !more);
	close(fd);
	FUZZ_CHECK(kv_lines_next(&(struct kv_lines){ .fd = -1,
				     .buf = room,
				     .cap = sizeof(room) },
		       &line, &more) == KV_ERR_SYSTEM);
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
	check_lines((struct kv_span){ data, size });
	return 0;
}
