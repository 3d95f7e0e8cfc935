/* SPDX-License-Identifier: ISC */
/*
 * A line of authorized_keys. Its fields, its options and its key are proved
 * apart; kv_line_parse puts them together, whatever they say. Decoding and
 * parsing the key may answer anything that their headers allow, and any word
 * may be the name of a type.
 *
 * source lib/kv_bytes.c
 * shrink lib/kv_line.c: SSH1_MAX_DIGITS 4933 -> SSH1_MAX_DIGITS 16
 * proof  trim --unwind LINE+2: lines of up to LINE bytes
 * proof  field [quick] --unwind LINE+2: lines of up to LINE bytes
 * proof  options [quick] --unwind LINE+2: lines of up to LINE bytes
 * proof  key --replace next_field:any_field --replace names_itself:any_name --unwind 4: every word, every answer of what decodes and parses
 * proof  itself --unwind LINE+2: blobs of up to LINE bytes, types of up to NAME characters
 * proof  ssh1 --replace decimal_bits:any_bits --unwind LINE+2: lines of up to LINE bytes
 * proof  parse --replace read_key:any_key --replace is_ssh1:any_ssh1 --unwind LINE+2: lines of up to LINE bytes, whatever has a key
 * proof  option [quick] --unwind LINE+2: options of up to LINE bytes, names of up to NAME characters
 * proof  digits --no-conversion-check --unwind 34: numbers of up to SSH1_MAX_DIGITS digits: as many bits as they have
 */
#define LINE 8
#define NAME 4
#define ROOM 6

#include "lib/kv_line.c"

#include "libc.h"
#include "prove.h"

static size_t len;
static const uint8_t *line_text;

static struct kv_bytes
any_line(void)
{
	len = any_size_up_to(LINE);
	line_text = any_end(LINE, len);
	return (struct kv_bytes){ line_text, len };
}

/* Any index below LINE. */
static size_t
any_place(void)
{
	return any_size_up_to(LINE - 1);
}

/* Whether b is the line from its byte `at` on. */
static bool
is_rest(struct kv_bytes b, size_t at)
{
	return at <= len && b.p == line_text + at && b.left == len - at;
}

void
trim(void)
{
	struct kv_bytes b = any_line();
	size_t i = any_place(), start, end;

	b = trim_line((struct kv_span){ line_text, len });
	PROVE(lies_in(b.p, b.left, line_text, len), "in the line");
	start = (size_t)(b.p - line_text);
	end = start + b.left;
	PROVE(i >= start || is_blank(line_text[i]), "only blanks before it");
	PROVE(b.left == 0 || !is_blank(b.p[0]), "no blank before it");
	PROVE(i < start || i >= end || line_text[i] != '\0', "no NUL in it");
	PROVE(b.left == 0 || b.p[b.left - 1] != '\r', "no CR behind it");
	while (end < len && line_text[end] == '\r')
		end++;
	PROVE(end == len || line_text[end] == '\0', "to the end, or a NUL");
}

void
field(void)
{
	struct kv_bytes b = any_line();
	struct kv_span word = next_field(&b);
	size_t i = any_place(), at = len - b.left;

	PROVE(word.p == line_text && word.len <= at, "from the start");
	PROVE(is_rest(b, at), "goes on in the line");
	PROVE(i >= word.len || !is_blank(line_text[i]), "no blank in it");
	PROVE(i < word.len || i >= at || is_blank(line_text[i]),
	    "only blanks behind it");
	PROVE(at == len || (at > word.len && !is_blank(line_text[at])),
	    "all of them");
}

void
options(void)
{
	struct kv_bytes b = any_line();
	struct kv_span got;
	enum kv_err r = read_options(&b, &got);
	size_t i = any_place(), at = len - b.left;
	bool quoted = false, open[LINE + 1];

	/* Whether the byte i is inside quotes, counted from the start. */
	for (size_t k = 0; k < len; k++) {
		bool escaped = k > 0 && line_text[k - 1] == '\\';

		open[k] = quoted;
		if (line_text[k] == '"' && !escaped)
			quoted = !quoted;
	}
	open[len] = quoted;
	PROVE(got.p == line_text && got.len <= at, "from the start");
	PROVE(is_rest(b, at), "goes on in the line");
	PROVE(r == (open[got.len] ? KV_ERR_LINE_QUOTE : KV_OK),
	    "a quote that does not end");
	PROVE(i >= got.len || open[i] || !is_blank(line_text[i]),
	    "no blank in it, but in quotes");
	PROVE(i < got.len || i >= at || is_blank(line_text[i]),
	    "only blanks behind it");
	PROVE(at == len || (at > got.len && !is_blank(line_text[at])),
	    "all of them");
}

static int fields;
static struct kv_span word[2];
static struct kv_bytes behind[2];
static struct kv_keyname known;
static bool is_known, names;
static uint8_t decoded[ROOM];
static size_t decoded_len;
static enum kv_err decode_says, parse_says;
static enum kv_keytype type;
static bool is_cert;

/* Instead of next_field: proof field. */
struct kv_span
any_field(struct kv_bytes *b)
{
	PROVE(fields < 2, "two words");
	PROVE(fields == 0 || (b->p == behind[0].p && b->left == behind[0].left),
	    "one behind the other");
	*b = behind[fields];
	return word[fields++];
}

enum kv_err
kv_base64_decode(const char *in, size_t in_len, uint8_t *out, size_t cap,
    size_t *lenp)
{
	PROVE((const uint8_t *)in == word[1].p && in_len == word[1].len,
	    "the second word");
	PROVE(out == decoded && cap == ROOM, "the caller's room");
	*lenp = decode_says == KV_OK ? decoded_len : 0;
	return decode_says;
}

enum kv_err
kv_sshkey_parse(const uint8_t *blob, size_t blob_len, struct kv_sshkey *key)
{
	PROVE(blob == decoded && blob_len == decoded_len, "what was decoded");
	PROVE(decode_says == KV_OK, "only if it could be");
	key->key.type = type;
	key->is_cert = is_cert;
	return parse_says;
}

const struct kv_keyname *
kv_keyname_find(struct kv_span name)
{
	PROVE(name.p == word[0].p && name.len == word[0].len, "the first word");
	return is_known ? &known : NULL;
}

/* Instead of names_itself: proof itself. */
bool
any_name(struct kv_span blob, struct kv_span name)
{
	PROVE(blob.p == decoded && blob.len == decoded_len, "the blob");
	PROVE(name.p == word[0].p && name.len == word[0].len, "the first word");
	return names;
}

static struct kv_span
any_word(void)
{
	static const uint8_t text[LINE];

	return (struct kv_span){ text + any_place(), nondet_size() };
}

static bool
same(struct kv_span a, struct kv_span b)
{
	return a.p == b.p && a.len == b.len;
}

/*
 * A line has a key if its first word is the name of a type, or if the second
 * word decodes to a blob that begins with the first.
 */
void
key(void)
{
	struct kv_line line = { 0 };
	bool found, has, fits;
	enum kv_err r;

	for (int i = 0; i < 2; i++) {
		word[i] = any_word();
		behind[i] = (struct kv_bytes){ any_word().p, nondet_size() };
	}
	is_known = nondet_bool();
	names = nondet_bool();
	known.type = (enum kv_keytype)nondet_int();
	known.is_cert = nondet_bool();
	type = (enum kv_keytype)nondet_int();
	is_cert = nondet_bool();
	decode_says = (enum kv_err)nondet_int();
	parse_says = (enum kv_err)nondet_int();
	decoded_len = any_size_up_to(ROOM);
	r = read_key(behind[0], decoded, ROOM, &line, &found);

	if (word[1].len == 0) {
		PROVE(r == KV_ERR_LINE_NO_KEY && found == is_known, "no key");
		PROVE(line.type.p == NULL, "no type");
		return;
	}
	has = decode_says == KV_OK && names;
	PROVE(found == (is_known || has), "whether there is a key");
	if (!found) {
		PROVE(r == KV_ERR_LINE_NO_KEY && line.type.p == NULL, "none");
		return;
	}
	fits = type == known.type && is_cert == known.is_cert;
	if (!is_known)
		PROVE(r == KV_ERR_TYPE_UNKNOWN, "another type");
	else if (decode_says != KV_OK)
		PROVE(r == decode_says, "what decoding says");
	else if (parse_says != KV_OK)
		PROVE(r == parse_says, "what parsing says");
	else
		PROVE(r == (fits ? KV_OK : KV_ERR_TYPE_MISMATCH), "the type");
	PROVE(same(line.type, word[0]) && same(line.base64, word[1]),
	    "as written");
	PROVE(line.comment.p == behind[1].p &&
		line.comment.len == behind[1].left,
	    "the comment");
	PROVE(decode_says == KV_OK ?
		same(line.blob, (struct kv_span){ decoded, decoded_len }) :
		line.blob.p == NULL,
	    "the blob");
}

void
itself(void)
{
	size_t blob_len = any_size_up_to(LINE), n = any_size_up_to(NAME);
	const uint8_t *blob = any_end(LINE, blob_len);
	const uint8_t *name = any_end(NAME, n);
	size_t wire = 0;
	bool is = false;

	/* trim_line leaves no NUL. */
	for (size_t i = 0; i < n; i++)
		GIVEN(name[i] != '\0');
	for (size_t i = 0; i < 4 && blob_len >= 4; i++)
		wire = wire << 8 | blob[i];
	if (blob_len >= 4 && wire <= blob_len - 4 && wire >= n)
		is = memcmp(blob + 4, name, n) == 0 &&
		    (wire == n || (wire == n + 1 && blob[4 + n] == '\0'));
	PROVE(names_itself((struct kv_span){ blob, blob_len },
		  (struct kv_span){ name, n }) == is,
	    "a string of this name, or with a NUL behind it");
}

static uint32_t modulus_bits;
static struct kv_span modulus;

uint32_t
any_bits(struct kv_span s)
{
	modulus = s;
	return modulus_bits;
}

void
ssh1(void)
{
	struct kv_bytes b = any_line();
	bool found;

	modulus_bits = nondet_u32();
	found = is_ssh1(b);
	PROVE(!found || (modulus_bits >= 512 && modulus_bits <= 16384),
	    "sizes that there were");
	PROVE(!found || (line_text[0] >= '0' && line_text[0] <= '9'),
	    "begins with a number");
	PROVE(!found || (lies_in(modulus.p, modulus.len, line_text, len)),
	    "the modulus is in the line");
}

static int keys;
static struct kv_bytes asked[2];
static enum kv_err key_says[2];
static bool key_found[2], ssh1_says[2];
static uint8_t room[ROOM];
static struct kv_line parsed;

/* Instead of read_key: proof key. */
enum kv_err
any_key(struct kv_bytes b, uint8_t *blob, size_t cap, struct kv_line *line,
    bool *foundp)
{
	PROVE(keys < 2, "two times at most");
	PROVE(b.left == 0 || lies_in(b.p, b.left, line_text, len),
	    "in the line");
	PROVE(blob == room && cap == ROOM && line == &parsed, "the caller's");
	asked[keys] = b;
	*foundp = key_found[keys];
	return key_says[keys++];
}

/* Instead of is_ssh1: proof ssh1. */
bool
any_ssh1(struct kv_bytes b)
{
	PROVE(keys > 0 && b.p == asked[keys - 1].p &&
		b.left == asked[keys - 1].left,
	    "where the key should be");
	return ssh1_says[keys - 1];
}

void
parse(void)
{
	enum kv_err r;

	(void)any_line();
	for (int i = 0; i < 2; i++) {
		key_found[i] = nondet_bool();
		ssh1_says[i] = nondet_bool();
		key_says[i] = (enum kv_err)nondet_int();
		GIVEN(key_found[i] || key_says[i] == KV_ERR_LINE_NO_KEY);
	}
	r = kv_line_parse((struct kv_span){ line_text, len }, room, ROOM,
	    &parsed);
	PROVE(parsed.is_blank == (keys == 0 && r == KV_OK), "blank");
	PROVE(keys > 0 || r == KV_ERR_LINE_QUOTE || r == KV_OK, "or not");
	if (keys == 0)
		return;
	PROVE(asked[0].left > 0 && asked[0].p[0] != '#', "not a blank line");
	if (key_found[0]) {
		PROVE(r == key_says[0] && keys == 1, "a key at the start");
		PROVE(parsed.options.len == 0, "so no options");
		return;
	}
	if (ssh1_says[0]) {
		PROVE(r == KV_ERR_LINE_SSH1 && keys == 1, "protocol 1");
		return;
	}
	PROVE(parsed.options.p == asked[0].p, "else options");
	if (keys == 1) {
		PROVE(r == KV_ERR_LINE_QUOTE, "with a quote that ends");
		return;
	}
	PROVE(asked[1].p >= parsed.options.p + parsed.options.len,
	    "and the key behind them");
	if (key_found[1])
		PROVE(r == key_says[1], "what is wrong with it");
	else
		PROVE(r ==
			(ssh1_says[1] ? KV_ERR_LINE_SSH1 : KV_ERR_LINE_NO_KEY),
		    "no key");
}

void
option(void)
{
	const char *name = any_text(NAME);
	size_t n = strlen(name);
	size_t len = any_size_up_to(LINE);
	const uint8_t *text = any_bytes(LINE);
	bool found;

	GIVEN(n > 0 && name[0] != '"' && name[0] != '\\');
	found = kv_line_has_option((struct kv_span){ text, len }, name);
	/* The first option is before any quote. */
	if (len == n && strncasecmp((const char *)text, name, n) == 0 &&
	    memchr(name, '"', n) == NULL && memchr(name, ',', n) == NULL)
		PROVE(found, "a single option");
	PROVE(!found || len >= n, "no option that is not there");
}

void
digits(void)
{
	size_t n = any_size_up_to(SSH1_MAX_DIGITS);
	uint8_t number[SSH1_MAX_DIGITS];
	uint64_t value = 0;
	uint32_t bits;

	for (size_t i = 0; i < n; i++) {
		GIVEN(number[i] >= '0' && number[i] <= '9');
		value = value * 10 + number[i] - '0';
	}
	bits = decimal_bits((struct kv_span){ number, n });
	PROVE(value != 0 || bits == 0, "zero has none");
	PROVE(value == 0 || (bits <= 64 && value >> (bits - 1) == 1),
	    "the number of bits");
}
