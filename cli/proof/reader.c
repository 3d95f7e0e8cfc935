/* SPDX-License-Identifier: ISC */
#include "proof/reader.h"

#include <sys/stat.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/room.h"
#include "host/files.h"
#include "host/memory.h"
#include "keys/der_element.h"
#include "kv_base64.h"
#include "kv_spki.h"
#include "proof/attestation.h"
#include "proof/jws.h"
#include "proof/whole.h"

/* Below a directory, a NUL in this many first bytes: it is not text. */
#define BINARY_BYTES 4096

/* A proof that waits for its key to be found. */
struct waiting {
	struct jws jws;
	struct proof_key key; /* if it is a request: verified already */
	char *path;
	uint64_t line;
	bool done;
};

/* The ID of a key that a proof waits for. */
struct awaited {
	const char *id;
	struct waiting *proof;
	bool settled; /* of the first with this ID: all of them are */
};

/* A key that was found, and that a proof may wait for. */
struct candidate {
	struct kv_span spki;
	struct proof_key key; /* if is_read, and why is empty */
	bool is_read;
	char why[PROOF_WHY_BYTES];
};

/* What an input held that can be read only once. */
struct kept {
	const char *input;
	int fd;
};

struct reader {
	const struct proof_sink *sink;
	const char *wanted; /* the input with the keys; NULL: any */
	struct proof_work work;
	struct waiting *waiting;
	size_t n;
	struct awaited *awaited; /* sorted by ID */
	size_t n_awaited;
	bool has_keys;	/* a key was found in wanted */
	bool wondering; /* whether an input has proofs */
	uint8_t *blob;	/* KV_BLOB_MAX_BYTES, for decoded keys */
	struct kept *kept;
	size_t n_kept;
	/* Of the input that is read. */
	size_t proofs; /* and what looks like one */
	size_t used;   /* keys of it that a proof waited for */
	size_t problems;
	/* Of the file that is read. */
	const char *path;
	bool lenient; /* what is no proof is skipped */
	uint64_t line;
	struct kv_span rest;
	/* The next name of a member of a JWS; NULL: none, if it was sought. */
	const uint8_t *member;
	bool has_sought;
};

static void
give_problem(struct reader *r, uint64_t line, const char *reason)
{
	const struct input_problem p = {
		.path = r->path,
		.line = line,
		.reason = reason,
	};

	r->problems++;
	r->sink->problem(&p, r->sink->arg);
}

static void
refuse(const struct reader *r, const char *path, uint64_t line, const char *why)
{
	char reason[PROOF_WHY_BYTES + 32];
	const struct input_problem p = {
		.path = path,
		.line = line,
		.reason = reason,
	};

	snprintf(reason, sizeof(reason), "proves nothing: %s", why);
	r->sink->refused(&p, r->sink->arg);
}

/* A proof that is bad, or that no work was left for. */
static void
give_unproved(struct reader *r, const char *path, uint64_t line,
    const char *why)
{
	const char *const current = r->path;

	if (!r->work.over) {
		refuse(r, path, line, why);
		return;
	}
	r->path = path;
	give_problem(r, line, why);
	r->path = current;
}

static void
give_proved(const struct reader *r, const char *path, uint64_t line,
    const char *form, const struct proof_key *key)
{
	const struct proof_found found = { path, line, form, key };

	r->sink->proved(&found, r->sink->arg);
}

/* --- proofs that wait for their key ------------------------------------- */

/* Returns an entry for a proof on this line; NULL after a problem. */
static struct waiting *
add_waiting(struct reader *r, uint64_t line)
{
	char *path = strdup(r->path);

	if (path == NULL ||
	    !room_for_one(&r->waiting, r->n, sizeof(*r->waiting))) {
		free(path);
		give_problem(r, line, strerror(ENOMEM));
		return NULL;
	}
	r->waiting[r->n] = (struct waiting){ .line = line, .path = path };
	return &r->waiting[r->n++];
}

/* By ID, then in the order of the inputs. */
static int
compare_awaited(const void *a, const void *b)
{
	const struct awaited *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order != 0 ? order :
			    (x->proof > y->proof) - (x->proof < y->proof);
}

/* Sorts the IDs of all proofs that wait. No proof is added after this. */
static bool
sort_awaited(struct reader *r)
{
	r->awaited = calloc(2 * r->n + 1, sizeof(*r->awaited));
	if (r->awaited == NULL) {
		give_problem(r, 0, strerror(errno));
		return false;
	}
	for (size_t i = 0; i < r->n; i++) {
		struct waiting *w = &r->waiting[i];

		if (w->jws.algorithm != NULL)
			r->awaited[r->n_awaited++] = (struct awaited){
				.id = w->jws.id,
				.proof = w,
			};
		for (size_t k = 0; k < w->key.n_ids; k++)
			r->awaited[r->n_awaited++] = (struct awaited){
				.id = w->key.id[k],
				.proof = w,
			};
	}
	qsort(r->awaited, r->n_awaited, sizeof(*r->awaited), compare_awaited);
	return true;
}

/* Returns the place of the first ID that is not before this one. */
static size_t
find_awaited(const struct reader *r, const char *id)
{
	size_t low = 0, high = r->n_awaited;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(r->awaited[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Reads the key when the first proof needs it. False with c->why. */
static bool
read_candidate(struct candidate *c)
{
	if (!c->is_read)
		(void)proof_key_read(c->spki, &c->key, c->why);
	c->is_read = true;
	return c->why[0] == '\0';
}

/* Ends the wait of a proof for the key that was found. */
static void
settle(struct reader *r, struct waiting *w, struct candidate *c)
{
	char why[PROOF_WHY_BYTES];

	w->done = true;
	if (w->jws.algorithm == NULL)
		give_proved(r, w->path, w->line, "PKCS#10", &w->key);
	else if (!read_candidate(c))
		refuse(r, w->path, w->line, c->why);
	else if (jws_is_signed_by(&w->jws, &c->key, &r->work, why))
		give_proved(r, w->path, w->line, "JWS", &c->key);
	else
		give_unproved(r, w->path, w->line, why);
}

/* Ends the wait of each proof that waits for one SPKI of a key. */
static void
match_spki(struct reader *r, struct kv_span looked_up, struct candidate *c)
{
	uint8_t digest[KV_SHA256_BYTES];
	char id[PROOF_ID_BYTES];
	size_t first;

	kv_fingerprint_digest_blob(looked_up.p, looked_up.len, digest);
	proof_id_format(digest, id);
	first = find_awaited(r, id);
	if (first == r->n_awaited || strcmp(r->awaited[first].id, id) != 0)
		return;
	/* A key may be there as often as there are proofs of it. */
	if (r->awaited[first].settled)
		return;
	r->awaited[first].settled = true;
	for (size_t i = first; i < r->n_awaited; i++) {
		struct waiting *w = r->awaited[i].proof;

		if (strcmp(r->awaited[i].id, id) != 0)
			break;
		if (w->done)
			continue;
		r->used++;
		settle(r, w, c);
	}
}

static void
match_key(const struct input_key *key, void *arg)
{
	struct reader *r = arg;
	uint8_t buf[KV_SPKI_MAX_BYTES], other[KV_SPKI_MAX_BYTES];
	struct kv_span compressed = { other, 0 };
	struct candidate c = { .spki = { buf, 0 } };

	/* A proof that its CA is compromised is none of a certificate's key. */
	if (r->wanted != NULL && key->part == KV_PART_CA)
		return;
	r->has_keys = true;
	/* Without an SSH form it is of no type that can be proved. */
	if (kv_spki_encode(&key->key, 0, buf, sizeof(buf), &c.spki.len) !=
	    KV_OK)
		return;
	match_spki(r, c.spki, &c);
	if (kv_spki_encode_compressed(&key->key, other, sizeof(other),
		&compressed.len) == KV_OK)
		match_spki(r, compressed, &c);
	proof_key_free(&c.key);
}

/* --- forms -------------------------------------------------------------- */

static void
read_attestation(struct reader *r, uint64_t line, struct kv_span der)
{
	char why[PROOF_WHY_BYTES];
	struct proof_key key;
	struct waiting *w;

	r->proofs++;
	if (r->wondering)
		return;
	if (!attestation_verify(der, &r->work, &key, why)) {
		give_unproved(r, r->path, line, why);
		return;
	}
	if (r->wanted != NULL && (w = add_waiting(r, line)) != NULL) {
		w->key = key;
		return;
	}
	if (r->wanted == NULL)
		give_proved(r, r->path, line, "PKCS#10", &key);
	proof_key_free(&key);
}

static void
read_jws(struct reader *r, uint64_t line, struct kv_span text)
{
	char why[PROOF_WHY_BYTES];
	struct waiting *w;
	struct jws jws;

	r->proofs++;
	if (r->wondering)
		return;
	if (!jws_read(text, &jws, why))
		refuse(r, r->path, line, why);
	else if ((w = add_waiting(r, line)) != NULL)
		w->jws = jws;
	else
		jws_free(&jws);
}

/* --- texts -------------------------------------------------------------- */

/* Moves past a line, and returns it without its line end. */
static struct kv_span
take_line(struct reader *r)
{
	const uint8_t *nl = memchr(r->rest.p, '\n', r->rest.len);
	struct kv_span line = { r->rest.p, r->rest.len };

	if (nl != NULL)
		line.len = (size_t)(nl - line.p);
	r->rest.p += line.len + (nl != NULL);
	r->rest.len -= line.len + (nl != NULL);
	r->line++;
	return line;
}

/*
 * Whether text, the start of the rest of a file in a directory, may be a JWS.
 * Other files have JSON in them too, or lines that begin with a brace: so
 * many that the name of the member is sought once, not from each of them.
 */
static bool
may_be_jws(struct reader *r, struct kv_span text)
{
	static const char member[] = "\"protected\"";
	const size_t len = sizeof(member) - 1;

	if (!r->has_sought || (r->member != NULL && r->member < text.p))
		r->member = memmem(text.p, r->rest.len, member, len);
	r->has_sought = true;
	return r->member != NULL && text.len >= len &&
	    (size_t)(r->member - text.p) <= text.len - len;
}

/* Moves past the lines that end before p. */
static void
skip_lines(struct reader *r, const uint8_t *p)
{
	const uint8_t *nl;

	while ((nl = memchr(r->rest.p, '\n', r->rest.len)) != NULL && nl < p)
		(void)take_line(r);
}

/*
 * Moves past JSON that cannot be decoded, up to the line where that ended: the
 * next proof may begin there.
 */
static void
skip_damaged(struct reader *r, const json_error_t *error)
{
	const uint8_t *end = r->rest.p + error->position;
	const uint64_t line = r->line + 1;
	char why[JSON_ERROR_TEXT_LENGTH + 64];

	snprintf(why, sizeof(why),
	    "a proof in JSON that is damaged or too long: %s", error->text);
	r->proofs++;
	give_problem(r, line, why);
	(void)take_line(r);
	if (end > r->rest.p)
		skip_lines(r, end);
}

/*
 * Moves past a JSON object and what follows on its last line, which belongs to
 * the proof: a proof with something behind it is none. False if it is no JSON.
 */
static bool
take_json(struct reader *r)
{
	struct kv_span text = r->rest;
	const uint64_t line = r->line + 1;
	json_error_t error;
	json_t *object;

	if (text.len > JWS_MAX_BYTES)
		text.len = JWS_MAX_BYTES;
	if (r->lenient && !may_be_jws(r, text)) {
		(void)take_line(r);
		return true;
	}
	object = json_loadb((const char *)text.p, text.len,
	    JSON_DISABLE_EOF_CHECK, &error);
	if (object == NULL) {
		skip_damaged(r, &error);
		return false;
	}
	skip_lines(r, text.p + error.position);
	(void)take_line(r);
	text.len = (size_t)(r->rest.p - text.p);
	if (!r->lenient || json_object_get(object, "protected") != NULL)
		read_jws(r, line, text);
	json_decref(object);
	return true;
}

/* Whether the first line of a PEM block says that it is a request. */
static bool
is_request(struct kv_span line)
{
	static const char label[] = "CERTIFICATE REQUEST-----";

	return memmem(line.p, line.len, label, sizeof(label) - 1) != NULL;
}

/* Moves past a PEM block, and reads it if it is a request. */
static void
take_pem(struct reader *r)
{
	const bool request = is_request(take_line(r));
	const uint64_t line = r->line;
	struct kv_span body = { r->rest.p, 0 };
	uint8_t *der = NULL;
	size_t cap, len;
	bool ended = false;

	while (!ended && r->rest.len > 0) {
		body.len = (size_t)(r->rest.p - body.p);
		ended = pem_is_end(take_line(r));
	}
	if (!request)
		return;
	r->proofs++;
	cap = KV_BASE64_DECODED_MAX(body.len);
	if (!ended)
		give_problem(r, line, "PEM block has no end");
	else if ((der = malloc(cap)) == NULL)
		give_problem(r, line, strerror(errno));
	else if (kv_base64_decode((const char *)body.p, body.len, der, cap,
		     &len) != KV_OK)
		give_problem(r, line, "the base64 of the request is damaged");
	else {
		r->proofs--;
		read_attestation(r, line, (struct kv_span){ der, len });
	}
	free(der);
}

/* Whether the line is empty, a comment, or a key. */
static bool
is_beside_proofs(const struct reader *r, struct kv_span text)
{
	struct kv_line line;

	return kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line) == KV_OK;
}

static void
read_text(struct reader *r)
{
	uint64_t odd = 0;
	bool damaged = false;

	while (r->rest.len > 0) {
		const struct reader before = *r;
		struct kv_span line = take_line(r);
		size_t blanks = 0;

		while (blanks < line.len &&
		    (line.p[blanks] == ' ' || line.p[blanks] == '\t'))
			blanks++;
		if (blanks < line.len && line.p[blanks] == '{') {
			r->rest = before.rest;
			r->line = before.line;
			damaged |= !take_json(r);
		} else if (pem_is_begin(line)) {
			r->rest = before.rest;
			r->line = before.line;
			take_pem(r);
		} else if (odd == 0 && !is_beside_proofs(r, line))
			odd = r->line;
	}
	/* A file with proofs holds nothing else. */
	if (odd > 0 && r->proofs > 0 && !r->lenient && !damaged)
		refuse(r, r->path, odd,
		    "this line is no proof, no key and no comment");
}

/* Whether data begins as SEQUENCE { SEQUENCE { INTEGER does: a request. */
static bool
is_der_request(struct kv_span data)
{
	struct kv_bytes all = { data.p, data.len }, request, info;

	return der_take(&all, DER_SEQUENCE, &request) &&
	    der_take(&request, DER_SEQUENCE, &info) && info.left > 0 &&
	    info.p[0] == 0x02;
}

static void
read_data(struct reader *r, struct kv_span data)
{
	size_t head;

	/* A byte order mark is no part of the text. */
	if (data.len >= 3 && memcmp(data.p, "\xef\xbb\xbf", 3) == 0) {
		data.p += 3;
		data.len -= 3;
	}
	head = data.len < BINARY_BYTES ? data.len : BINARY_BYTES;
	r->rest = data;
	r->line = 0;
	r->has_sought = false;
	if (is_der_request(data))
		read_attestation(r, 1, data);
	else if (head > 0 &&
	    (!r->lenient || memchr(data.p, '\0', head) == NULL))
		read_text(r);
}

/* --- files -------------------------------------------------------------- */

/* Keeps what an input held for the next reading. */
static void
keep_input(struct reader *r, const char *input, struct kv_span data)
{
	struct kept *kept = reallocarray(r->kept, r->n_kept + 1, sizeof(*kept));
	int fd = memory_file("proofs");

	if (kept != NULL)
		r->kept = kept;
	if (kept == NULL || fd == -1 || !io_write(fd, data.p, data.len)) {
		give_problem(r, 0, strerror(errno));
		io_close(fd);
		return;
	}
	kept[r->n_kept++] = (struct kept){ input, fd };
}

/* Returns what was kept of an input, from its start; -1: nothing. */
static int
find_kept(const struct reader *r, const char *input)
{
	for (size_t i = 0; i < r->n_kept; i++) {
		if (strcmp(r->kept[i].input, input) == 0 &&
		    lseek(r->kept[i].fd, 0, SEEK_SET) == 0)
			return r->kept[i].fd;
	}
	return -1;
}

static void
read_file(int fd, const char *path, bool walked, void *arg)
{
	struct reader *r = arg;
	const char *why;
	struct kv_span data;
	struct stat st;
	uint8_t *whole = whole_read(fd, &data.len, &why);

	r->path = path;
	r->lenient = walked || r->wondering;
	if (whole == NULL) {
		if (!walked || errno != EFBIG)
			give_problem(r, 0, why);
		return;
	}
	data.p = whole;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		keep_input(r, path, data);
	read_data(r, data);
	free(whole);
}

static void
pass_problem(const struct input_problem *problem, void *arg)
{
	struct reader *r = arg;

	r->problems++;
	r->sink->problem(problem, r->sink->arg);
}

/* For keys in files that were searched for proofs already. */
static void
read_proofs(struct reader *r, const char *input)
{
	const struct input_walk w = {
		.file = read_file,
		.problem = pass_problem,
		.arg = r,
	};
	int fd = find_kept(r, input);

	r->proofs = r->problems = 0;
	if (fd != -1)
		read_file(fd, input, false, r);
	else
		input_walk(input, &w);
}

/* Matches all keys of an input with the proofs that wait. */
static void
read_keys(struct reader *r, const char *input)
{
	const struct input_sink sink = {
		.key = match_key,
		.problem = r->wanted != NULL ? pass_problem :
					       input_ignore_problem,
		.arg = r,
		.wary = true,
	};
	int fd = find_kept(r, input);

	r->used = 0;
	if (fd != -1)
		input_read_fd(fd, input, &sink);
	else
		input_read(input, &sink);
}

static void
end_waits(struct reader *r)
{
	char why[PROOF_WHY_BYTES];

	for (size_t i = 0; i < r->n; i++) {
		struct waiting *w = &r->waiting[i];
		const char *id = w->jws.algorithm != NULL ?
		    w->jws.id :
		    w->key.id[0];

		r->path = w->path;
		if (!w->done && r->wanted != NULL && r->has_keys) {
			snprintf(why, sizeof(why),
			    "it is about another key: the SHA-256 of its "
			    "SPKI is %s",
			    id);
			refuse(r, w->path, w->line, why);
		} else if (!w->done && r->wanted == NULL) {
			snprintf(why, sizeof(why),
			    "not verified, for lack of the key that it names: "
			    "give its public key too (SHA-256 of the SPKI: %s)",
			    id);
			give_problem(r, w->line, why);
		}
	}
}

static void
free_waiting(struct reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		jws_free(&r->waiting[i].jws);
		proof_key_free(&r->waiting[i].key);
		free(r->waiting[i].path);
	}
	free(r->waiting);
	r->waiting = NULL;
	r->n = 0;
}

static void
ignore_proved(const struct proof_found *proof, void *arg)
{
	(void)proof;
	(void)arg;
}

/* Whether nothing in an input has the form of a proof. */
static bool
is_without_proofs(struct reader *r, const char *input)
{
	const struct proof_sink *sink = r->sink;
	const struct proof_sink silent = {
		.proved = ignore_proved,
		.refused = input_ignore_problem,
		.problem = input_ignore_problem,
	};

	r->sink = &silent;
	r->wondering = true;
	read_proofs(r, input);
	r->wondering = false;
	free_waiting(r);
	r->sink = sink;
	return r->proofs == 0;
}

/* Reads the proofs of the first n inputs. is_empty: which have none. */
static void
read_all_proofs(struct reader *r, char *const *inputs, size_t n, bool *is_empty)
{
	for (size_t i = 0; i < n; i++) {
		read_proofs(r, inputs[i]);
		is_empty[i] = r->proofs == 0 && r->problems == 0;
	}
}

/* Reads the keys that the proofs must be of. */
static void
read_wanted(struct reader *r)
{
	r->problems = 0;
	read_keys(r, r->wanted);
	r->path = r->wanted;
	if (!r->has_keys && r->problems == 0)
		give_problem(r, 0, "no key in it");
}

/* Looks for the keys of all proofs, and ends their waits. */
static void
read_all_keys(struct reader *r, char *const *inputs, size_t n,
    const bool *is_empty)
{
	if (r->wanted != NULL)
		read_wanted(r);
	for (size_t i = 0; i < n; i++) {
		r->used = 0;
		if (r->wanted == NULL && r->n > 0)
			read_keys(r, inputs[i]);
		/* A mistake, unless the keys in it were needed. */
		r->path = inputs[i];
		if (is_empty[i] && r->used == 0)
			give_problem(r, 0, "no proof of compromise in it");
	}
	end_waits(r);
}

void
proof_read(char *const *inputs, bool for_key, const struct proof_sink *sink)
{
	struct reader r = { .sink = sink, .path = inputs[0] };
	size_t n = 0;
	bool *is_empty = NULL;

	while (inputs[n] != NULL)
		n++;
	if ((r.blob = malloc(KV_BLOB_MAX_BYTES)) == NULL ||
	    (is_empty = calloc(n + 1, sizeof(*is_empty))) == NULL) {
		give_problem(&r, 0, strerror(errno));
		goto out;
	}
	if (for_key && n > 1 && is_without_proofs(&r, inputs[n - 1]))
		r.wanted = inputs[--n];
	read_all_proofs(&r, inputs, n, is_empty);
	if (sort_awaited(&r))
		read_all_keys(&r, inputs, n, is_empty);
out:
	for (size_t i = 0; i < r.n_kept; i++)
		close(r.kept[i].fd);
	free(r.kept);
	free_waiting(&r);
	proof_work_free(&r.work);
	free(r.awaited);
	free(is_empty);
	free(r.blob);
}

static void
give_key(const struct proof_found *proof, void *arg)
{
	const struct input_sink *sink = arg;
	const struct kv_pubkey *pub = &proof->key->pem.ssh.key;
	const struct input_key key = {
		.path = proof->path,
		.line = proof->line,
		.key = *pub,
		.type = kv_keytype_name(pub->type),
		.bits = kv_pubkey_bits(pub),
		.comment = { NULL, 0 },
	};

	sink->key(&key, sink->arg);
}

static void
pass_on(const struct input_problem *problem, void *arg)
{
	const struct input_sink *sink = arg;

	sink->problem(problem, sink->arg);
}

void
proof_read_keys(char *const *inputs, const struct input_sink *sink)
{
	const struct proof_sink proofs = {
		.proved = give_key,
		.refused = pass_on,
		.problem = pass_on,
		.arg = (void *)sink,
	};

	proof_read(inputs, false, &proofs);
}
