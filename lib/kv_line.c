/* SPDX-License-Identifier: ISC */
#include "kv_line.h"

#include <string.h>
#include <strings.h>

#include "kv_base64.h"

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static void
skip_blanks(struct kv_bytes *b)
{
	while (b->left > 0 && is_blank(*b->p)) {
		b->p++;
		b->left--;
	}
}

/* Returns the field before the next blank. Moves past the blanks after it. */
static struct kv_span
next_field(struct kv_bytes *b)
{
	struct kv_span field = { b->p, b->left };
	const uint8_t *blank;

	for (const char *c = " \t"; *c != '\0'; c++)
		if (field.len > 0 &&
		    (blank = memchr(field.p, *c, field.len)) != NULL)
			field.len = (size_t)(blank - field.p);
	b->p += field.len;
	b->left -= field.len;
	skip_blanks(b);
	return field;
}

/*
 * Reads the options. A backslash escapes only a quote, not another backslash.
 * So in "A\\" the second backslash escapes the quote, and the string goes on,
 * as in sshd.
 */
static enum kv_err
read_options(struct kv_bytes *b, struct kv_span *options)
{
	bool quoted = false;

	*options = (struct kv_span){ b->p, 0 };
	while (b->left > 0 && (quoted || !is_blank(*b->p))) {
		size_t n = 1;

		if (*b->p == '\\' && b->left > 1 && b->p[1] == '"')
			n = 2;
		else if (*b->p == '"')
			quoted = !quoted;
		b->p += n;
		b->left -= n;
		options->len += n;
	}
	skip_blanks(b);
	return quoted ? KV_ERR_LINE_QUOTE : KV_OK;
}

/* Whether blob starts with the name type, as every SSH key does. */
static bool
names_itself(struct kv_span blob, struct kv_span type)
{
	struct kv_bytes b = { blob.p, blob.len };
	struct kv_span name;

	return kv_bytes_get_name(&b, &name) == KV_OK &&
	    kv_span_equal(name, type);
}

/*
 * Reads "type base64 comment". *foundp says whether there is a key at all, good
 * or broken.
 */
static enum kv_err
read_key(struct kv_bytes b, uint8_t *blob, size_t cap, struct kv_line *line,
    bool *foundp)
{
	struct kv_span type = next_field(&b);
	struct kv_span text = next_field(&b);
	const struct kv_keyname *kn = kv_keyname_find(type);
	struct kv_span decoded = { .p = blob };
	enum kv_err r;

	*foundp = kn != NULL;
	if (text.len == 0)
		return KV_ERR_LINE_NO_KEY;
	r = kv_base64_decode((const char *)text.p, text.len, blob, cap,
	    &decoded.len);
	if (kn == NULL) {
		if (r != KV_OK || !names_itself(decoded, type))
			return KV_ERR_LINE_NO_KEY;
		*foundp = true;
		line->type = type;
		line->base64 = text;
		line->blob = decoded;
		line->comment = (struct kv_span){ b.p, b.left };
		return KV_ERR_TYPE_UNKNOWN;
	}
	line->type = type;
	line->base64 = text;
	line->comment = (struct kv_span){ b.p, b.left };
	if (r != KV_OK)
		return r;
	line->blob = decoded;
	if ((r = kv_sshkey_parse(decoded.p, decoded.len, &line->key)) != KV_OK)
		return r;
	if (line->key.key.type != kn->type || line->key.is_cert != kn->is_cert)
		return KV_ERR_TYPE_MISMATCH;
	return KV_OK;
}

/* The sizes of the RSA keys that a protocol 1 server or client ever took. */
#define SSH1_MIN_BITS 512
#define SSH1_MAX_BITS 16384
#define SSH1_MAX_DIGITS 4933 /* 2^16384 has as many */

static bool
is_decimal(struct kv_span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return s.len > 0;
}

/*
 * The number of bits of a decimal number of at most SSH1_MAX_DIGITS digits; 0
 * for another text.
 */
static uint32_t
decimal_bits(struct kv_span s)
{
	/* Little endian; one digit more needs fewer than four bits more. */
	uint32_t limb[SSH1_MAX_DIGITS * 4 / 32 + 1];
	size_t n = 0;
	uint32_t bits;

	if (s.len > SSH1_MAX_DIGITS || !is_decimal(s))
		return 0;
	for (size_t i = 0; i < s.len; i++) {
		uint64_t carry = (uint64_t)(s.p[i] - '0');

		for (size_t j = 0; j < n; j++) {
			carry += (uint64_t)limb[j] * 10;
			limb[j] = (uint32_t)carry;
			carry >>= 32;
		}
		if (carry > 0)
			limb[n++] = (uint32_t)carry;
	}
	if (n == 0)
		return 0;
	bits = (uint32_t)(n - 1) * 32;
	for (uint32_t top = limb[n - 1]; top > 0; top >>= 1)
		bits++;
	return bits;
}

/*
 * Protocol 1 keys were "bits exponent modulus comment", in decimal. Other rows
 * of numbers (moduli, DNSKEY) have no third number of as many bits.
 */
static bool
is_ssh1(struct kv_bytes b)
{
	struct kv_span bits = next_field(&b), exponent = next_field(&b);
	struct kv_span modulus = next_field(&b);
	uint32_t n = 0;

	if (bits.len > 5 || !is_decimal(bits) || !is_decimal(exponent))
		return false;
	for (size_t i = 0; i < bits.len; i++)
		n = n * 10 + (uint32_t)(bits.p[i] - '0');
	return n >= SSH1_MIN_BITS && n <= SSH1_MAX_BITS &&
	    decimal_bits(modulus) == n;
}

/* Returns text up to a NUL, without blanks before it and '\r' after it. */
static struct kv_bytes
trim_line(struct kv_span text)
{
	struct kv_bytes b = { text.p, text.len };
	const uint8_t *nul = text.len > 0 ?
	    memchr(text.p, '\0', text.len) :
	    NULL;

	if (nul != NULL)
		b.left = (size_t)(nul - text.p);
	while (b.left > 0 && b.p[b.left - 1] == '\r')
		b.left--;
	skip_blanks(&b);
	return b;
}

enum kv_err
kv_line_parse(struct kv_span text, uint8_t *blob, size_t cap,
    struct kv_line *line)
{
	struct kv_bytes b = trim_line(text);
	enum kv_err r;
	bool found;

	*line = (struct kv_line){ 0 };
	if (b.left == 0 || *b.p == '#') {
		line->is_blank = true;
		return KV_OK;
	}
	r = read_key(b, blob, cap, line, &found);
	if (found)
		return r;
	if (is_ssh1(b))
		return KV_ERR_LINE_SSH1;
	if ((r = read_options(&b, &line->options)) != KV_OK)
		return r;
	r = read_key(b, blob, cap, line, &found);
	if (!found && is_ssh1(b))
		return KV_ERR_LINE_SSH1;
	return r;
}

bool
kv_line_has_option(struct kv_span options, const char *name)
{
	size_t len = strlen(name), start = 0;
	bool quoted = false;

	for (size_t i = 0; i <= options.len; i++) {
		if (i < options.len && options.p[i] == '\\' &&
		    i + 1 < options.len && options.p[i + 1] == '"') {
			i++;
			continue;
		}
		if (i < options.len && options.p[i] == '"')
			quoted = !quoted;
		if (i < options.len && (quoted || options.p[i] != ','))
			continue;
		if (i - start == len &&
		    strncasecmp((const char *)options.p + start, name, len) ==
			0)
			return true;
		start = i + 1;
	}
	return false;
}
