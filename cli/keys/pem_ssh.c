/* SPDX-License-Identifier: ISC */
/* Readers of OpenSSH's private keys and PuTTY's, which hold an SSH blob. */
#include <string.h>

#include "keys/pem_forms.h"

#define OPENSSH_MAGIC "openssh-key-v1" /* and its NUL */

/*
 * OpenSSH's PROTOCOL.key: the magic, string cipher, string kdf, string kdf
 * options, u32 number of keys, a string for each public key, then the private
 * keys, which may be encrypted. The public keys never are.
 */
bool
pem_read_openssh(struct kv_span data, const struct pem_out *o)
{
	struct kv_bytes b = { data.p, data.len };
	struct kv_span skipped, blob;
	uint32_t n;

	if (data.len < sizeof(OPENSSH_MAGIC) ||
	    memcmp(data.p, OPENSSH_MAGIC, sizeof(OPENSSH_MAGIC)) != 0 ||
	    kv_bytes_skip(&b, sizeof(OPENSSH_MAGIC)) != KV_OK)
		return pem_refuse(o,
		    "the block does not hold an OpenSSH private key");
	if (kv_bytes_get_string(&b, &skipped) != KV_OK ||
	    kv_bytes_get_string(&b, &skipped) != KV_OK ||
	    kv_bytes_get_string(&b, &skipped) != KV_OK ||
	    kv_bytes_get_u32(&b, &n) != KV_OK)
		return pem_refuse(o, "OpenSSH private key is cut short");
	/* OpenSSH's private2_check_public (sshkey.c) takes only 1. */
	if (n != 1)
		return pem_refuse(o,
		    "OpenSSH private key file with %u keys; "
		    "OpenSSH reads only files with one",
		    n);
	if (kv_bytes_get_string(&b, &blob) != KV_OK)
		return pem_refuse(o, "OpenSSH private key is cut short");
	return pem_copy_blob(blob, o);
}

bool
pem_is_ppk(struct kv_span line)
{
	static const char start[] = "PuTTY-User-Key-File-";

	return line.len > sizeof(start) && line.p[sizeof(start)] == ':' &&
	    memcmp(line.p, start, sizeof(start) - 1) == 0;
}

/* Parses a number of lines; 0 if it is not a number. */
static size_t
read_count(struct kv_span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] < '0' || text.p[i] > '9' || n > PEM_MAX_BYTES)
			return 0;
		n = n * 10 + (size_t)(text.p[i] - '0');
	}
	return n;
}

/* Removes the next n lines from text, and returns them. */
static struct kv_span
remove_lines(struct kv_span *text, size_t n)
{
	struct kv_span lines = { text->p, 0 }, line;

	while (n-- > 0 && pem_next_line(text, &line))
		;
	lines.len = (size_t)(text->p - lines.p);
	return lines;
}

/*
 * Lines "Name: value". "Public-Lines: N" is followed by N lines of base64
 * (PuTTY's manual, appendix C). Only private lines may be encrypted.
 */
bool
pem_read_ppk(struct kv_span text, const struct pem_out *o)
{
	struct kv_span line, name, value;

	while (pem_next_line(&text, &line)) {
		pem_split_header(line, &name, &value);
		if (kv_span_is(name, "Comment"))
			pem_set_comment(o->key, value);
		if (kv_span_is(name, "Public-Lines"))
			return pem_decode_and_read(remove_lines(&text,
						       read_count(value)),
			    pem_copy_blob, o);
	}
	return pem_refuse(o, "PuTTY key file without Public-Lines");
}
