/* SPDX-License-Identifier: ISC */
/* Finds keys on lines, in PEM blocks, in JSON and LDIF, and inside lines. */
#include "keys/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keys/fingerprints.h"
#include "keys/inside.h"
#include "keys/shape.h"

/* A NUL in this many first bytes means that the file is not text. */
#define BINARY_BYTES 4096

static size_t look_inside(struct lines *l, struct kv_span text);
static void read_line(struct lines *l, struct kv_span text);
static void read_waiting(struct lines *l);
static void tell_key(struct lines *l, const struct shape *s,
    struct kv_span text);
static void cut_block(struct lines *l);

/* Removes the first line of a text, and its line end. */
static struct kv_span
take_line(struct kv_span *text)
{
	const uint8_t *nl = memchr(text->p, '\n', text->len);
	const struct kv_span line = { text->p,
		nl != NULL ? (size_t)(nl - text->p) : text->len };

	text->p += line.len + (nl != NULL);
	text->len -= line.len + (nl != NULL);
	return line;
}

/*
 * Reads the lines behind the BEGIN line of the block, which is none, as those of
 * any text, and drops the block. None of them is a problem for having no key.
 */
static void
read_again(struct lines *l)
{
	struct kv_span rest = block_text(&l->block);
	/* The lines may begin a block, which needs memory of its own. */
	uint8_t *room = *l->block.room;
	const size_t len = rest.len;
	const uint64_t now = l->found.line;
	const bool walked = l->walked;

	*l->block.room = NULL;
	l->block.is_open = false;
	kind_decide(&l->kind, KIND_TEXT, &l->found);
	l->walked = l->again = true;
	l->found.line = l->block.line;
	(void)take_line(&rest);
	while (rest.len > 0) {
		l->found.line++;
		read_line(l, take_line(&rest));
	}
	read_waiting(l);
	cut_block(l);
	l->walked = walked;
	l->again = false;
	l->found.line = now;
	explicit_bzero(room, len);
	free(*l->block.room);
	*l->block.room = room;
}

/*
 * Reports a block without an END line, if it may hold a key, and drops it. One of
 * a kind that holds no key may be a text with keys.
 */
static void
cut_block(struct lines *l)
{
	const struct block *b = &l->block;

	if (b->is_open && !b->is_keyless) {
		found_problem(&l->found, b->line, "PEM block has no end");
	} else if (b->is_open && !l->plain) {
		if (b->too_long)
			found_problem(&l->found, b->line,
			    "PEM block is too long");
		read_again(l);
	}
	block_close(&l->block);
}

/* Looks for keys between the BEGIN and the END of a block that is no key. */
static void
look_inside_block(struct lines *l)
{
	struct kv_span rest = block_text(&l->block), text;
	const uint64_t last = l->found.line;
	struct shape s;

	l->in_block = true;
	l->found.line = l->block.line;
	(void)take_line(&rest);
	while (++l->found.line < last) {
		text = take_line(&rest);
		shape_read(text, l->blob, &s);
		if (s.is == SHAPE_KEY)
			tell_key(l, &s, text);
		else
			(void)look_inside(l, text);
	}
	l->found.line = last;
	l->in_block = false;
}

static void
read_pem(struct lines *l, struct kv_span block, uint64_t line)
{
	const struct input_sink *sink = l->found.sink;
	struct pem_key key;
	char why[256];

	if (sink->pem != NULL)
		sink->pem(block, sink->arg);
	if (pem_read(block, &key, why, sizeof(why))) {
		found_pem_key(&l->found, line, &key);
		pem_key_free(&key);
	} else if (!key.keyless) {
		found_problem(&l->found, line, why);
	} else if (l->block.is_open && !l->in_block && !l->plain) {
		look_inside_block(l);
	}
}

/*
 * Adds a line to the PEM block, of which the first is its BEGIN line, and reads
 * the block at its END line.
 */
static void
add_to_block(struct lines *l, struct kv_span text)
{
	struct block *b = &l->block;

	if (b->is_open && pem_is_begin(text))
		cut_block(l);
	if (!b->is_open) {
		/* No line is read a third time. */
		if (l->again && pem_is_keyless(text))
			return;
		if (!block_open(b, l->found.line)) {
			found_problem(&l->found, l->found.line,
			    strerror(errno));
			return;
		}
		b->is_keyless = pem_is_keyless(text);
		kind_add_block(&l->kind, &l->found);
	}
	if (!block_add(b, text))
		return;
	if (b->too_long)
		found_problem(&l->found, b->line, "PEM block is too long");
	else
		read_pem(l, block_text(b), b->line);
	block_close(b);
}

/*
 * As add_to_block, for a block that began inside a line. False if the line is
 * none of the block's.
 */
static bool
add_inside_block(struct lines *l, struct kv_span text)
{
	struct kv_span part[2], rest;
	const size_t n = block_split(&l->block, text, part, &rest);
	struct pem_place place;

	if (n == 0) {
		block_close(&l->block);
		return false;
	}
	/* Another one begins, behind a prefix of its own. */
	if (pem_find(part[0], &place)) {
		cut_block(l);
		return false;
	}
	/* In prose, other words follow an empty line. */
	l->block.is_new = l->block.is_new && part[0].len == 0;
	for (size_t i = 0; i < n; i++)
		add_to_block(l, part[i]);
	if (!l->block.is_open)
		(void)look_inside(l, rest);
	return true;
}

static void
on_inside(const struct inside_found *found, void *arg)
{
	struct lines *l = arg;

	switch (found->is) {
	case INSIDE_KEY:
		found_key(&l->found, l->found.line, found->key, found->text);
		break;
	case INSIDE_BLOCK:
		read_pem(l, found->text, l->found.line);
		break;
	case INSIDE_BEGIN:
		/* All of the block that it stands in was collected already. */
		if (l->in_block)
			break;
		add_to_block(l, found->text);
		l->block.inside = l->block.is_new = l->block.is_open;
		break;
	case INSIDE_UNKNOWN:
		if (!l->silent)
			found_unknown_type(&l->found, found->text);
		break;
	case INSIDE_PROBLEM:
		if (!l->silent)
			found_problem(&l->found, l->found.line, found->reason);
		break;
	}
}

/* Reports the keys inside a text. Returns how much looks like keys. */
static size_t
look_inside(struct lines *l, struct kv_span text)
{
	const bool was_open = l->block.is_open;
	const size_t found = inside_find(text, l->blob, on_inside, l);

	if (l->block.is_open && !was_open)
		block_note_prefix(&l->block, text);
	return found;
}

/* A line ends at a NUL for sshd. In a list made with NULs, keys follow it. */
static void
look_behind_nul(struct lines *l, struct kv_span text)
{
	const uint8_t *nul = memchr(text.p, '\0', text.len);

	if (nul != NULL && !l->plain)
		(void)look_inside(l,
		    (struct kv_span){ nul, (size_t)(text.p + text.len - nul) });
}

/* Reports the key of a line, and those behind it. */
static void
tell_key(struct lines *l, const struct shape *s, struct kv_span text)
{
	found_key(&l->found, l->found.line, &s->line.key, s->line.comment);
	/* To sshd, a key in a comment is none. */
	if (!l->plain && (s->in_text || l->kind.is == KIND_TEXT))
		(void)look_inside(l, s->line.comment);
	look_behind_nul(l, text);
}

/* Tells if a line without a key must stand in a file of keys. */
static bool
is_bad_key(const struct lines *l, struct kv_span text, const struct shape *s)
{
	return (s->broken && !s->in_text) ||
	    (s->err == KV_ERR_LINE_QUOTE && !l->walked &&
		!shape_is_opening(text) &&
		memchr(text.p, '\0', text.len) == NULL &&
		memmem(text.p, text.len, "AAAA", 4) != NULL);
}

/* Reads a line that is no key, as sshd reads it. */
static void
read_other(struct lines *l, struct kv_span text, const struct shape *s)
{
	size_t found = 0;

	l->keyless++;
	if (is_bad_key(l, text, s))
		kind_decide(&l->kind, KIND_LINES, &l->found);
	/* Then the problem of the line says it all. */
	l->silent = l->kind.is == KIND_LINES && !l->walked;
	if (!l->plain &&
	    !(s->broken && !s->keyless && !s->in_text &&
		l->kind.is == KIND_LINES))
		found = look_inside(l, text);
	l->silent = false;
	if (found > 0 || shape_is_opening(text))
		kind_decide(&l->kind, KIND_TEXT, &l->found);
	if ((l->kind.is == KIND_LINES && !l->walked) ||
	    (found == 0 && !s->keyless))
		found_problem(&l->found, l->found.line, kv_strerror(s->err));
	else if (found == 0 && !l->walked)
		kind_add_empty(&l->kind, s->err, &l->found);
}

static void
read_one_line(struct lines *l, struct kv_span text)
{
	struct shape s;

	shape_read(text, l->blob, &s);
	switch (s.is) {
	case SHAPE_KEY:
		kind_decide(&l->kind, s.in_text ? KIND_TEXT : KIND_LINES,
		    &l->found);
		tell_key(l, &s, text);
		break;
	case SHAPE_BLANK:
		if (!l->plain && s.has_more)
			(void)look_inside(l, s.rest);
		break;
	case SHAPE_NEW_TYPE:
		kind_decide(&l->kind, KIND_LINES, &l->found);
		found_unknown_type(&l->found, s.line.type);
		look_behind_nul(l, text);
		break;
	case SHAPE_MARKED:
		kind_decide(&l->kind, KIND_LINES, &l->found);
		found_problem(&l->found, l->found.line,
		    "byte order mark before the key: "
		    "sshd does not read this line");
		break;
	case SHAPE_OTHER:
		read_other(l, text, &s);
		break;
	}
}

/* Tells if a string of JSON holds what look_inside would find. */
static bool
string_has_key(struct kv_span text, void *arg)
{
	const struct lines *l = arg;

	return inside_find(text, l->blob, NULL, NULL) > 0;
}

static void
on_fingerprint(const uint8_t digest[static KV_SHA256_BYTES], void *arg)
{
	struct lines *l = arg;

	found_fingerprint(&l->found, digest);
}

/* Looks for fingerprints in a string of JSON, which may be a secret. */
static void
read_fingerprints(struct lines *l, struct kv_span string)
{
	size_t len = string.len;
	uint8_t *text = malloc(len + 1);

	if (text == NULL) {
		found_problem(&l->found, l->found.line, strerror(errno));
		return;
	}
	memcpy(text, string.p, len);
	(void)inside_unescape(text, &len);
	(void)fingerprints_find((struct kv_span){ text, len }, on_fingerprint,
	    l);
	explicit_bzero(text, string.len);
	free(text);
}

/* Reads what a scanner found, a string of JSON. */
static void
read_finding(struct lines *l, struct kv_span string)
{
	const uint64_t before = l->found.n;
	const bool is_key = l->found.finding->is_private_key;
	struct pem_place block;
	const bool has_block = pem_find(string, &block);

	if (has_block && !block.keyless && block.end.len == 0)
		found_problem(&l->found, l->found.line,
		    "the report has only a part of the key: run this command "
		    "with all of it, as 'git show COMMIT:FILE' prints it");
	else
		(void)look_inside(l, string);
	if (l->found.n == before)
		read_fingerprints(l, string);
	if (l->found.n == before && is_key && !has_block)
		found_problem(&l->found, l->found.line,
		    "the report does not have the key: have the scanner write "
		    "it, or run this command with the key");
	/* It is no file without a key. */
	if (l->found.n++ == before)
		l->no_keys++;
}

/* Reads what was held, now that its owner is known. */
static void
on_owner_text(const struct owner_text *t, void *arg)
{
	struct lines *l = arg;
	const uint64_t line = l->found.line;

	l->found.line = t->line;
	l->found.owner = t->owner;
	l->found.finding = t->finding;
	if (t->is_line) {
		read_one_line(l, t->text);
	} else if (t->finding != NULL) {
		read_finding(l, t->text);
	} else {
		(void)look_inside(l, t->text);
		/* A block of PEM cannot go on behind a string. */
		block_close(&l->block);
	}
	l->found.owner = (struct owner){ 0 };
	l->found.finding = NULL;
	l->found.line = line;
}

static void
on_owner_note(uint64_t line, const char *text, void *arg)
{
	struct lines *l = arg;

	found_note(&l->found, line, text);
}

/* False if there is no memory for it: then keys have no owner. */
static bool
start_owners(struct lines *l)
{
	const struct owner_sink sink = {
		.has_key = string_has_key,
		.text = on_owner_text,
		.note = on_owner_note,
		.arg = l,
	};

	if (l->owners == NULL)
		l->owners = owners_new(&sink);
	return l->owners != NULL;
}

/* Reads what is held. entry: an entry of LDIF, or the text, ends here. */
static void
read_owned(struct lines *l, bool entry)
{
	if (l->owners != NULL)
		owners_flush(l->owners, entry, l->found.line);
}

/* Reads the lines that were joined, as one line with the number of the first */
static void
read_joined(struct lines *l)
{
	struct fold f = l->fold;
	const struct kv_span text = { f.text, f.len };
	const uint64_t line = l->found.line;

	if (f.text == NULL)
		return;
	l->fold = (struct fold){ 0 };
	l->found.line = f.line;
	if (f.ldif && start_owners(l))
		owners_ldif(l->owners, text, f.line);
	else
		read_one_line(l, text);
	l->found.line = line;
	fold_free(&f);
}

/* Tells if a line may be JSON: it begins an object or array, or one is open. */
static bool
may_be_json(const struct lines *l, struct kv_span text)
{
	if (l->plain || l->kind.is == KIND_LINES || l->block.is_open)
		return false;
	if (l->owners != NULL && owners_in_json(l->owners))
		return true;
	/* A line of LDIF that starts with a blank goes on. */
	if (!l->ldif)
		text = shape_skip_blanks(text);
	return text.len > 0 && (text.p[0] == '{' || text.p[0] == '[');
}

/*
 * Reads a line of JSON, or a part of a long one: more tells that it goes on.
 * Sets *usedp to how much it read. False if this is no JSON: nothing was read.
 */
static bool
read_json(struct lines *l, struct kv_span text, bool more, size_t *usedp)
{
	size_t bom = 0;

	if (l->found.line == 1 && text.len > 3 &&
	    memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		bom = 3;
	text.p += bom;
	text.len -= bom;
	if (!may_be_json(l, text) || !start_owners(l))
		return false;
	read_joined(l);
	if (l->ldif && !owners_in_json(l->owners))
		read_owned(l, true);
	if (!owners_json(l->owners, text, more, l->found.line, usedp))
		return false;
	kind_decide(&l->kind, KIND_TEXT, &l->found);
	/* The line breaks off, or goes on as another text. */
	if (!more && *usedp < text.len) {
		read_owned(l, true);
		(void)look_inside(l,
		    (struct kv_span){ text.p + *usedp, text.len - *usedp });
		*usedp = text.len;
	}
	*usedp += bom;
	return true;
}

static void
note_json_line(struct lines *l)
{
	l->keyless++;
	/* An answer without a key, [], is no file without a key. */
	if (l->found.n == 0 && !l->walked && owners_json_has_values(l->owners))
		kind_add_empty(&l->kind, KV_ERR_LINE_NO_KEY, &l->found);
}

/* As read_json, for a whole line. */
static bool
read_json_line(struct lines *l, struct kv_span text)
{
	size_t used;

	if (!read_json(l, text, false, &used))
		return false;
	note_json_line(l);
	return true;
}

/* Returns true if the line is joined with others, and read later. */
static bool
join_line(struct lines *l, struct kv_span text)
{
	if (text.len > 0 && text.p[text.len - 1] == '\r')
		text.len--;
	if (l->fold.text != NULL) {
		if (fold_add(&l->fold, text))
			return true;
		read_joined(l);
	}
	if (fold_is_dn(text)) {
		kind_decide(&l->kind, KIND_TEXT, &l->found);
		l->ldif = true;
	}
	if (l->ldif && !fold_is_attribute(text))
		read_owned(l, fold_is_blank(text));
	return fold_start(&l->fold, text, l->ldif, l->found.line);
}

/* Reads what waits for more lines, which do not come. */
static void
read_waiting(struct lines *l)
{
	read_joined(l);
	read_owned(l, true);
}

/* sshd ignores PEM: a key on a line inside a block counts. */
static void
read_key_in_block(struct lines *l, struct kv_span text)
{
	struct kv_line line = { 0 };

	if (kv_line_parse(text, l->blob, KV_BLOB_MAX_BYTES, &line) == KV_OK &&
	    !line.is_blank)
		found_key(&l->found, l->found.line, &line.key, line.comment);
}

static void
read_line(struct lines *l, struct kv_span text)
{
	if (l->block.is_open || pem_is_begin(text)) {
		read_joined(l);
		read_owned(l, false);
		if (!l->block.is_open || !l->block.inside || pem_is_begin(text))
			add_to_block(l, text);
		else if (!add_inside_block(l, text)) {
			read_line(l, text);
			return;
		}
		/* All of a block without a key is read at its end. */
		if (!l->block.is_keyless || l->plain) {
			read_key_in_block(l, text);
		} else if (l->block.is_open && l->block.too_long) {
			cut_block(l);
			read_line(l, text);
		}
		return;
	}
	if (read_json_line(l, text) ||
	    (!l->plain && l->kind.is != KIND_LINES && join_line(l, text)))
		return;
	read_one_line(l, text);
}

/* Notes a line that quick read as a key. In another text, its comment counts */
static void
add_quick_line(struct lines *l, struct kv_span text)
{
	const uint8_t *p;

	l->found.n++;
	kind_decide(&l->kind, KIND_LINES, &l->found);
	if (l->kind.is != KIND_TEXT || l->plain)
		return;
	for (int i = 0; i < 2; i++) {
		if ((p = memchr(text.p, ' ', text.len)) == NULL)
			return;
		p++;
		text.len -= (size_t)(p - text.p);
		text.p = p;
	}
	(void)look_inside(l, text);
}

void
lines_read(struct lines *l, struct kv_span text)
{
	const struct input_sink *sink = l->found.sink;
	struct quick_line line[QUICK_LINES];

	while (text.len > 0) {
		size_t n = 1;

		/* quick does not know PEM, nor folded lines. */
		if (sink->quick != NULL && !l->block.is_open && !l->ldif) {
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

			l->found.line++;
			if (line[i].done)
				add_quick_line(l, one);
			else
				read_line(l, one);
			text.p += len;
			text.len -= len;
		}
	}
}

bool
lines_are_separate(const struct lines *l)
{
	/* In another text, a line may belong to the one before. */
	return !l->block.is_open && l->kind.is == KIND_LINES;
}

/*
 * Reads the start of a long line, as sshd does. Returns how much of it is read,
 * and sets *donep if nothing behind that counts, up to a NUL.
 */
static size_t
read_start(struct lines *l, struct kv_span start, bool *donep)
{
	const struct kv_span no_comment = { start.p, 0 };
	struct kv_line line;
	size_t head;

	*donep = false;
	/* sshd takes any number of blanks before a key. */
	if (kv_line_parse(start, l->blob, KV_BLOB_MAX_BYTES, &line) != KV_OK ||
	    shape_skip_blanks(start).len == 0)
		return 0;
	if (line.is_blank) {
		*donep = !shape_has_more(start);
		return 0;
	}
	found_key(&l->found, l->found.line, &line.key, no_comment);
	*donep = l->kind.is != KIND_TEXT;
	head = (size_t)(line.base64.p - start.p);
	if (!*donep && !l->plain)
		(void)look_inside(l, (struct kv_span){ start.p, head });
	return head + line.base64.len;
}

/* How much of a long line can be read alone: up to a mark that ends no key. */
static size_t
cut_part(struct kv_span text)
{
	size_t n = text.len;

	while (n > text.len / 2 && memchr("\",{};<>", text.p[n - 1], 8) == NULL)
		n--;
	if (n > text.len / 2)
		return n;
	for (n = text.len;
	     n > text.len / 2 && text.p[n - 1] != ' ' && text.p[n - 1] != '\t';
	     n--)
		;
	return n > text.len / 2 ? n : text.len;
}

size_t
lines_read_part(struct lines *l, struct long_line *line, struct kv_span part,
    bool more)
{
	const bool first = !line->started;
	const uint8_t *nul;
	size_t used, at = 0;

	if (first) {
		cut_block(l);
		*line = (struct long_line){
			.found = l->found.n,
			.started = true,
			.json = true,
			.binary = memchr(part.p, '\0',
				      part.len < BINARY_BYTES ?
					  part.len :
					  BINARY_BYTES) != NULL,
		};
		l->found.line++;
	}
	line->json = line->json && read_json(l, part, more, &used);
	if (first && !line->json)
		at = read_start(l, part, &line->done);
	if (!line->json) {
		used = more ? cut_part(part) : part.len;
		used = used < at ? at : used;
	}
	if (line->done && !line->nul &&
	    (nul = memchr(part.p + at, '\0', used - at)) != NULL) {
		line->nul = true;
		at = (size_t)(nul - part.p);
	}
	if (!line->json && (!line->done || line->nul) && !l->plain)
		(void)look_inside(l,
		    (struct kv_span){ part.p + at, used - at });
	/* A block cannot begin at the end of a part of a line. */
	cut_block(l);
	return used;
}

void
lines_finish_part(struct lines *l, const struct long_line *line)
{
	if (line->json)
		note_json_line(l);
	else if (l->found.n == line->found && !line->done &&
	    (!l->walked || !line->binary))
		found_problem(&l->found, l->found.line,
		    kv_strerror(KV_ERR_LINE_TOO_LONG));
	else if (l->found.n > line->found && !line->done)
		kind_decide(&l->kind, KIND_TEXT, &l->found);
}

/* Says how many findings of scanners are no keys, or that JSON has none. */
static void
finish_findings(struct lines *l)
{
	const struct input_sink *sink = l->found.sink;
	char text[INPUT_NO_KEYS_BYTES];

	if (l->owners == NULL)
		return;
	if (owners_findings(l->owners) == 0) {
		if (l->found.n == 0 && !l->walked &&
		    owners_json_has_values(l->owners))
			found_problem(&l->found, 0,
			    "no key in this JSON, and it is no report of "
			    "gitleaks, betterleaks, TruffleHog, GitHub or "
			    "GitLab");
	} else if (sink->findings != NULL) {
		sink->findings(l->found.path, l->no_keys, sink->arg);
	} else if (l->no_keys > 0) {
		input_no_keys(l->no_keys, text);
		found_note(&l->found, 0, text);
	}
}

void
lines_finish(struct lines *l)
{
	read_waiting(l);
	cut_block(l);
	finish_findings(l);
	kind_finish(&l->kind, &l->found);
}

void
lines_free(struct lines *l)
{
	block_close(&l->block);
	fold_free(&l->fold);
	owners_free(l->owners);
	l->owners = NULL;
}
