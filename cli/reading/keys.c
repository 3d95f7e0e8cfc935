/* SPDX-License-Identifier: ISC */
#include "reading/keys.h"

#include <string.h>

#include "base/io.h"
#include "kv_fingerprint.h"
#include "reading/finding.h"
#include "reading/talk.h"

#define PATH_BYTES READING_PACKET_BYTES
#define TYPE_BYTES 64
#define TEXT_BYTES (2 * READING_PACKET_BYTES)
/* A day: longer than the largest archive takes. */
#define KEYS_SECONDS_MAX (24 * 60 * 60)

/* Of one call. */
struct keys_read {
	struct talk talk;
	const struct input_sink *sink;
};

struct blob {
	uint8_t byte[KV_BLOB_MAX_BYTES];
	size_t len;
};

static void
add_to_blob(const void *p, size_t len, void *arg)
{
	struct blob *b = arg;

	if (len > 0 && len <= sizeof(b->byte) - b->len) {
		memcpy(b->byte + b->len, p, len);
		b->len += len;
	}
}

void
reading_add_blob(struct record_out *o, const struct kv_pubkey *key)
{
	static struct blob blob;

	blob.len = 0;
	if (key->type != KV_KEY_NONE)
		kv_fingerprint_put(key, add_to_blob, &blob);
	record_add_bytes(o, blob.byte, blob.len);
}

bool
reading_parse_blob(struct kv_span blob, struct kv_pubkey *key)
{
	struct kv_sshkey parsed;

	if (kv_sshkey_parse(blob.p, blob.len, &parsed) != KV_OK ||
	    parsed.is_cert)
		return false;
	*key = parsed.key;
	return true;
}

void
reading_add_key(struct record_out *o, const struct input_key *key)
{
	struct kv_span hash = { NULL, 0 };

	if (key->hash != NULL)
		hash = (struct kv_span){ key->hash->byte,
			sizeof(key->hash->byte) };
	record_add(o, R_STRING(key->path), R_ANY(key->line),
	    R_VALUE(key->part));
	reading_add_blob(o, &key->key);
	record_add(o, R_SPAN(key->spki), R_SPAN(hash), R_STRING(key->type),
	    R_VALUE(key->bits), R_SPAN(key->comment));
}

void
reading_send_key(struct record_out *o, const struct input_key *key)
{
	record_begin(o, READING_KEY);
	reading_add_key(o, key);
	record_end(o);
}

/* Sets the key of a blob, or what is known of a key without one. */
static bool
set_key(struct input_key *key, struct kv_span blob, struct kv_span hash,
    struct kv_blocklist_hash *room)
{
	if (blob.len == 0) {
		if (hash.len != 0 && hash.len != sizeof(room->byte))
			return false;
		if (hash.len > 0) {
			memcpy(room->byte, hash.p, hash.len);
			key->hash = room;
		}
		return key->spki.len > 0;
	}
	if (key->spki.len != 0 || hash.len != 0 ||
	    !reading_parse_blob(blob, &key->key))
		return false;
	key->type = kv_keytype_name(key->key.type);
	key->bits = kv_pubkey_bits(&key->key);
	return true;
}

bool
reading_receive_key(struct kv_bytes b, const struct input_sink *sink)
{
	static char path[PATH_BYTES];
	char type[TYPE_BYTES];
	struct kv_blocklist_hash room;
	struct input_key key = { .path = path, .type = type };
	struct kv_span blob, hash;

	if (!record_get_all(&b, R_TEXT(path), R_ANY(key.line),
		R_NUMBER(key.part, KV_PART_CA), R_SPAN(blob), R_SPAN(key.spki),
		R_SPAN(hash), R_TEXT(type), R_NUMBER(key.bits, UINT32_MAX),
		R_SPAN(key.comment)) ||
	    !set_key(&key, blob, hash, &room))
		return false;
	sink->key(&key, sink->arg);
	return true;
}

static bool
receive_problem(const struct input_sink *sink, struct kv_bytes b)
{
	static char text[TEXT_BYTES];
	struct input_problem problem;

	if (!finding_receive_problem(b, text, sizeof(text), &problem))
		return false;
	sink->problem(&problem, sink->arg);
	return true;
}

static bool
receive_file(const struct input_sink *sink, struct kv_bytes b)
{
	static char path[PATH_BYTES];

	if (!record_get_all(&b, R_TEXT(path)))
		return false;
	if (sink->file != NULL)
		sink->file(path, sink->arg);
	return true;
}

static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	const struct keys_read *r = t->arg;

	switch (tag) {
	case READING_KEY:
		return reading_receive_key(b, r->sink);
	case READING_FOUND_PROBLEM:
		return receive_problem(r->sink, b);
	case READING_OPENED_FILE:
		return receive_file(r->sink, b);
	case READING_READ:
		return b.left == 0;
	case READING_KEYS_END:
		t->ended = true;
		return b.left == 0;
	default:
		return false;
	}
}

static void
start(struct keys_read *r, const struct input_sink *sink)
{
	struct talk *t = &r->talk;

	r->sink = sink;
	*t = (struct talk){
		.answer = receive_answer,
		.deadline = io_deadline(KEYS_SECONDS_MAX),
		.arg = r,
	};
	talk_start(t);
	talk_send_setup(t,
	    READING_KEYS | (sink->plain ? READING_PLAIN : 0u) |
		(sink->wary ? READING_WARY : 0u));
}

static void
end(struct keys_read *r, const char *path)
{
	const struct input_problem problem = {
		.path = path,
		.reason = r->talk.why,
	};

	if (!talk_end(&r->talk))
		r->sink->problem(&problem, r->sink->arg);
}

void
reading_keys(const char *path, const struct input_sink *sink)
{
	struct keys_read r;

	start(&r, sink);
	talk_send_path(&r.talk, path);
	end(&r, path);
}

void
reading_keys_fd(int fd, const char *path, const struct input_sink *sink)
{
	struct keys_read r;

	start(&r, sink);
	talk_send_named(fd, path, false, &r.talk);
	end(&r, path);
}
