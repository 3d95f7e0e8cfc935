/* SPDX-License-Identifier: ISC */
#include "keys/input.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/found.h"
#include "keys/inside.h"
#include "keys/owner.h"
#include "keys/pem.h"
#include "keys/source.h"
#include "keys/store.h"
#include "keys/walk.h"

/* Also the longest line: room for the longest key of sshd, with options. */
#define BUFFER_BYTES (1024 * 1024)
/*
 * How much is read at a time: little enough for the cache. If other threads
 * read it, their findings stay in memory until printed.
 */
#define READ_BYTES (128 * 1024)
/* For other threads twice as much: they wait for each other less often. */
#define SHARED_BYTES (2 * READ_BYTES)
/* A NUL in this many first bytes means that the file is not text. */
#define BINARY_BYTES 4096
/* Shorter lines of base64 are words of prose. */
#define BASE64_LINE_MIN 40

/* So many lines without a key do not stand in a file of keys. */
#define EMPTY_MAX 10000

/* What a text is, by its first line that says so. */
enum kind {
	KIND_UNKNOWN,
	/*
	 * Lines of one key each, as sshd and ssh read them. Another line is a
	 * problem, unless the file was found in a directory.
	 */
	KIND_LINES,
	/* Any other text, which may hold keys. */
	KIND_TEXT,
};

/* A line that holds nothing like a key. */
struct empty_line {
	uint64_t line;
	enum kv_err reason;
};

/* Lines that are joined before they are read. */
struct joined {
	uint8_t *text; /* NULL: none */
	size_t len, cap;
	uint64_t line; /* of the first */
	bool ldif;     /* else base64 */
};

/* The state of reading one text. */
struct reader {
	struct found found;
	struct input_room *room;
	/*
	 * Lines that hold nothing like a key: problems, if the kind turns out
	 * to be KIND_LINES.
	 */
	struct empty_line *empty;
	size_t n_empty;
	struct joined joined;
	/* What JSON and LDIF hold until it is known whose it is; NULL: none. */
	struct owners *owners;
	/* The PEM block being collected, in room; NULL if there is none. */
	uint8_t *pem;
	size_t pem_len;
	uint64_t pem_line;
	uint8_t *blob; /* KV_BLOB_MAX_BYTES, for decoded keys; of room */
	struct source source;
	uint64_t keyless_lines; /* blank lines do not count */
	uint8_t *buf;		/* BUFFER_BYTES, len are unread; of room */
	size_t len;
	enum kind kind;
	bool walked;
	bool plain;    /* only what sshd and ssh read: keys on lines, PEM */
	bool raw;      /* do not unpack, nor read UTF-16 */
	bool pem_read; /* a PEM block was read */
	bool ldif;     /* a line dn: was read */
	bool silent;   /* give no problem of what is found inside a line */
	bool pem_too_long;
	bool pem_inside; /* its BEGIN line stands inside another text */
	bool pem_new;	 /* only its BEGIN line was read */
	bool in_block;	 /* keys are looked for between its BEGIN and END */
};

/* Decides what kind of text this is, if it is not known yet. */
static void
decide(struct reader *r, enum kind kind)
{
	if (r->kind != KIND_UNKNOWN)
		return;
	r->kind = kind;
	for (size_t i = 0; kind == KIND_LINES && i < r->n_empty; i++)
		found_problem(&r->found, r->empty[i].line,
		    kv_strerror(r->empty[i].reason));
	if (kind == KIND_LINES)
		r->n_empty = 0;
}

/* Notes a line that holds nothing like a key, in a file that was named. */
static void
note_empty(struct reader *r, enum kv_err reason)
{
	if (r->empty == NULL)
		r->empty = calloc(EMPTY_MAX, sizeof(*r->empty));
	if (r->empty == NULL || r->n_empty == EMPTY_MAX) {
		decide(r, KIND_TEXT);
		return;
	}
	r->empty[r->n_empty++] = (struct empty_line){ r->found.line, reason };
	if (r->pem_read)
		decide(r, KIND_TEXT);
}

/* What *p points to, which is allocated if it is NULL. NULL with errno. */
static uint8_t *
get_room(uint8_t **p, size_t bytes)
{
	if (*p == NULL)
		*p = malloc(bytes);
	return *p;
}

void
input_room_free(struct input_room *room)
{
	free(room->buf);
	free(room->blob);
	free(room->pem);
	*room = (struct input_room){ 0 };
}

/* Erases the block: it may be a private key. */
static void
drop_pem(struct reader *r)
{
	if (r->pem != NULL)
		explicit_bzero(r->pem, r->pem_len);
	r->pem = NULL;
}

/* Reports a block without an END line, if it may hold a key, and drops it. */
static void
end_pem(struct reader *r)
{
	const uint8_t *nl;

	if (r->pem == NULL)
		return;
	nl = memchr(r->pem, '\n', r->pem_len);
	if (nl == NULL ||
	    !pem_is_keyless((struct kv_span){ r->pem, (size_t)(nl - r->pem) }))
		found_problem(&r->found, r->pem_line, "PEM block has no end");
	drop_pem(r);
}

static size_t look_inside(struct reader *r, struct kv_span text);

/* Looks for keys between the BEGIN and the END of a block that is no key. */
static void
look_inside_block(struct reader *r)
{
	struct kv_span rest = { r->pem, r->pem_len };
	const uint64_t last = r->found.line;

	r->in_block = true;
	for (r->found.line = r->pem_line; r->found.line <= last;
	     r->found.line++) {
		const uint8_t *nl = rest.len > 0 ?
		    memchr(rest.p, '\n', rest.len) :
		    NULL;
		size_t len = nl != NULL ? (size_t)(nl - rest.p) : rest.len;

		if (r->found.line != r->pem_line && r->found.line != last &&
		    len > 0)
			(void)look_inside(r, (struct kv_span){ rest.p, len });
		len += nl != NULL;
		rest.p += len;
		rest.len -= len;
	}
	r->found.line = last;
	r->in_block = false;
}

static void
read_pem(struct reader *r, struct kv_span block, uint64_t line)
{
	struct pem_key key;
	char why[256];

	if (r->found.sink->pem != NULL)
		r->found.sink->pem(block, r->found.sink->arg);
	if (pem_read(block, &key, why, sizeof(why))) {
		found_pem_key(&r->found, line, &key);
		pem_key_free(&key);
	} else if (!key.keyless) {
		found_problem(&r->found, line, why);
	} else if (r->pem != NULL && !r->in_block && !r->plain) {
		look_inside_block(r);
	}
}

/*
 * Adds a line to the PEM block, of which the first is its BEGIN line, and reads
 * the block at its END line.
 */
static void
collect_pem(struct reader *r, struct kv_span text)
{
	if (r->pem != NULL && pem_is_begin(text))
		end_pem(r);
	if (r->pem == NULL) {
		r->pem = get_room(&r->room->pem, PEM_MAX_BYTES);
		if (r->pem == NULL) {
			found_problem(&r->found, r->found.line,
			    strerror(errno));
			return;
		}
		r->pem_len = 0;
		r->pem_line = r->found.line;
		r->pem_too_long = false;
		r->pem_inside = false;
		r->pem_read = true;
		if (r->n_empty > 0)
			decide(r, KIND_TEXT);
	}
	if (text.len + 1 > PEM_MAX_BYTES - r->pem_len) {
		r->pem_too_long = true;
	} else {
		if (text.len > 0)
			memcpy(r->pem + r->pem_len, text.p, text.len);
		r->pem_len += text.len;
		r->pem[r->pem_len++] = '\n';
	}
	if (!pem_is_end(text))
		return;
	if (r->pem_too_long)
		found_problem(&r->found, r->pem_line, "PEM block is too long");
	else
		read_pem(r, (struct kv_span){ r->pem, r->pem_len },
		    r->pem_line);
	drop_pem(r);
}

static bool
is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

/* What is left of a line inside a quoted text: "MIIE...\n" + */
static struct kv_span
strip_quotes(struct kv_span s)
{
	while (s.len > 0 && (s.p[0] <= ' ' || is_quote(s.p[0]))) {
		s.p++;
		s.len--;
	}
	for (size_t i = s.len; i > 0; i--) {
		if (is_quote(s.p[i - 1]))
			s.len = i - 1;
	}
	for (;;) {
		uint8_t last = s.len > 0 ? s.p[s.len - 1] : 0;

		if (s.len > 1 && s.p[s.len - 2] == '\\' &&
		    (last == 'n' || last == 'r'))
			s.len -= 2;
		else if (s.len > 0 &&
		    (last <= ' ' || last == '\\' || last == ',' || last == ';'))
			s.len--;
		else
			return s;
	}
}

/* Whether a line may be the first in a PEM block: base64 or a header. */
static bool
may_follow_begin(struct kv_span s)
{
	return s.len == 0 || pem_is_end(s) ||
	    (s.len >= 16 && inside_is_base64(s)) ||
	    (s.len > 8 && memchr(s.p, ':', s.len) != NULL &&
		memchr(s.p, '(', s.len) == NULL);
}

/*
 * As collect_pem, for a block that began inside a line. False if the line is
 * none of the block's.
 */
static bool
collect_inside(struct reader *r, struct kv_span text)
{
	struct kv_span line = strip_quotes(text), rest;
	const uint8_t *end = line.len > 0 ?
	    memmem(line.p, line.len, "-----END ", 9) :
	    NULL;
	struct kv_span before = line;

	if (r->pem_new && !may_follow_begin(line)) {
		drop_pem(r);
		return false;
	}
	r->pem_new = false;
	if (end != NULL && end > line.p) {
		before.len = (size_t)(end - line.p);
		collect_pem(r, strip_quotes(before));
		line.p = end;
		line.len -= before.len;
	}
	for (size_t i = 9; end != NULL && i + 5 <= line.len; i++) {
		if (memcmp(line.p + i, "-----", 5) == 0)
			line.len = i + 5;
	}
	collect_pem(r, line);
	rest.p = line.p + line.len;
	rest.len = (size_t)(text.p + text.len - rest.p);
	if (r->pem == NULL)
		(void)look_inside(r, rest);
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/*
 * Skips the marker that may start a known_hosts line. The rest is like any
 * other line. False for a marker that ssh does not know.
 */
static bool
skip_marker(struct kv_span *text)
{
	static const char *const markers[] = { "@cert-authority", "@revoked" };
	struct kv_span rest = *text;

	while (rest.len > 0 && is_blank(rest.p[0])) {
		rest.p++;
		rest.len--;
	}
	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(markers[i]);

		if (rest.len < len || memcmp(rest.p, markers[i], len) != 0 ||
		    (rest.len > len && !is_blank(rest.p[len])))
			continue;
		text->p = rest.p + len;
		text->len = rest.len - len;
		return true;
	}
	return rest.len == 0 || rest.p[0] != '@';
}

/*
 * Whether err means that the line does not look like a key at all. Every SSH
 * blob starts with the length of a short name, so its base64 starts with AAAA.
 * Prose about ssh-rsa keys does not.
 */
static bool
is_no_key(enum kv_err err, const struct kv_line *line)
{
	if (err == KV_ERR_LINE_SSH1)
		return false;
	if (err == KV_ERR_LINE_NO_KEY || err == KV_ERR_LINE_QUOTE ||
	    err == KV_ERR_LINE_MARKER)
		return true;
	return line->base64.len < 4 || memcmp(line->base64.p, "AAAA", 4) != 0;
}

/*
 * Whether a key follows a byte order mark. Neither sshd nor kv_line_parse reads
 * such a line.
 */
static bool
has_key_after_bom(const struct reader *r, struct kv_span text)
{
	struct kv_line line;

	if (text.len < 3 || memcmp(text.p, "\xef\xbb\xbf", 3) != 0)
		return false;
	text.p += 3;
	text.len -= 3;
	return kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line) ==
	    KV_OK &&
	    !line.is_blank;
}

static void
on_inside_key(const struct kv_sshkey *key, struct kv_span comment, void *arg)
{
	struct reader *r = arg;

	found_key(&r->found, r->found.line, key, comment);
}

static void
on_inside_pem(struct kv_span block, void *arg)
{
	struct reader *r = arg;

	read_pem(r, block, r->found.line);
}

static void
on_inside_begin(struct kv_span line, void *arg)
{
	struct reader *r = arg;

	/* All of the block that it stands in was collected already. */
	if (r->in_block)
		return;
	collect_pem(r, line);
	r->pem_inside = r->pem_new = r->pem != NULL;
}

static void
on_inside_problem(const char *reason, void *arg)
{
	struct reader *r = arg;

	if (!r->silent)
		found_problem(&r->found, r->found.line, reason);
}

static void
on_inside_unknown(struct kv_span type, void *arg)
{
	struct reader *r = arg;

	if (!r->silent)
		found_unknown_type(&r->found, type);
}

/* Passes on the keys inside a text. Returns how much looks like keys. */
static size_t
look_inside(struct reader *r, struct kv_span text)
{
	const struct inside_sink sink = {
		.key = on_inside_key,
		.pem = on_inside_pem,
		.begin = on_inside_begin,
		.problem = on_inside_problem,
		.unknown = on_inside_unknown,
		.arg = r,
	};

	return inside_find(text, r->blob, &sink);
}

/*
 * Whether the words before a key are neither options nor host names, but those
 * of another text: "- ", "key: ".
 */
static bool
is_other_text(struct kv_span options)
{
	return options.len > 0 &&
	    (kv_span_is(options, "-") || options.p[options.len - 1] == ':' ||
		options.p[0] == '{' || options.p[0] == '[');
}

/*
 * Whether there is more in a line that is empty or a comment for sshd: behind a
 * NUL, in binary data, or a macro of C.
 */
static bool
is_more_than_blank(struct kv_span text)
{
	static const char define[] = "#define ";

	while (text.len > 0 && is_blank(text.p[0])) {
		text.p++;
		text.len--;
	}
	if (text.len == 0)
		return false;
	if (text.p[0] != '#')
		return true;
	return memchr(text.p, '\0', text.len) != NULL ||
	    (text.len > sizeof(define) &&
		memcmp(text.p, define, sizeof(define) - 1) == 0);
}

/* A line with a key, as sshd reads it. */
static void
take_line(struct reader *r, const struct kv_line *line)
{
	bool other = is_other_text(line->options);

	decide(r, other ? KIND_TEXT : KIND_LINES);
	found_key(&r->found, r->found.line, &line->key, line->comment);
	/* To sshd, a key in a comment is none. */
	if (!r->plain && (other || r->kind == KIND_TEXT))
		(void)look_inside(r, line->comment);
}

/* Whether a line starts an entry of LDIF (RFC 2849). */
static bool
is_dn(struct kv_span text)
{
	return text.len > 3 && (text.p[0] | 0x20) == 'd' &&
	    (text.p[1] | 0x20) == 'n' && text.p[2] == ':';
}

/*
 * Whether a line without a key opens something of another text: an object of
 * JSON, a list of YAML, a here-document.
 */
static bool
is_opening(struct kv_span text)
{
	while (text.len > 0 && text.p[text.len - 1] <= ' ')
		text.len--;
	/* A byte of binary data may be any of these. */
	return text.len > 0 && memchr(text.p, '\0', text.len) == NULL &&
	    (strchr("{[(:|>", text.p[text.len - 1]) != NULL ||
		memmem(text.p, text.len, "<<", 2) != NULL ||
		kv_span_is(text, "---") ||
		(text.len > 11 && memcmp(text.p, "-----BEGIN ", 11) == 0) ||
		text.p[0] == '{' || text.p[0] == '[' || text.p[0] == '<' ||
		is_dn(text));
}

/* A line that is no key, as sshd reads it. */
static void
take_other_line(struct reader *r, struct kv_span text, enum kv_err err,
    const struct kv_line *line)
{
	/* A key of a known type, but damaged; or the options are. */
	bool broken = line->type.len > 0 || err == KV_ERR_LINE_SSH1;
	bool other = is_other_text(line->options);
	bool nothing = is_no_key(err, line);
	size_t found = 0;

	r->keyless_lines++;
	if ((broken && !other) ||
	    (err == KV_ERR_LINE_QUOTE && !r->walked && !is_opening(text) &&
		memchr(text.p, '\0', text.len) == NULL &&
		memmem(text.p, text.len, "AAAA", 4) != NULL))
		decide(r, KIND_LINES);
	/* Then the problem of the line says it all. */
	r->silent = r->kind == KIND_LINES && !r->walked;
	if (!r->plain && !(broken && !other && r->kind == KIND_LINES))
		found = look_inside(r, text);
	r->silent = false;
	if (found > 0 || is_opening(text))
		decide(r, KIND_TEXT);
	if ((r->kind == KIND_LINES && !r->walked) || (found == 0 && !nothing))
		found_problem(&r->found, r->found.line, kv_strerror(err));
	else if (found == 0 && !r->walked)
		note_empty(r, err);
}

static void
read_one_line(struct reader *r, struct kv_span text)
{
	struct kv_span rest = text;
	struct kv_line line = { 0 };
	bool marked = !skip_marker(&rest);
	enum kv_err err;

	err = kv_line_parse(rest, r->blob, KV_BLOB_MAX_BYTES, &line);
	/* If a key follows, the word may be options, so the key counts. */
	if (marked && err != KV_OK)
		err = KV_ERR_LINE_MARKER;
	if (err == KV_OK && !line.is_blank) {
		take_line(r, &line);
	} else if (err == KV_OK) {
		if (!r->plain && is_more_than_blank(rest))
			(void)look_inside(r, rest);
	} else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL) {
		decide(r, KIND_LINES);
		found_unknown_type(&r->found, line.type);
	} else if (has_key_after_bom(r, text)) {
		decide(r, KIND_LINES);
		found_problem(&r->found, r->found.line,
		    "byte order mark before the key: "
		    "sshd does not read this line");
	} else {
		take_other_line(r, text, err, &line);
	}
}

static void
pass_over_key(const struct kv_sshkey *key, struct kv_span comment, void *arg)
{
	(void)key;
	(void)comment;
	(void)arg;
}

static void
pass_over_text(struct kv_span text, void *arg)
{
	(void)text;
	(void)arg;
}

static void
pass_over_problem(const char *reason, void *arg)
{
	(void)reason;
	(void)arg;
}

/* Whether a string of JSON holds what look_inside would find. */
static bool
string_has_key(struct kv_span text, void *arg)
{
	const struct reader *r = arg;
	const struct inside_sink sink = {
		.key = pass_over_key,
		.pem = pass_over_text,
		.begin = pass_over_text,
		.problem = pass_over_problem,
		.unknown = pass_over_text,
	};

	return inside_find(text, r->blob, &sink) > 0;
}

/* Reads what was held, now that its owner is known. */
static void
take_owned(const struct owner_text *t, void *arg)
{
	struct reader *r = arg;
	const uint64_t line = r->found.line;

	r->found.line = t->line;
	r->found.owner = t->owner;
	if (t->is_line) {
		read_one_line(r, t->text);
	} else {
		(void)look_inside(r, t->text);
		/* A block of PEM cannot go on behind a string. */
		drop_pem(r);
	}
	r->found.owner = (struct owner){ 0 };
	r->found.line = line;
}

static void
on_owner_note(uint64_t line, const char *text, void *arg)
{
	struct reader *r = arg;

	found_note(&r->found, line, text);
}

/* False if there is no memory for it: then keys have no owner. */
static bool
start_owners(struct reader *r)
{
	const struct owner_sink sink = {
		.has_key = string_has_key,
		.text = take_owned,
		.note = on_owner_note,
		.arg = r,
	};

	if (r->owners == NULL)
		r->owners = owners_new(&sink);
	return r->owners != NULL;
}

/* Gives what is held. entry: an entry of LDIF, or the text, ends here. */
static void
end_owned(struct reader *r, bool entry)
{
	if (r->owners != NULL)
		owners_flush(r->owners, entry, r->found.line);
}

static void end_joined(struct reader *r);

/* Whether a line may be JSON: it starts an object or array, or one is open. */
static bool
may_be_json(const struct reader *r, struct kv_span text)
{
	if (r->plain || r->kind == KIND_LINES || r->pem != NULL)
		return false;
	if (r->owners != NULL && owners_in_json(r->owners))
		return true;
	/* A line of LDIF that starts with a blank goes on. */
	while (!r->ldif && text.len > 0 && is_blank(text.p[0])) {
		text.p++;
		text.len--;
	}
	return text.len > 0 && (text.p[0] == '{' || text.p[0] == '[');
}

/*
 * Reads a line of JSON, or a part of a long one: more tells that it goes on.
 * Sets *usedp to how much it read. False if this is no JSON: nothing was read.
 */
static bool
take_json(struct reader *r, struct kv_span text, bool more, size_t *usedp)
{
	size_t bom = 0;

	if (r->found.line == 1 && text.len > 3 &&
	    memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		bom = 3;
	text.p += bom;
	text.len -= bom;
	if (!may_be_json(r, text) || !start_owners(r))
		return false;
	end_joined(r);
	if (r->ldif && !owners_in_json(r->owners))
		end_owned(r, true);
	if (!owners_json(r->owners, text, more, r->found.line, usedp))
		return false;
	decide(r, KIND_TEXT);
	/* The line breaks off, or goes on as another text. */
	if (!more && *usedp < text.len) {
		end_owned(r, true);
		(void)look_inside(r,
		    (struct kv_span){ text.p + *usedp, text.len - *usedp });
		*usedp = text.len;
	}
	*usedp += bom;
	return true;
}

static void
note_json_line(struct reader *r)
{
	r->keyless_lines++;
	/* An answer without a key, [], is no file without a key. */
	if (r->found.n == 0 && !r->walked && owners_json_has_values(r->owners))
		note_empty(r, KV_ERR_LINE_NO_KEY);
}

/* As take_json, for a whole line. */
static bool
take_json_line(struct reader *r, struct kv_span text)
{
	size_t used;

	if (!take_json(r, text, false, &used))
		return false;
	note_json_line(r);
	return true;
}

/* Reads the lines that were joined, as one line with the number of the first */
static void
end_joined(struct reader *r)
{
	struct joined j = r->joined;
	const uint64_t line = r->found.line;

	if (j.text == NULL)
		return;
	r->joined = (struct joined){ 0 };
	r->found.line = j.line;
	if (j.ldif && start_owners(r))
		owners_ldif(r->owners, (struct kv_span){ j.text, j.len },
		    j.line);
	else
		read_one_line(r, (struct kv_span){ j.text, j.len });
	r->found.line = line;
	explicit_bzero(j.text, j.cap);
	free(j.text);
}

/* False if there is no memory, or the line would get too long. */
static bool
add_joined(struct reader *r, struct kv_span text)
{
	struct joined *j = &r->joined;
	size_t cap = 2 * (j->len + text.len) + 1024;
	uint8_t *more;

	if (j->len + text.len > BUFFER_BYTES)
		return false;
	if (j->text == NULL || j->cap < j->len + text.len) {
		if ((more = malloc(cap)) == NULL)
			return false;
		if (j->text != NULL) {
			memcpy(more, j->text, j->len);
			explicit_bzero(j->text, j->cap);
			free(j->text);
		}
		j->text = more;
		j->cap = cap;
	}
	if (text.len > 0)
		memcpy(j->text + j->len, text.p, text.len);
	j->len += text.len;
	return true;
}

static struct kv_span
trim(struct kv_span s)
{
	while (s.len > 0 && s.p[s.len - 1] <= ' ')
		s.len--;
	while (s.len > 0 && s.p[0] <= ' ') {
		s.p++;
		s.len--;
	}
	return s;
}

static bool
is_name_char(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == ';' || c == '.';
}

/*
 * Whether a line of LDIF may go on in the next one. It may end in the name of an
 * attribute.
 */
static bool
is_attribute(struct kv_span text)
{
	size_t n = 0;

	if (text.len == 0 || text.p[0] <= ' ')
		return false;
	while (n < text.len && is_name_char(text.p[n]))
		n++;
	return n == text.len || text.p[0] == '#' ||
	    memchr(text.p, ':', text.len) != NULL;
}

/*
 * Joins the lines that a text was folded to: in LDIF, one that starts with a
 * blank goes on; base64 is cut into lines of one length. True if the line was
 * taken; it is read later.
 */
static bool
join_line(struct reader *r, struct kv_span text)
{
	struct kv_span word = trim(text);
	bool is_base64 = inside_is_base64(word);

	if (text.len > 0 && text.p[text.len - 1] == '\r')
		text.len--;
	if (r->joined.text != NULL) {
		if (r->joined.ldif && text.len > 0 && text.p[0] == ' ' &&
		    add_joined(r, (struct kv_span){ text.p + 1, text.len - 1 }))
			return true;
		if (!r->joined.ldif && is_base64 && add_joined(r, word))
			return true;
		end_joined(r);
	}
	if (is_dn(text)) {
		decide(r, KIND_TEXT);
		r->ldif = true;
	}
	/* A blank line ends an entry. */
	if (r->ldif && !is_attribute(text))
		end_owned(r, word.len == 0);
	if (!(r->ldif && is_attribute(text)) &&
	    !(is_base64 && word.len >= BASE64_LINE_MIN))
		return false;
	r->joined.ldif = r->ldif;
	r->joined.line = r->found.line;
	return add_joined(r, r->ldif ? text : word);
}

static void
read_line(struct reader *r, struct kv_span text)
{
	struct kv_line line = { 0 };

	if (r->pem != NULL || pem_is_begin(text)) {
		end_joined(r);
		end_owned(r, false);
		if (r->pem == NULL || !r->pem_inside || pem_is_begin(text))
			collect_pem(r, text);
		else if (!collect_inside(r, text)) {
			read_line(r, text);
			return;
		}
		/* sshd ignores PEM: a key on a line inside a block counts. */
		if (kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line) ==
			KV_OK &&
		    !line.is_blank)
			found_key(&r->found, r->found.line, &line.key,
			    line.comment);
		return;
	}
	if (take_json_line(r, text) ||
	    (!r->plain && r->kind != KIND_LINES && join_line(r, text)))
		return;
	read_one_line(r, text);
}

/* A line that quick took as one key. In another text, look at its comment. */
static void
take_quick_line(struct reader *r, struct kv_span text)
{
	const uint8_t *p;

	r->found.n++;
	decide(r, KIND_LINES);
	for (int i = 0; r->kind == KIND_TEXT && !r->plain && i < 2; i++) {
		if ((p = memchr(text.p, ' ', text.len)) == NULL)
			return;
		p++;
		text.len -= (size_t)(p - text.p);
		text.p = p;
	}
	if (r->kind == KIND_TEXT && !r->plain)
		(void)look_inside(r, text);
}

static void
read_lines(struct reader *r, struct kv_span text)
{
	const struct input_sink *sink = r->found.sink;
	struct quick_line line[QUICK_LINES];

	while (text.len > 0) {
		size_t n = 1;

		/* quick does not know PEM, nor folded lines. */
		if (sink->quick != NULL && r->pem == NULL && !r->ldif) {
			n = sink->quick(text, line, sink->arg);
		} else {
			const uint8_t *nl = memchr(text.p, '\n', text.len);

			line[0].len = nl != NULL ? (size_t)(nl - text.p) + 1 :
						   text.len;
			line[0].done = false;
		}
		for (size_t i = 0; i < n; i++) {
			const size_t len = line[i].len;
			const struct kv_span one = { text.p,
				len - (text.p[len - 1] == '\n') };

			r->found.line++;
			if (line[i].done)
				take_quick_line(r, one);
			else
				read_line(r, one);
			text.p += len;
			text.len -= len;
		}
	}
}

/* Reads with room of its own, if the sink has none. */
static struct input_room *
choose_room(const struct input_sink *sink, struct input_room *own)
{
	return sink->room != NULL ? sink->room : own;
}

void
input_read_block(const struct input_block *block, const struct input_sink *sink)
{
	struct input_room own = { 0 };
	struct reader r = {
		.found = {
			.sink = sink,
			.path = block->path,
			.line = block->first_line - 1,
		},
		.room = choose_room(sink, &own),
		.walked = block->walked,
		.plain = sink->plain,
		.kind = KIND_LINES,
	};

	if ((r.blob = get_room(&r.room->blob, KV_BLOB_MAX_BYTES)) == NULL)
		found_problem(&r.found, 0, strerror(errno));
	else
		read_lines(&r, block->text);
	drop_pem(&r);
	input_room_free(&own);
}

/* Whether the data in r->buf is read only as a whole. */
static bool
is_read_whole(const struct reader *r)
{
	const struct kv_span data = { r->buf, r->len };

	return pem_looks_like_der(data) ||
	    (!r->plain && store_name(data) != NULL);
}

/* How much of a file fill_buffer reads into an empty r->buf. */
static size_t
read_step(const struct reader *r)
{
	return r->found.sink->block != NULL ? SHARED_BYTES : READ_BYTES;
}

/* Tells if r->buf has no room for more. */
static bool
is_full(const struct reader *r)
{
	return BUFFER_BYTES - r->len < source_room(&r->source);
}

/*
 * Reads into r->buf, behind the text that is there. Stops when it has enough,
 * or when a pipe has nothing more for now, so that a slow writer's keys are
 * judged as they come. DER and key stores are read on, up to BUFFER_BYTES.
 * False with r->source.why, or errno.
 */
static bool
fill_buffer(struct reader *r)
{
	const size_t enough = read_step(r);
	const struct source_yield yield = { r->found.n, r->keyless_lines };
	struct source *s = &r->source;
	size_t had = r->len, cap, n;

	while (!is_full(r) && !s->eof) {
		source_poll(s);
		if (r->len > had && (!s->ready || r->len >= enough) &&
		    !is_read_whole(r))
			break;
		cap = BUFFER_BYTES - r->len;
		if (cap > READ_BYTES)
			cap = READ_BYTES;
		if (!source_read(s, &yield, r->buf + r->len, cap, &n))
			return false;
		r->len += n;
	}
	return true;
}

/*
 * Passes the lines in the first use bytes of r->buf to the sink's block
 * function, up to a PEM block, which may go on in the next buffer. The rest of
 * the text moves to a new buffer. False with errno.
 */
static bool
share_lines(struct reader *r, size_t use)
{
	struct input_block block = {
		.path = r->found.path,
		.first_line = r->found.line + 1,
		.walked = r->walked,
		.text = { r->buf, 0 },
		.buffer = r->buf,
	};
	uint64_t lines = 0;
	size_t len = 0;
	uint8_t *next;

	while (len < use) {
		const uint8_t *p = r->buf + len;
		const uint8_t *nl = memchr(p, '\n', use - len);
		size_t n = nl != NULL ? (size_t)(nl - p) : use - len;

		if (pem_is_begin((struct kv_span){ p, n }))
			break;
		lines++;
		len += n + (nl != NULL);
	}
	if (len == 0)
		return true;
	if ((next = malloc(BUFFER_BYTES)) == NULL)
		return false;
	memcpy(next, r->buf + len, r->len - len);
	r->room->buf = next;
	block.text.len = len;
	r->found.sink->block(&block, r->found.sink->arg);
	r->found.line += lines;
	r->buf = next;
	r->len -= len;
	return true;
}

/*
 * Reads the start of a line longer than the buffer. sshd reads lines of any
 * length, so a key before a long comment counts. Returns whether nothing behind
 * the start counts.
 */
static bool
take_long_line(struct reader *r, struct kv_span start)
{
	const struct kv_span no_comment = { start.p, 0 };
	struct kv_line line;
	size_t blanks = 0;

	/* sshd takes any number of blanks before a key. */
	while (blanks < start.len && is_blank(start.p[blanks]))
		blanks++;
	if (kv_line_parse(start, r->blob, KV_BLOB_MAX_BYTES, &line) != KV_OK ||
	    blanks == start.len)
		return false;
	if (line.is_blank)
		return !is_more_than_blank(start);
	found_key(&r->found, r->found.line, &line.key, no_comment);
	return r->kind != KIND_TEXT;
}

/* How much of a long line can be read alone: up to a mark that ends no key. */
static size_t
cut_long_line(struct kv_span text)
{
	size_t n = text.len;

	while (n > text.len / 2 && memchr("\",{};<>", text.p[n - 1], 8) == NULL)
		n--;
	if (n > text.len / 2)
		return n;
	for (n = text.len; n > text.len / 2 && !is_blank(text.p[n - 1]); n--)
		;
	return n > text.len / 2 ? n : text.len;
}

/*
 * Reads a line that fills the buffer, without its end. A key behind its start,
 * as sshd reads it, cannot be read: that is a problem to report. False as
 * fill_buffer.
 */
static bool
read_long_line(struct reader *r)
{
	const uint64_t given = r->found.n;
	const struct kv_span start = { r->buf, r->len };
	const bool binary = memchr(start.p, '\0', BINARY_BYTES) != NULL;
	const uint8_t *nl = NULL;
	bool taken, json, ends_in_nul, first = true;
	size_t used;

	r->found.line++;
	json = take_json(r, start, !r->source.eof, &used);
	taken = !json && take_long_line(r, start);
	do {
		const bool more = nl == NULL && !r->source.eof;
		const struct kv_span part = { r->buf,
			nl != NULL ? (size_t)(nl - r->buf) : r->len };

		if (!first && json)
			json = take_json(r, part, more, &used);
		if (!json)
			used = more ? cut_long_line(part) : part.len;
		if (!json && !taken && !r->plain)
			(void)look_inside(r, (struct kv_span){ r->buf, used });
		first = false;
		ends_in_nul = used > 0 && r->buf[used - 1] == '\0';
		/* A block cannot begin at the end of a part of a line. */
		end_pem(r);
		used += nl != NULL;
		r->len -= used;
		memmove(r->buf, r->buf + used, r->len);
		if (nl != NULL || (r->source.eof && r->len == 0))
			break;
		/*
		 * The NULs of a hole end no line and are in no key. What
		 * follows is cut into the same parts as if they were read.
		 */
		if (!json && ends_in_nul && r->len == 0 &&
		    !source_skip_hole(&r->source, read_step(r)))
			return false;
		if (!fill_buffer(r))
			return false;
		nl = memchr(r->buf, '\n', r->len);
	} while (true);
	if (json)
		note_json_line(r);
	else if (r->found.n == given && !taken && (!r->walked || !binary))
		found_problem(&r->found, r->found.line,
		    kv_strerror(KV_ERR_LINE_TOO_LONG));
	else if (r->found.n > given && !taken)
		decide(r, KIND_TEXT);
	return true;
}

static void
read_der(struct reader *r, struct kv_span data)
{
	struct pem_key key;
	char why[256];

	if (pem_read_der(data, &key, why, sizeof(why))) {
		found_pem_key(&r->found, 1, &key);
		pem_key_free(&key);
	} else if (!r->walked)
		found_problem(&r->found, 1, why);
	/*
	 * sshd reads any file as text: keys on lines in it count, too. Other
	 * lines get no message.
	 */
	r->walked = true;
	read_lines(r, data);
}

/* Names a key store that may hold a key. In a directory, others are silent. */
static void
read_store(struct reader *r, const char *name)
{
	const struct kv_span data = { r->buf, r->len };
	const bool keyless = r->source.eof && store_is_keyless(data);
	char reason[128];

	snprintf(reason, sizeof(reason), "%s%s", name,
	    keyless ? " with certificates only" :
		      ": keyveto does not look into it: export its "
		      "certificates as PEM");
	if (!keyless || !r->walked)
		found_problem(&r->found, 0, reason);
	/* sshd reads any file as text: keys on lines in it count, too. */
	r->walked = true;
}

/* Reads on until the form of the file is known, and as that form. */
static bool
enter_form(struct reader *r)
{
	enum unpack_form form;
	struct kv_span start;
	const char *name;
	char reason[128];

	for (;;) {
		if (!fill_buffer(r))
			return false;
		start = (struct kv_span){ r->buf, r->len };
		if (r->plain || r->raw)
			return true;
		form = unpack_recognise(start);
		if (form == UNPACK_SHORT && !r->source.eof)
			continue;
		if (form == UNPACK_NONE || form == UNPACK_SHORT)
			break;
		if (!source_unpack(&r->source, form, start))
			return false;
		r->len = 0;
	}
	if ((name = store_name(start)) != NULL) {
		read_store(r, name);
	} else if ((name = unpack_foreign(start)) != NULL) {
		snprintf(reason, sizeof(reason),
		    "%s: keyveto does not look into it: unpack it first", name);
		found_problem(&r->found, 0, reason);
		r->walked = true;
	}
	return true;
}

/* Reads r->source.fd to its end. False with r->source.why, or errno. */
static bool
read_stream(struct reader *r)
{
	bool first = true, shares = false;

	for (; !r->source.eof || first; first = false) {
		const uint8_t *nl;
		size_t use, before;

		if (first ? !enter_form(r) : !fill_buffer(r))
			return false;
		if (first && r->source.eof &&
		    pem_looks_like_der((struct kv_span){ r->buf, r->len })) {
			read_der(r, (struct kv_span){ r->buf, r->len });
			return true;
		}
		/* A short text is not worth another thread. */
		shares |= r->found.sink->block != NULL && r->len >= READ_BYTES;
		if (is_full(r) && memchr(r->buf, '\n', r->len) == NULL &&
		    !read_long_line(r))
			return false;
		nl = memrchr(r->buf, '\n', r->len);
		use = nl != NULL ? (size_t)(nl - r->buf) + 1 : 0;
		if (r->source.eof)
			use = r->len;
		before = r->len;
		/* In another text, a line may belong to the one before. */
		if (shares && r->pem == NULL && r->kind == KIND_LINES &&
		    !share_lines(r, use))
			return false;
		use -= before - r->len;
		read_lines(r, (struct kv_span){ r->buf, use });
		r->len -= use;
		memmove(r->buf, r->buf + use, r->len);
	}
	return true;
}

/* Says that a file that was named holds nothing that looks like a key. */
static void
give_emptiness(struct reader *r)
{
	if (r->n_empty == 1 && r->found.n == 0)
		found_problem(&r->found, r->empty[0].line,
		    kv_strerror(r->empty[0].reason));
	else if (r->n_empty > 0 && r->found.n == 0)
		found_problem(&r->found, 0, "no key in this file");
	free(r->empty);
}

/* Reads a file, from where it stands, to its end. */
static void
read_all(struct reader *r)
{
	if (!read_stream(r))
		found_problem(&r->found, 0,
		    r->source.why != NULL ? r->source.why : strerror(errno));
	end_joined(r);
	end_owned(r, true);
	end_pem(r);
	/* Something like a key is there: each line without one is a problem. */
	if (r->found.n > 0)
		decide(r, KIND_LINES);
	give_emptiness(r);
}

/*
 * sshd reads any file as text, also one that is gzip or UTF-16: keys on lines
 * in it count, too. A file that begins in UTF-16 may go on in ASCII, if another
 * program appended to it.
 */
static void
read_again_raw(const struct reader *r)
{
	const enum unpack_form form = unpack_form(&r->source.unpack);
	struct input_sink sink = *r->found.sink;
	struct reader again = {
		.found = { .sink = &sink, .path = r->found.path },
		.room = r->room,
		.walked = true,
		.plain = form == UNPACK_GZIP || form == UNPACK_XZ,
		.raw = true,
		.kind = KIND_LINES,
		.source = {
			.fd = r->source.fd,
			.regular = true,
			.size = r->source.size,
		},
		.blob = r->blob,
		.buf = r->buf,
	};

	sink.block = NULL;
	if (lseek(r->source.fd, 0, SEEK_SET) == 0)
		read_all(&again);
}

void
input_read_file(const struct input_file *file, const struct input_sink *sink)
{
	struct input_room own = { 0 };
	struct reader r = {
		.found = { .sink = sink, .path = file->path },
		.room = choose_room(sink, &own),
		.walked = file->walked,
		.plain = sink->plain,
		.kind = sink->plain ? KIND_LINES : KIND_UNKNOWN,
		.source = {
			.fd = file->fd,
			.regular = file->regular,
			.fifo = file->fifo,
			.wary = sink->wary,
			.size = file->size,
			.progress = sink->progress,
			.arg = sink->arg,
		},
	};

	r.buf = get_room(&r.room->buf, BUFFER_BYTES);
	r.blob = get_room(&r.room->blob, KV_BLOB_MAX_BYTES);
	if (r.buf == NULL || r.blob == NULL) {
		found_problem(&r.found, 0, strerror(errno));
	} else {
		if (sink->file != NULL)
			sink->file(file->path, sink->arg);
		read_all(&r);
		if (r.source.unpack.n > 0 && r.source.regular)
			read_again_raw(&r);
	}
	owners_free(r.owners);
	source_free(&r.source);
	input_room_free(&own);
}

static void
describe(struct input_file *file, int fd, const struct stat *st)
{
	file->fd = fd;
	file->regular = S_ISREG(st->st_mode);
	file->size = (uint64_t)st->st_size;
	file->fifo = S_ISFIFO(st->st_mode) &&
	    ((unsigned int)fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

void
input_describe_file(struct input_file *file, int fd, const char *path,
    bool walked)
{
	struct stat st;

	*file = (struct input_file){
		.fd = fd,
		.path = path,
		.walked = walked,
	};
	if (fstat(fd, &st) == 0)
		describe(file, fd, &st);
}

static void
read_named(int fd, const char *path, bool walked, const struct input_sink *sink)
{
	struct input_file file;

	input_describe_file(&file, fd, path, walked);
	input_read_file(&file, sink);
}

void
input_read_fd(int fd, const char *path, const struct input_sink *sink)
{
	read_named(fd, path, false, sink);
}

void
input_read_found(const struct walk_file *found, const struct input_sink *sink)
{
	struct input_problem p = { .path = found->path };
	struct input_file file = { .path = found->path, .walked = true };
	struct stat st;
	int fd = walk_open(found, &st, &p.reason);

	if (fd != -1) {
		describe(&file, fd, &st);
		input_read_file(&file, sink);
		close(fd);
	} else if (p.reason != NULL) {
		sink->problem(&p, sink->arg);
	}
}

static void
read_found(int fd, const char *path, bool walked, void *arg)
{
	read_named(fd, path, walked, arg);
}

static void
read_walked(const struct walk_file *file, void *arg)
{
	const struct input_sink *sink = arg;

	if (sink->found != NULL)
		sink->found(file, sink->arg);
	else
		input_read_found(file, sink);
}

static void
pass_problem(const struct input_problem *problem, void *arg)
{
	const struct input_sink *sink = arg;

	sink->problem(problem, sink->arg);
}

void
input_read(const char *path, const struct input_sink *sink)
{
	struct input_room own = { 0 };
	struct input_sink roomy = *sink;
	const struct input_walk w = {
		.file = read_found,
		.found = read_walked,
		.problem = pass_problem,
		.arg = &roomy,
	};

	roomy.room = choose_room(sink, &own);
	input_walk(path, &w);
	input_room_free(&own);
}
