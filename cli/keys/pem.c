/* SPDX-License-Identifier: ISC */
/*
 * Takes PEM blocks apart, and reads the public half of private keys of OpenSSH
 * and PuTTY, which is not encrypted. No library replaces that: OpenSSL 3 knows
 * neither form. libssh 0.10 does not know PuTTY's. Of OpenSSH's it gives the
 * public half without a passphrase only for a file that it opens itself, and
 * for no Ed448 and ML-DSA key.
 */
#include "keys/pem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "keys/pem_forms.h"
#include "kv_base64.h"

#define OPENSSH_MAGIC "openssh-key-v1" /* and its NUL */

/*
 * What follows this line is text, up to a BEGIN PGP SIGNATURE (RFC 4880 section
 * 7): it begins no block.
 */
#define SIGNED_TEXT "PGP SIGNED MESSAGE"

/* Longer than any label in use, and than any line with one. */
#define LABEL_MAX_BYTES 64
#define MARK_MAX_BYTES (LABEL_MAX_BYTES + 32)
/* Headers stand before base64. */
#define BODY_START_BYTES 512

/* The two styles of armour: RFC 7468 and RFC 4716. */
struct armour {
	const char *begin, *end, *tail;
};
static const struct armour armours[] = {
	{ "-----BEGIN ", "-----END ", "-----" },
	{ "---- BEGIN ", "---- END ", " ----" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

bool
pem_refuse(const struct pem_out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->why, o->cap, fmt, ap);
	va_end(ap);
	return false;
}

bool
pem_copy_blob(struct kv_span blob, const struct pem_out *o)
{
	struct kv_bytes b = { blob.p, blob.len };
	struct pem_key *key = o->key;
	struct kv_span name;
	enum kv_err r;

	if (blob.len == 0)
		return pem_refuse(o, "%s", kv_strerror(KV_ERR_TRUNCATED));
	if ((key->blob = malloc(blob.len)) == NULL)
		return pem_refuse(o, "%s", kv_strerror(KV_ERR_MEMORY));
	memcpy(key->blob, blob.p, blob.len);
	r = kv_sshkey_parse(key->blob, blob.len, &key->ssh);
	if (r == KV_ERR_TYPE_UNKNOWN && key->ssh.key.type == KV_KEY_NONE &&
	    kv_bytes_get_name(&b, &name) == KV_OK && name.len > 0 &&
	    name.len < KV_KEYTYPE_NAME_BYTES)
		return pem_refuse(o, "%s %.*s", kv_strerror(r), (int)name.len,
		    (const char *)name.p);
	if (r != KV_OK)
		return pem_refuse(o, "%s", kv_strerror(r));
	return true;
}

/* Sets the comment to text, cut to fit, and up to the first NUL. */
static void
set_comment(struct pem_key *key, struct kv_span text)
{
	snprintf(key->comment, sizeof(key->comment), "%.*s", (int)text.len,
	    text.len > 0 ? (const char *)text.p : "");
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct kv_span
trim(struct kv_span s)
{
	while (s.len > 0 && is_blank(s.p[s.len - 1]))
		s.len--;
	while (s.len > 0 && is_blank(s.p[0])) {
		s.p++;
		s.len--;
	}
	return s;
}

/*
 * Removes the first line from text, and sets *linep to it without its line end
 * and without blanks at both ends. False at the end of the text.
 */
static bool
next_line(struct kv_span *text, struct kv_span *linep)
{
	const uint8_t *nl;
	size_t len;

	if (text->len == 0)
		return false;
	nl = memchr(text->p, '\n', text->len);
	len = nl != NULL ? (size_t)(nl - text->p) : text->len;
	*linep = trim((struct kv_span){ text->p, len });
	len += nl != NULL;
	text->p += len;
	text->len -= len;
	return true;
}

/*
 * Splits a line "Name: value"; false, with both empty, if there is no colon.
 */
static bool
split_header(struct kv_span line, struct kv_span *namep, struct kv_span *valuep)
{
	const uint8_t *colon;
	size_t len;

	*namep = *valuep = (struct kv_span){ 0 };
	if (line.len == 0 || (colon = memchr(line.p, ':', line.len)) == NULL)
		return false;
	len = (size_t)(colon - line.p);
	*namep = trim((struct kv_span){ line.p, len });
	*valuep = trim((struct kv_span){ colon + 1, line.len - len - 1 });
	return true;
}

static bool
is_nocase(struct kv_span a, const char *s)
{
	return a.len == strlen(s) &&
	    (a.len == 0 || strncasecmp((const char *)a.p, s, a.len) == 0);
}

/* Decodes base64 for a reader, and erases the decoded bytes afterwards. */
static bool
decode_and_read(struct kv_span text, enum pem_form form,
    const struct pem_out *o)
{
	size_t cap = KV_BASE64_DECODED_MAX(text.len), len;
	uint8_t *data;
	enum kv_err r;
	bool ok;

	if ((data = malloc(cap)) == NULL)
		return pem_refuse(o, "%s", kv_strerror(KV_ERR_MEMORY));
	r = kv_base64_decode((const char *)text.p, text.len, data, cap, &len);
	if (r == KV_OK)
		ok = pem_read_form(form, (struct kv_span){ data, len }, o);
	else
		ok = pem_refuse(o, "damaged: %s", kv_strerror(r));
	/* It may be a private key. */
	explicit_bzero(data, cap);
	free(data);
	return ok;
}

/*
 * OpenSSH's PROTOCOL.key: the magic, string cipher, string kdf, string kdf
 * options, u32 number of keys, a string for each public key, then the private
 * keys, which may be encrypted. The public keys never are.
 */
static bool
read_openssh(struct kv_span data, const struct pem_out *o)
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

/* Tells if line is the first of a PuTTY key file. */
static bool
is_ppk(struct kv_span line)
{
	static const char start[] = "PuTTY-User-Key-File-";

	return line.len > sizeof(start) && line.p[sizeof(start)] == ':' &&
	    memcmp(line.p, start, sizeof(start) - 1) == 0;
}

/* Removes prefix and suffix from line. False if it lacks either. */
static bool
cut_affixes(struct kv_span *line, const char *prefix, const char *suffix)
{
	size_t before = strlen(prefix), after = strlen(suffix);

	if (line->len < before + after ||
	    memcmp(line->p, prefix, before) != 0 ||
	    memcmp(line->p + line->len - after, suffix, after) != 0)
		return false;
	line->p += before;
	line->len -= before + after;
	return true;
}

/* RFC 7468 section 3: printable, no hyphen, no blank at either end. */
static bool
is_label(struct kv_span s)
{
	if (s.len == 0 || s.len > LABEL_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < 0x20 || s.p[i] > 0x7e || s.p[i] == '-')
			return false;
	}
	return s.p[0] != ' ' && s.p[s.len - 1] != ' ';
}

/*
 * Which armour's BEGIN line text starts with, with *linep and *labelp; NULL if
 * neither's.
 */
static const struct armour *
starts_with_begin(struct kv_span text, struct kv_span *linep,
    struct kv_span *labelp)
{
	for (size_t i = 0; i < COUNT(armours); i++) {
		const size_t before = strlen(armours[i].begin);
		const size_t tail = strlen(armours[i].tail);
		const uint8_t *end;
		size_t max = before + LABEL_MAX_BYTES + tail;

		if (max > text.len)
			max = text.len;
		if (max < before ||
		    memcmp(text.p, armours[i].begin, before) != 0)
			continue;
		end = memmem(text.p + before, max - before, armours[i].tail,
		    tail);
		if (end == NULL)
			continue;
		*linep = (struct kv_span){ text.p,
			(size_t)(end - text.p) + tail };
		*labelp = (struct kv_span){ text.p + before,
			linep->len - before - tail };
		if (is_label(*labelp))
			return &armours[i];
	}
	return NULL;
}

/* The same, for a line that is nothing else. */
static const struct armour *
find_begin(struct kv_span line, struct kv_span *labelp)
{
	struct kv_span begin;
	const struct armour *armour = starts_with_begin(line, &begin, labelp);

	return armour != NULL && begin.len == line.len ? armour : NULL;
}

/* Writes the END line of a block with this label. */
static void
make_end(const struct armour *armour, struct kv_span label,
    char end[static MARK_MAX_BYTES])
{
	snprintf(end, MARK_MAX_BYTES, "%s%.*s%s", armour->end, (int)label.len,
	    (const char *)label.p, armour->tail);
}

/* Editors on Windows put a byte order mark before the first line. */
static struct kv_span
skip_bom(struct kv_span line)
{
	if (line.len >= 3 && memcmp(line.p, "\xef\xbb\xbf", 3) == 0) {
		line.p += 3;
		line.len -= 3;
	}
	return line;
}

bool
pem_is_begin(struct kv_span line)
{
	struct kv_span label;

	/* For speed: most lines start with another letter. */
	if (line.len == 0 ||
	    (line.p[0] != '-' && line.p[0] != 'P' && line.p[0] > ' ' &&
		line.p[0] != 0xef))
		return false;
	line = trim(skip_bom(line));
	return is_ppk(line) ||
	    (find_begin(line, &label) != NULL &&
		!kv_span_is(label, SIGNED_TEXT));
}

bool
pem_is_end(struct kv_span line)
{
	struct kv_span label, name, value;

	line = trim(line);
	for (size_t i = 0; i < COUNT(armours); i++) {
		label = line;
		if (cut_affixes(&label, armours[i].end, armours[i].tail))
			return true;
	}
	/* The last line of a PuTTY key file; old versions have Private-Hash. */
	return split_header(line, &name, &value) &&
	    (kv_span_is(name, "Private-MAC") ||
		kv_span_is(name, "Private-Hash"));
}

/*
 * Joins the value of a header (RFC 4716 section 3.3) with its continuation
 * lines: a line that ends in a backslash goes on in the next. Keeps the first
 * cap bytes, in buf. Removes quotes around the value.
 */
static struct kv_span
join_value(struct kv_span value, struct kv_span *text, uint8_t *buf, size_t cap)
{
	size_t len = 0;
	bool more;

	do {
		more = value.len > 0 && value.p[value.len - 1] == '\\';
		value.len -= more;
		if (value.len > cap - len)
			value.len = cap - len;
		if (value.len > 0)
			memcpy(buf + len, value.p, value.len);
		len += value.len;
	} while (more && next_line(text, &value));
	value = (struct kv_span){ buf, len };
	(void)cut_affixes(&value, "\"", "\"");
	return value;
}

/*
 * Reads the headers before the base64 (RFC 4716, or RFC 1421 section 4.6), and
 * moves text behind them. A line with a colon is a header: base64 has none.
 * False, with a reason, if the block is encrypted.
 */
static bool
read_headers(struct kv_span *text, const struct pem_out *o)
{
	struct kv_span line, name, value, after = *text;
	uint8_t buf[sizeof(o->key->comment)];

	while (next_line(&after, &line)) {
		if (!split_header(line, &name, &value) && line.len > 0)
			break;
		value = join_value(value, &after, buf, sizeof(buf));
		if (is_nocase(name, "Comment"))
			set_comment(o->key, value);
		if (is_nocase(name, "Proc-Type") &&
		    memmem(value.p, value.len, "ENCRYPTED", 9) != NULL)
			return pem_read_form(PEM_ENCRYPTED, value, o);
		*text = after;
	}
	return true;
}

/*
 * Sets *bodyp to the lines before the END line, which must match the BEGIN
 * line. False with a reason.
 */
static bool
find_body(struct kv_span text, const struct armour *armour,
    struct kv_span label, struct kv_span *bodyp, const struct pem_out *o)
{
	char end[MARK_MAX_BYTES];
	struct kv_span line;

	make_end(armour, label, end);
	*bodyp = (struct kv_span){ text.p, 0 };
	while (next_line(&text, &line)) {
		if (pem_is_begin(line))
			return pem_refuse(o,
			    "another BEGIN line before the END line");
		if (!pem_is_end(line)) {
			bodyp->len = (size_t)(text.p - bodyp->p);
			continue;
		}
		return kv_span_is(line, end) ||
		    pem_refuse(o, "the END line does not match the BEGIN line");
	}
	return pem_refuse(o, "no END line");
}

/*
 * Lines "Name: value". "Public-Lines: N" is followed by N lines of base64
 * (PuTTY's manual, appendix C). Only private lines may be encrypted. If N is
 * not a number, it is 0.
 */
static bool
read_ppk(struct kv_span text, const struct pem_out *o)
{
	struct kv_span line, name, value, body;
	size_t n = 0;

	while (next_line(&text, &line)) {
		split_header(line, &name, &value);
		if (kv_span_is(name, "Comment"))
			set_comment(o->key, value);
		if (!kv_span_is(name, "Public-Lines"))
			continue;
		for (size_t i = 0; i < value.len; i++) {
			if (value.p[i] < '0' || value.p[i] > '9' ||
			    n > PEM_MAX_BYTES) {
				n = 0;
				break;
			}
			n = n * 10 + (size_t)(value.p[i] - '0');
		}
		body.p = text.p;
		while (n-- > 0 && next_line(&text, &line))
			;
		body.len = (size_t)(text.p - body.p);
		return decode_and_read(body, PEM_BLOB, o);
	}
	return pem_refuse(o, "PuTTY key file without Public-Lines");
}

static const struct {
	const char *label;
	enum pem_form form;
} labels[] = {
	{ "OPENSSH PRIVATE KEY", PEM_OPENSSH },
	{ "SSH2 PUBLIC KEY", PEM_BLOB },
	{ "SSH2 ENCRYPTED PRIVATE KEY", PEM_SSH2_PRIVATE },
	{ "PUBLIC KEY", PEM_SPKI },
	{ "RSA PUBLIC KEY", PEM_RSA_PUBLIC },
	{ "PRIVATE KEY", PEM_PKCS8 },
	{ "ENCRYPTED PRIVATE KEY", PEM_ENCRYPTED },
	{ "RSA PRIVATE KEY", PEM_RSA },
	{ "DSA PRIVATE KEY", PEM_DSA },
	{ "EC PRIVATE KEY", PEM_EC },
	{ "CERTIFICATE", PEM_CERTIFICATE },
	{ "X509 CERTIFICATE", PEM_CERTIFICATE },
	{ "TRUSTED CERTIFICATE", PEM_CERTIFICATE },
	{ "CERTIFICATE REQUEST", PEM_REQUEST },
	{ "NEW CERTIFICATE REQUEST", PEM_REQUEST },
	{ "EC PARAMETERS", PEM_KEYLESS },
	{ "DSA PARAMETERS", PEM_KEYLESS },
	{ "DH PARAMETERS", PEM_KEYLESS },
	{ "X9.42 DH PARAMETERS", PEM_KEYLESS },
	{ "X509 CRL", PEM_KEYLESS },
	{ "ATTRIBUTE CERTIFICATE", PEM_KEYLESS },
	{ "SM2 PARAMETERS", PEM_KEYLESS },
	{ "PARAMETERS", PEM_KEYLESS },
	{ "SSL SESSION PARAMETERS", PEM_KEYLESS },
	/* They may hold certificates, but none that SSH uses. */
	{ "PKCS7", PEM_KEYLESS },
	{ "PKCS #7 SIGNED DATA", PEM_KEYLESS },
	{ "CMS", PEM_KEYLESS },
	{ "SSH SIGNATURE", PEM_KEYLESS },
	{ "PGP PUBLIC KEY BLOCK", PEM_KEYLESS },
	{ "PGP PRIVATE KEY BLOCK", PEM_KEYLESS },
	{ "PGP SECRET KEY BLOCK", PEM_KEYLESS },
	{ "PGP SIGNATURE", PEM_KEYLESS },
	{ "PGP MESSAGE", PEM_KEYLESS },
	{ "PGP ARMORED FILE", PEM_KEYLESS },
	{ "AGE ENCRYPTED FILE", PEM_KEYLESS },
	{ "OpenVPN Static key V1", PEM_KEYLESS },
};

/* False for a label that keyveto does not know. */
static bool
find_form(struct kv_span label, enum pem_form *formp)
{
	for (size_t i = 0; i < COUNT(labels); i++) {
		*formp = labels[i].form;
		if (kv_span_is(label, labels[i].label))
			return true;
	}
	return false;
}

bool
pem_read_form(enum pem_form form, struct kv_span data, const struct pem_out *o)
{
	switch (form) {
	case PEM_BLOB:
		return pem_copy_blob(data, o);
	case PEM_OPENSSH:
		return read_openssh(data, o);
	case PEM_ENCRYPTED:
		return pem_refuse(o,
		    "encrypted, its public half too: give its public "
		    "key (.pub) instead");
	case PEM_SSH2_PRIVATE:
		return pem_refuse(o,
		    "private key of the program from ssh.com: "
		    "give its public key (.pub) instead");
	default:
		return pem_read_openssl(form, data, o);
	}
}

static bool
read_armoured(struct kv_span text, const struct armour *armour,
    struct kv_span label, const struct pem_out *o)
{
	enum pem_form form;
	struct kv_span body;

	if (!find_form(label, &form) || form == PEM_KEYLESS)
		return pem_refuse(o,
		    "%.*s: keyveto reads no key from this kind of PEM block",
		    (int)label.len, (const char *)label.p);
	return find_body(text, armour, label, &body, o) &&
	    read_headers(&body, o) && decode_and_read(body, form, o);
}

bool
pem_is_keyless(struct kv_span line)
{
	struct kv_span label;
	enum pem_form form;

	return find_begin(trim(skip_bom(line)), &label) != NULL &&
	    find_form(label, &form) && form == PEM_KEYLESS;
}

bool
pem_has_base64(struct kv_span text)
{
	size_t run = 0;

	for (size_t i = 0; i < text.len && run < PEM_RUN_BYTES; i++)
		run = base64_is_digit(text.p[i]) ? run + 1 : 0;
	return run == PEM_RUN_BYTES;
}

/* What is between two marks in code is none, nor in the text of a program. */
static bool
is_body(struct kv_span text)
{
	if (text.len > BODY_START_BYTES)
		text.len = BODY_START_BYTES;
	return pem_has_base64(text);
}

bool
pem_find(struct kv_span text, struct pem_place *place)
{
	struct kv_span at = text, label, begin;
	const struct armour *found;
	char end[MARK_MAX_BYTES] = ""; /* of the block in place */
	size_t len, step;

	*place = (struct pem_place){ 0 };
	while (at.len > 0 && (at.p = memchr(at.p, '-', at.len)) != NULL) {
		at.len = (size_t)(text.p + text.len - at.p);
		step = 1;
		len = strlen(end);
		found = starts_with_begin(at, &begin, &label);
		if (found != NULL && !pem_is_keyless(begin)) {
			place->begin = begin;
			make_end(found, label, end);
			/* Its last dashes are none of an END. */
			step = begin.len;
		} else if (len > 0 && at.len >= len &&
		    memcmp(at.p, end, len) == 0) {
			place->end = (struct kv_span){ at.p, len };
			place->body.p = place->begin.p + place->begin.len;
			place->body.len = (size_t)(at.p - place->body.p);
			if (is_body(place->body))
				return true;
			end[0] = '\0';
		}
		at.p += step;
		at.len -= step;
	}
	return false;
}

bool
pem_read(struct kv_span block, struct pem_key *key, char *why, size_t cap)
{
	const struct pem_out o = { .key = key, .why = why, .cap = cap };
	struct kv_span text = block, line, label;
	const struct armour *armour;
	bool ok;

	*key = (struct pem_key){ 0 };
	why[0] = '\0';
	if (!next_line(&text, &line))
		return pem_refuse(&o, "no BEGIN line");
	line = trim(skip_bom(line));
	if ((armour = find_begin(line, &label)) != NULL)
		ok = read_armoured(text, armour, label, &o);
	else if (is_ppk(line))
		ok = read_ppk(text, &o);
	else
		ok = pem_refuse(&o, "no BEGIN line");
	if (!ok)
		pem_key_free(key);
	return ok;
}

void
pem_key_free(struct pem_key *key)
{
	free(key->blob);
	free(key->spki);
	*key = (struct pem_key){ 0 };
}
