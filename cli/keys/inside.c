/* SPDX-License-Identifier: ISC */
#include "keys/inside.h"

#include <stdlib.h>
#include <string.h>

#include "keys/pem.h"
#include "keys/store.h"
#include "keys/unpack.h"
#include "kv_base64.h"
#include "kv_line.h"

/* Every SSH key begins with the length of a short name. */
#define START "AAAA"
/* A shorter word of base64 holds no key. */
#define WORD_MIN 16
/* Base64 of less than a line of the shortest key, with its type. */
#define NESTED_MIN 60
/* The shortest key has 51 bytes. Far shorter ones are examples in prose. */
#define BLOB_MIN_BYTES 36
/* Base64 that holds the name of any type. */
#define NAME_MAX_CHARS 96
/* The longest plain key is RSA with 16384 bits, or DSA: base64, with room. */
#define PLAIN_MAX_CHARS 12288
/* The most strings in a plain key, with its name. */
#define PLAIN_MAX_STRINGS 6
/* Text in JSON in JSON has two rounds of escapes. */
#define ROUNDS_MAX 3
/* As in a secret of Kubernetes: base64 in base64. */
#define NESTED_MAX 2
/* How much packed text inside another text may unpack to. */
#define UNPACKED_MAX (1024 * 1024)
/* How much all packed text inside another text may unpack to. */
#define UNPACKED_ALL_MAX (16 * UNPACKED_MAX)
/* More blocks in one text are an attack on the time that this takes. */
#define BLOCKS_MAX 1000
/*
 * A longer comment is cut off: each of ten thousand keys on one line would have
 * the rest of it.
 */
#define COMMENT_MAX 1024
/* A shorter line of base64 is a word of prose. */
#define FOLDED_MIN 40
/* A longer one is a text of its own: a certificate, or a key in base64. */
#define FOLDED_MAX 80
/* How far back the start of a line is looked for. */
#define LINE_BACK_MAX 65536

struct finder {
	inside_fn found; /* NULL: only given counts */
	void *arg;
	uint8_t *blob;
	struct kv_span text;
	int nested;	  /* how often text was base64 inside another text */
	size_t *unpacked; /* how much all gzip in the text unpacked to */
	size_t given;
};

static bool
is_digit64(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '+' || c == '/';
}

static int
hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n hexadecimal digits; -1 if there are fewer. */
static long
read_hex(struct kv_span s, size_t n)
{
	long value = 0;

	if (s.len < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_value(s.p[i]);

		if (digit == -1)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Reads "#43;" or "#x2b;", and sets *usedp; -1 for another text. */
static long
read_entity(struct kv_span s, size_t *usedp)
{
	long value = 0;
	size_t i = 1;
	bool hex;

	*usedp = 0;
	if (s.len < 3 || s.p[0] != '#')
		return -1;
	hex = (s.p[1] | 0x20) == 'x';
	for (i += hex; i < s.len && i < 9 && s.p[i] != ';'; i++) {
		int digit = hex_value(s.p[i]);

		if (digit == -1 || (!hex && digit > 9))
			return -1;
		value = value * (hex ? 16 : 10) + digit;
	}
	*usedp = i + 1;
	return i < s.len && s.p[i] == ';' ? value : -1;
}

/*
 * Reads the escape that s starts with, and sets *usedp to its length. Returns
 * its character, '?' for one that no key has, or -1 if it is no escape.
 */
static int
read_escape(struct kv_span s, size_t *usedp)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	struct kv_span rest = { s.p + 1, s.len - 1 };
	const char *found;
	long value = -1;

	if (rest.len == 0)
		return -1;
	if (s.p[0] == '%') {
		*usedp = 3;
		value = read_hex(rest, 2);
	} else if (s.p[0] == '&') {
		value = read_entity(rest, usedp);
		(*usedp)++;
	} else if (rest.p[0] == 'u' || rest.p[0] == 'x') {
		*usedp = rest.p[0] == 'u' ? 6 : 4;
		value = read_hex((struct kv_span){ rest.p + 1, rest.len - 1 },
		    *usedp - 2);
	} else {
		*usedp = 2;
		found = memchr(from, rest.p[0], sizeof(from) - 1);
		if (found != NULL)
			value = (unsigned char)to[found - from];
		else if (rest.p[0] > ' ' && rest.p[0] < 0x7f &&
		    (!is_digit64(rest.p[0]) || rest.p[0] == '/' ||
			rest.p[0] == '+'))
			value = rest.p[0];
	}
	if (value == -1)
		return -1;
	return value < 0x80 ? (int)value : '?';
}

bool
inside_unescape(uint8_t *text, size_t *lenp)
{
	size_t len = *lenp, out = 0, used;

	for (size_t i = 0; i < len; i += used) {
		int c = -1;

		if (text[i] == '\\' || text[i] == '%' || text[i] == '&')
			c = read_escape((struct kv_span){ text + i, len - i },
			    &used);
		if (c == -1)
			used = 1;
		text[out++] = c == -1 ? text[i] : (uint8_t)c;
	}
	*lenp = out;
	return out < len;
}

/* The word, such as ssh-rsa, before the blanks before at. */
static struct kv_span
word_before(struct kv_span text, size_t at)
{
	size_t end = at, start;

	while (end > 0 && (text.p[end - 1] == ' ' || text.p[end - 1] == '\t'))
		end--;
	start = end;
	while (start > 0 && end - start < KV_KEYTYPE_NAME_BYTES &&
	    ((is_digit64(text.p[start - 1]) && text.p[start - 1] != '/' &&
		 text.p[start - 1] != '+') ||
		text.p[start - 1] == '-' || text.p[start - 1] == '.' ||
		text.p[start - 1] == '@'))
		start--;
	return (struct kv_span){ text.p + start, end == at ? 0 : end - start };
}

/* The text behind a key, up to a quote or another mark that may end it. */
static struct kv_span
comment_at(struct kv_span text, size_t at)
{
	struct kv_span comment;
	size_t end;

	while (at < text.len && (text.p[at] == ' ' || text.p[at] == '\t'))
		at++;
	if (text.len - at > COMMENT_MAX)
		text.len = at + COMMENT_MAX;
	for (end = at; end < text.len && text.p[end] >= ' ' &&
	     strchr("\"'<>,;\\`]}", text.p[end]) == NULL;
	     end++)
		;
	comment = (struct kv_span){ text.p + at, end - at };
	while (comment.len > 0 && comment.p[comment.len - 1] == ' ')
		comment.len--;
	return comment;
}

/* Tells if the line of at is a comment, and not the first line. */
static bool
is_in_comment(struct kv_span text, size_t at)
{
	size_t from = at > LINE_BACK_MAX ? at - LINE_BACK_MAX : 0;
	const uint8_t *p = at > from ? memrchr(text.p + from, '\n', at - from) :
				       NULL;

	if (p == NULL)
		return false;
	do
		p++;
	while (p < text.p + at && (*p == ' ' || *p == '\t'));
	return *p == '#';
}

static void
report(struct finder *f, const struct inside_found *found)
{
	f->given++;
	if (f->found != NULL)
		f->found(found, f->arg);
}

static void
report_problem(struct finder *f, const char *reason)
{
	report(f, &(struct inside_found){ INSIDE_PROBLEM, .reason = reason });
}

static void
report_text(struct finder *f, enum inside_is is, struct kv_span text)
{
	report(f, &(struct inside_found){ is, .text = text });
}

static void
report_key(struct finder *f, const struct kv_sshkey *key, size_t end)
{
	struct inside_found found = { INSIDE_KEY, .key = key };

	if (end < f->text.len &&
	    (f->text.p[end] == ' ' || f->text.p[end] == '\t'))
		found.text = comment_at(f->text, end);
	report(f, &found);
}

/* Decodes at most max characters of base64, up to another character. */
static struct kv_bytes
decode_start(struct finder *f, struct kv_span base64, size_t max)
{
	const size_t len = base64.len < max ? base64.len : max;

	return (struct kv_bytes){ f->blob,
		kv_base64_decode_groups(base64.p, len, f->blob,
		    KV_BLOB_MAX_BYTES) /
		    4 * 3 };
}

/* Reads the name in the base64 at p. False if no name is there. */
static bool
read_name(struct finder *f, struct kv_span base64, struct kv_span *namep)
{
	struct kv_bytes b = decode_start(f, base64, NAME_MAX_CHARS);

	if (kv_bytes_get_name(&b, namep) != KV_OK || namep->len == 0)
		return false;
	for (size_t i = 0; i < namep->len; i++) {
		if (namep->p[i] <= ' ' || namep->p[i] > '~')
			return false;
	}
	return true;
}

/*
 * Reads the plain key that base64 starts with, if other letters follow it, as
 * in a database. *usedp is the length of its base64.
 */
static bool
read_start(struct finder *f, struct kv_span base64, struct kv_sshkey *key,
    size_t *usedp)
{
	struct kv_bytes b = decode_start(f, base64, PLAIN_MAX_CHARS);
	struct kv_span string;

	for (int i = 0;
	     i < PLAIN_MAX_STRINGS && kv_bytes_get_string(&b, &string) == KV_OK;
	     i++) {
		size_t used = (size_t)(b.p - f->blob);

		*usedp = used / 3 * 4;
		if (used % 3 == 0 &&
		    kv_sshkey_parse(f->blob, used, key) == KV_OK &&
		    !key->is_cert)
			return true;
	}
	return false;
}

/* Reads all of the base64, with its padding, as sshd would. */
static enum kv_err
read_whole(struct finder *f, struct kv_span base64, struct kv_span word,
    size_t *lenp, struct kv_sshkey *key)
{
	const struct kv_keyname *kn = kv_keyname_find(word);
	enum kv_err err;

	err = kv_base64_decode((const char *)base64.p, base64.len, f->blob,
	    KV_BLOB_MAX_BYTES, lenp);
	if (err != KV_OK) {
		*lenp = base64.len / 4 * 3;
		return err;
	}
	if ((err = kv_sshkey_parse(f->blob, *lenp, key)) != KV_OK)
		return err;
	if (kn != NULL &&
	    (key->key.type != kn->type || key->is_cert != kn->is_cert))
		return KV_ERR_TYPE_MISMATCH;
	return KV_OK;
}

/*
 * Looks at the base64 of at, which begins with AAAA. It is the start of a word,
 * or the middle of one: then it is given only if it certainly is a key. Returns
 * where to look on.
 */
static size_t
read_base64(struct finder *f, size_t at, size_t end, size_t padding,
    bool middle)
{
	const struct kv_span base64 = { f->text.p + at, end - at };
	const struct kv_span word = word_before(f->text, at);
	struct kv_span name;
	struct kv_sshkey key;
	size_t len = 0, used;
	bool any_curve;
	enum kv_err err = KV_OK;

	if (!read_name(f, base64, &name) || is_in_comment(f->text, at))
		return at + 1;
	if (kv_keyname_find_in_blob(name, &any_curve) == NULL) {
		if (middle || word.len == 0 || !kv_span_equal(name, word))
			return at + 1;
		report_text(f, INSIDE_UNKNOWN, word);
		return end;
	}
	/* In a long word, each AAAA in the middle would decode all the rest. */
	if (!middle || base64.len <= PLAIN_MAX_CHARS) {
		err = read_whole(f,
		    (struct kv_span){ base64.p, base64.len + padding }, word,
		    &len, &key);
		if (err == KV_OK) {
			report_key(f, &key, end + padding);
			return end;
		}
		if (!middle && err == KV_ERR_TYPE_MISMATCH) {
			report_problem(f, kv_strerror(err));
			return end;
		}
	}
	if (read_start(f, base64, &key, &used)) {
		report_key(f, &key, at + used);
		return at + used;
	}
	if (!middle && (len >= BLOB_MIN_BYTES || f->nested > 0))
		report_problem(f, kv_strerror(err));
	return at + 1;
}

static void find_all(struct finder *f);

/* Tells if data may hold keys as text. */
static bool
is_worth_reading(struct kv_span data)
{
	return memmem(data.p, data.len, START, 4) != NULL ||
	    memmem(data.p, data.len, "BEGIN ", 6) != NULL ||
	    (data.len >= NESTED_MIN &&
		inside_is_base64((struct kv_span){ data.p, NESTED_MIN }));
}

/* Makes the letters of UTF-16 bytes, in place. Others become '?'. */
static void
narrow(uint8_t *p, struct kv_span *data, enum unpack_form form)
{
	const size_t low = form == UNPACK_UTF16LE ? 0 : 1;

	for (size_t i = 0; i < data->len / 2; i++)
		p[i] = p[2 * i + 1 - low] == 0 ? p[2 * i + low] : '?';
	data->len /= 2;
}

/* Looks for keys in data, which was base64 in the text of f. */
static void
find_inside_data(struct finder *f, struct kv_span data)
{
	struct finder inner = *f;

	if (store_name(data) != NULL && !store_is_keyless(data)) {
		report_problem(f,
		    "a key store in base64: keyveto does not look into it");
	} else if (is_worth_reading(data)) {
		inner.text = data;
		inner.nested++;
		inner.given = 0;
		find_all(&inner);
		f->given += inner.given;
	}
}

/* As find_inside_data, for gzip. */
static void
find_packed(struct finder *f, struct kv_span gzip)
{
	uint8_t *buf;
	size_t len;
	bool whole;

	if (*f->unpacked >= UNPACKED_ALL_MAX) {
		/* Once is enough. */
		if (*f->unpacked != SIZE_MAX) {
			report_problem(f,
			    "gzip in base64 unpacks to more than "
			    "16 MiB; the rest was not read");
		}
		*f->unpacked = SIZE_MAX;
		return;
	}
	if ((buf = malloc(UNPACKED_MAX)) == NULL) {
		report_problem(f, kv_strerror(KV_ERR_MEMORY));
		return;
	}
	whole = unpack_memory(gzip, buf, UNPACKED_MAX, &len);
	*f->unpacked += len;
	find_inside_data(f, (struct kv_span){ buf, len });
	if (len == UNPACKED_MAX) {
		report_problem(f,
		    "gzip in base64 unpacks to more than 1 MiB; "
		    "the rest was not read");
	} else if (!whole) {
		report_problem(f, "gzip in base64 is damaged or cut short");
	}
	explicit_bzero(buf, len);
	free(buf);
}

/* Decodes a word of base64 into cap bytes. Its padding may be missing. */
static size_t
decode_word(struct kv_span base64, size_t padding, uint8_t *buf, size_t cap)
{
	char last[4] = { '=', '=', '=', '=' };
	size_t len, used, more = 0;

	if (kv_base64_decode((const char *)base64.p, base64.len + padding, buf,
		cap, &len) == KV_OK)
		return len;
	used = kv_base64_decode_groups(base64.p, base64.len, buf, cap);
	len = used / 4 * 3;
	if (base64.len - used < sizeof(last)) {
		memcpy(last, base64.p + used, base64.len - used);
		if (kv_base64_decode(last, sizeof(last), buf + len, cap - len,
			&more) == KV_OK)
			len += more;
	}
	return len;
}

/* Decodes a word of base64, and looks for keys in it. */
static void
find_nested(struct finder *f, struct kv_span base64, size_t padding)
{
	const size_t cap = KV_BASE64_DECODED_MAX(base64.len + padding);
	struct kv_span data = { NULL, 0 };
	uint8_t *buf = malloc(cap);
	enum unpack_form form;

	if (buf == NULL) {
		report_problem(f, kv_strerror(KV_ERR_MEMORY));
		return;
	}
	data = (struct kv_span){ buf, decode_word(base64, padding, buf, cap) };
	form = unpack_recognise(data);
	if (form == UNPACK_UTF16LE || form == UNPACK_UTF16BE)
		narrow(buf, &data, form);
	if (form == UNPACK_GZIP) {
		find_packed(f, data);
	} else if (form == UNPACK_XZ) {
		report_problem(f,
		    "xz in base64: keyveto does not look into it: "
		    "unpack it first");
	} else {
		find_inside_data(f, data);
	}
	explicit_bzero(buf, cap);
	free(buf);
}

/* Looks for keys in the words of base64 between two places of the text. */
static void
find_words(struct finder *f, size_t at, size_t stop)
{
	const uint8_t *p = f->text.p;

	while (at < stop) {
		size_t start, padding = 0, given = f->given;

		while (at < stop && !is_digit64(p[at]))
			at++;
		start = at;
		while (at < stop && is_digit64(p[at]))
			at++;
		if (at - start < WORD_MIN)
			continue;
		while (padding < 2 && at + padding < stop &&
		    p[at + padding] == '=')
			padding++;
		for (size_t i = start; i < at;) {
			const uint8_t *found = memmem(p + i, at - i, START, 4);

			if (found == NULL)
				break;
			i = (size_t)(found - p);
			i = read_base64(f, i, at, padding, i > start);
		}
		if (f->given == given && f->nested < NESTED_MAX &&
		    at - start >= NESTED_MIN)
			find_nested(f,
			    (struct kv_span){ p + start, at - start }, padding);
	}
}

/* Gives a block with its BEGIN and END on lines of their own. */
static void
report_block(struct finder *f, const struct pem_place *place)
{
	const size_t cap = place->begin.len + place->body.len + place->end.len +
	    3;
	uint8_t *block = malloc(cap), *p = block;

	if (block == NULL) {
		report_problem(f, kv_strerror(KV_ERR_MEMORY));
		return;
	}
	p = mempcpy(p, place->begin.p, place->begin.len);
	*p++ = '\n';
	if (place->body.len > 0)
		p = mempcpy(p, place->body.p, place->body.len);
	*p++ = '\n';
	p = mempcpy(p, place->end.p, place->end.len);
	*p++ = '\n';
	report_text(f, INSIDE_BLOCK,
	    (struct kv_span){ block, (size_t)(p - block) });
	explicit_bzero(block, cap);
	free(block);
}

/* Tells if nothing but quotes, commas and blanks follows. */
static bool
is_rest_empty(struct kv_span rest)
{
	for (size_t i = 0; i < rest.len; i++) {
		if (rest.p[i] > ' ' && rest.p[i] != '"' && rest.p[i] != '\'' &&
		    rest.p[i] != ',' && rest.p[i] != '\\' && rest.p[i] != '+')
			return false;
	}
	return true;
}

/* Tells if a line of base64 follows, and not code about PEM. */
static bool
begins_base64(struct kv_span rest)
{
	size_t n = 0;

	while (rest.len > 0 && rest.p[0] <= ' ') {
		rest.p++;
		rest.len--;
	}
	while (n < rest.len && is_digit64(rest.p[n]))
		n++;
	return n >= WORD_MIN;
}

static void
find_all(struct finder *f)
{
	struct pem_place place;
	size_t at = 0, start, end, blocks = 0;

	while (pem_find((struct kv_span){ f->text.p + at, f->text.len - at },
	    &place)) {
		start = (size_t)(place.begin.p - f->text.p);
		end = start + place.begin.len;
		find_words(f, at, start);
		at = start;
		if (++blocks > BLOCKS_MAX) {
			report_problem(f, "too many PEM blocks on one line");
			break;
		}
		if (place.keyless) {
			/* Its text may hold keys. */
			place.body.len = 0;
			if (place.end.len > 0)
				report_block(f, &place);
		} else if (place.end.len > 0) {
			report_block(f, &place);
			end = (size_t)(place.end.p - f->text.p) + place.end.len;
		} else if (f->nested == 0 && is_rest_empty(place.body)) {
			report_text(f, INSIDE_BEGIN, place.begin);
		} else if (begins_base64(place.body)) {
			report_problem(f, "PEM block has no end");
		}
		at = end;
	}
	find_words(f, at, f->text.len);
}

/* How long the word of base64 at the start of text is, with its padding. */
static size_t
word_len(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && is_digit64(p[n]))
		n++;
	while (n < len && p[n] == '=')
		n++;
	return n;
}

/* How long the line end at the start of text is; 0: there is none. */
static size_t
line_end_len(const uint8_t *p, size_t len)
{
	if (len > 1 && p[0] == '\r' && p[1] == '\n')
		return 2;
	return len > 0 && p[0] == '\n' ? 1 : 0;
}

/*
 * Joins lines of base64 that were cut to one length, as keys/fold does, in place:
 * GitHub's answers have files as such text. Returns the new length.
 */
static size_t
join_folded(uint8_t *text, size_t len)
{
	static const char ends[] = "\r\n\"";
	size_t in = 0, out = 0;
	bool starts = true; /* a line, or a string */

	/* Lines of PEM and of PuTTY's files stay. */
	if (memmem(text, len, "BEGIN ", 6) != NULL ||
	    memmem(text, len, "PuTTY-User-", 11) != NULL)
		return len;
	while (in < len) {
		size_t word = starts ? word_len(text + in, len - in) : 0;
		size_t width = word;

		if (word < FOLDED_MIN || word > FOLDED_MAX) {
			starts = text[in] == '\n' || text[in] == '"';
			text[out++] = text[in++];
			continue;
		}
		starts = false;
		while (word > 0) {
			size_t next, after;

			memmove(text + out, text + in, word);
			out += word;
			in += word;
			after = in + line_end_len(text + in, len - in);
			next = after > in ?
			    word_len(text + after, len - after) :
			    0;
			/* A shorter line, or padding, was the last. */
			if (word < width || next > width || text[in - 1] == '=')
				break;
			/* The next line is a word, and nothing else. */
			if (after + next < len &&
			    memchr(ends, text[after + next],
				sizeof(ends) - 1) == NULL)
				break;
			if (next > 0)
				in = after;
			word = next;
		}
	}
	return out;
}

static bool
has_escape(struct kv_span text)
{
	return memchr(text.p, '\\', text.len) != NULL ||
	    memchr(text.p, '%', text.len) != NULL ||
	    memchr(text.p, '&', text.len) != NULL;
}

size_t
inside_find(struct kv_span text, uint8_t *blob, inside_fn found, void *arg)
{
	size_t unpacked = 0;
	struct finder f = {
		.found = found,
		.arg = arg,
		.blob = blob,
		.text = text,
		.unpacked = &unpacked,
	};
	uint8_t *copy = NULL;

	if (text.len < WORD_MIN)
		return 0;
	if (has_escape(text)) {
		if ((copy = malloc(text.len)) == NULL) {
			report_problem(&f, kv_strerror(KV_ERR_MEMORY));
			return f.given;
		}
		memcpy(copy, text.p, text.len);
		f.text.p = copy;
		for (int i = 0;
		     i < ROUNDS_MAX && inside_unescape(copy, &f.text.len); i++)
			;
		f.text.len = join_folded(copy, f.text.len);
	}
	find_all(&f);
	if (copy != NULL)
		explicit_bzero(copy, text.len);
	free(copy);
	return f.given;
}

bool
inside_is_base64(struct kv_span text)
{
	return text.len > 0 && word_len(text.p, text.len) == text.len;
}

bool
inside_is_key(struct kv_span text)
{
	uint8_t blob[4096];
	struct kv_sshkey key;
	size_t len;

	return kv_base64_decode((const char *)text.p, text.len, blob,
		   sizeof(blob), &len) == KV_OK &&
	    kv_sshkey_parse(blob, len, &key) == KV_OK;
}
