/* SPDX-License-Identifier: ISC */
/* Finds keys on lines, in PEM blocks, and inside lines. */
#include "keys/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/inside.h"
#include "keys/shape.h"

/* A NUL in this many first bytes means that the file is not text. */
#define BINARY_BYTES 4096

static bool
block_open(struct block *b, uint64_t line)
{
	if (*b->room == NULL && (*b->room = malloc(PEM_MAX_BYTES)) == NULL)
		return false;
	*b = (struct block){ .room = b->room, .is_open = true, .line = line };
	return true;
}

/* Returns true if the line is the END line. */
static bool
block_add(struct block *b, struct kv_span line)
{
	uint8_t *p = *b->room + b->len;

	if (line.len + 1 > PEM_MAX_BYTES - b->len) {
		b->too_long = true;
	} else {
		if (line.len > 0)
			memcpy(p, line.p, line.len);
		p[line.len] = '\n';
		b->len += line.len + 1;
	}
	return pem_is_end(line);
}

/* Erases the block: it may be a private key. */
static void
block_close(struct block *b)
{
	if (b->is_open)
		explicit_bzero(*b->room, b->len);
	b->is_open = false;
}

/* Tells if a block in a file that nobody named is only spoken of. */
static bool
is_mere_mark(const struct lines *l, struct kv_span block)
{
	return l->walked && !pem_has_base64(block);
}

/* Reports a block without an END line, and drops it. */
static void
cut_block(struct lines *l)
{
	const struct kv_span text = { *l->block.room, l->block.len };

	if (l->block.is_open && !is_mere_mark(l, text))
		found_problem(&l->found, l->block.line, "PEM block has no end");
	block_close(&l->block);
}

static void
read_pem(struct lines *l, struct kv_span block, uint64_t line)
{
	struct pem_key key;
	char why[256];

	if (pem_read(block, &key, why, sizeof(why))) {
		found_pem_key(&l->found, line, &key);
		pem_key_free(&key);
	} else if (!is_mere_mark(l, block)) {
		found_problem(&l->found, line, why);
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
		if (!block_open(b, l->found.line)) {
			found_problem(&l->found, l->found.line,
			    strerror(errno));
			return;
		}
		mention_drop(&l->mention);
		kind_add_block(&l->kind, &l->found);
	}
	if (!block_add(b, text))
		return;
	if (b->too_long)
		found_problem(&l->found, b->line, "PEM block is too long");
	else
		read_pem(l, (struct kv_span){ *b->room, b->len }, b->line);
	block_close(b);
}

static void
on_mention(uint64_t line, void *arg)
{
	struct lines *l = arg;

	kind_decide(&l->kind, KIND_TEXT, &l->found);
	found_problem(&l->found, line,
	    "a private key in a form that keyveto does not read: put it into "
	    "a file of its own");
}

/* Looks for a private key that cannot be read. */
static void
look_for_mention(struct lines *l, struct kv_span text)
{
	l->mention.found = on_mention;
	l->mention.arg = l;
	mention_read(&l->mention, text, l->found.line);
}

static void
end_mention_line(struct lines *l)
{
	if (mention_is_open(&l->mention))
		look_for_mention(l,
		    (struct kv_span){ (const uint8_t *)"\n", 1 });
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
		mention_drop(&l->mention);
		read_pem(l, found->text, l->found.line);
		break;
	case INSIDE_UNKNOWN:
		if (!l->silent)
			found_unknown_type(&l->found, found->text);
		break;
	case INSIDE_PROBLEM:
		if (!l->silent)
			found_problem(&l->found, l->found.line, found->reason);
		break;
	case INSIDE_TEXT:
		look_for_mention(l, found->text);
		break;
	}
}

/* Reports the keys inside a text. Returns how much looks like keys. */
static size_t
look_inside(struct lines *l, struct kv_span text)
{
	return inside_find(text, l->blob, on_inside, l);
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

/* The comment of a line; of known_hosts, its hosts come first. */
static struct kv_span
name_line(const struct lines *l, const struct shape *s, char *buf, size_t cap)
{
	const struct kv_span hosts = s->line.options, comment = s->line.comment;
	const bool hashed = hosts.len > 0 && hosts.p[0] == '|';

	/* Elsewhere, a host looks like an option. */
	if (hosts.len == 0 || l->plain ||
	    !(hashed || s->revoked || strstr(l->found.path, "known_hosts")))
		return comment;
	snprintf(buf, cap, "%.*s%s%s%.*s",
	    hashed ? 6 : (int)(hosts.len < cap / 2 ? hosts.len : cap / 2),
	    hashed ? "hashed" : (const char *)hosts.p,
	    s->revoked ? " (revoked here)" : "", comment.len > 0 ? " " : "",
	    (int)comment.len, (const char *)comment.p);
	return (struct kv_span){ (const uint8_t *)buf, strlen(buf) };
}

/* Reports the key of a line, and those behind it. */
static void
tell_key(struct lines *l, const struct shape *s, struct kv_span text)
{
	char hosts[1024];

	found_key(&l->found, l->found.line, &s->line.key,
	    name_line(l, s, hosts, sizeof(hosts)));
	mention_drop(&l->mention);
	/* To sshd, a key in a comment is none. */
	if (!l->plain && (s->in_text || l->kind.is == KIND_TEXT))
		(void)look_inside(l, s->line.comment);
	else if (!l->plain)
		look_for_mention(l, s->line.comment);
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
	const uint64_t told = l->found.n;
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
	/* There, options stand between the name and the key. */
	if (l->found.n > told && strstr(l->found.path, "allowed_signers"))
		return;
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
		else if (!l->plain)
			look_for_mention(l, text);
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

/* sshd ignores PEM: a key on a line inside a block counts. */
static void
read_key_in_block(struct lines *l, struct kv_span text)
{
	struct kv_line line = { 0 };

	if (kv_line_parse(text, l->blob, KV_BLOB_MAX_BYTES, &line) == KV_OK &&
	    !line.is_blank)
		found_key(&l->found, l->found.line, &line.key, line.comment);
}

/* Reads a line of a block of a kind without keys: it may hold some, as any text */
static void
read_foreign(struct lines *l, struct kv_span text)
{
	const bool walked = l->walked;

	l->walked = true;
	read_one_line(l, text);
	l->walked = walked;
	l->foreign = !pem_is_end(text);
}

static void
read_line(struct lines *l, struct kv_span text)
{
	const bool begins = pem_is_begin(text);

	if (begins && pem_is_keyless(text)) {
		cut_block(l);
		l->foreign = true;
		kind_add_block(&l->kind, &l->found);
	} else if (l->block.is_open || begins) {
		l->foreign = false;
		add_to_block(l, text);
		read_key_in_block(l, text);
		return;
	}
	if (l->foreign)
		read_foreign(l, text);
	else
		read_one_line(l, text);
	end_mention_line(l);
}

void
lines_read(struct lines *l, struct kv_span text)
{
	while (text.len > 0) {
		const uint8_t *nl = memchr(text.p, '\n', text.len);
		const size_t len = nl != NULL ?
		    (size_t)(nl - text.p) :
		    text.len;

		l->found.line++;
		read_line(l, (struct kv_span){ text.p, len });
		text.p += len + (nl != NULL);
		text.len -= len + (nl != NULL);
	}
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
			.binary = memchr(part.p, '\0',
				      part.len < BINARY_BYTES ?
					  part.len :
					  BINARY_BYTES) != NULL,
		};
		l->found.line++;
	}
	if (first)
		at = read_start(l, part, &line->done);
	used = more ? cut_part(part) : part.len;
	used = used < at ? at : used;
	if (line->done && !line->nul &&
	    (nul = memchr(part.p + at, '\0', used - at)) != NULL) {
		line->nul = true;
		at = (size_t)(nul - part.p);
	}
	if ((!line->done || line->nul) && !l->plain)
		(void)look_inside(l,
		    (struct kv_span){ part.p + at, used - at });
	/* A block cannot begin at the end of a part of a line. */
	cut_block(l);
	return used;
}

void
lines_finish_part(struct lines *l, const struct long_line *line)
{
	end_mention_line(l);
	if (l->found.n == line->found && !line->done &&
	    (!l->walked || !line->binary))
		found_problem(&l->found, l->found.line,
		    kv_strerror(KV_ERR_LINE_TOO_LONG));
	else if (l->found.n > line->found && !line->done)
		kind_decide(&l->kind, KIND_TEXT, &l->found);
}

void
lines_finish(struct lines *l)
{
	cut_block(l);
	kind_finish(&l->kind, &l->found);
}

void
lines_free(struct lines *l)
{
	block_close(&l->block);
}
