/* SPDX-License-Identifier: ISC */
#include "reading/finding.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "command.h"
#include "kv_spki.h"
#include "base/color.h"
#include "base/json_text.h"

static struct kv_span
span_of(const char *text)
{
	return (struct kv_span){ (const uint8_t *)text, strlen(text) };
}

/* The digest of the SPKI that is looked up for a key: its first. */
static void
digest_spki(const struct input_key *key, uint8_t digest[static KV_SHA256_BYTES])
{
	uint8_t buf[KV_SPKI_MAX_BYTES];
	struct kv_span spki = key->spki;

	if (key->key.type != KV_KEY_NONE) {
		spki.p = buf;
		if (kv_spki_encode(&key->key, 0, buf, sizeof(buf), &spki.len) !=
		    KV_OK)
			spki.len = 0;
	}
	kv_fingerprint_digest_blob(spki.p, spki.len, digest);
}

void
finding_name_source(const struct kv_judge *judge, size_t list, uint8_t id,
    char name[static KV_SOURCE_NAME_BYTES])
{
	kv_sources_name(judge->list[list].sources, id, name);
}

void
finding_set_verdict(struct finding *f, const struct kv_judge *judge,
    finding_name_fn name, const struct kv_decision *d)
{
	f->verdict = d->verdict;
	f->action = d->action;
	f->filters = d->hits;
	f->lists = d->list_hits;
	f->denied = d->list == &kv_denied;
	f->built_in = d->list == &kv_built_in;
	f->reason = span_of(d->reason);
	if (d->list != NULL)
		memcpy(f->source, d->source, sizeof(f->source));
	memcpy(f->source_id, d->source_id, sizeof(f->source_id));
	for (size_t i = 0; i < judge->n_lists; i++)
		if (d->list_hits >> i & 1)
			name(judge, i, d->source_id[i], f->sources[i]);
}

void
finding_format_fingerprint(const struct kv_pubkey *key,
    char text[static KV_FINGERPRINT_BYTES])
{
	uint8_t digest[KV_SHA256_BYTES];

	text[0] = '\0';
	if (key->type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, text);
}

void
finding_describe(struct finding *f, const struct kv_judge *judge,
    finding_name_fn name, const struct input_key *key,
    const struct kv_decision *d, bool json)
{
	*f = (struct finding){
		.path = span_of(key->path),
		.line = key->line,
		.part = key->part,
		.type = span_of(key->type),
		.bits = key->bits,
		.comment = key->comment,
	};
	finding_set_verdict(f, judge, name, d);
	memcpy(f->fingerprint, d->fingerprint, sizeof(f->fingerprint));
	/* The judge computes no fingerprint of a clean key. */
	if (d->fingerprint[0] == '\0')
		finding_format_fingerprint(&key->key, f->fingerprint);
	if (json)
		digest_spki(key, f->spki_sha256);
}

/* Prints "PATH:LINE: ", or "PATH: " if line is 0. */
static void
print_place(FILE *out, struct kv_span path, uint64_t line)
{
	cli_print_safe(out, path.p, path.len);
	if (line > 0)
		fprintf(out, ":%" PRIu64, line);
	fputs(": ", out);
}

const struct kv_list *
finding_list(const struct finding *f)
{
	return f->denied ? &kv_denied : f->built_in ? &kv_built_in : NULL;
}

static void
print_lists(FILE *out, const struct kv_judge *judge, const struct finding *f)
{
	for (size_t i = 0; i < judge->n_filters; i++) {
		if ((f->filters >> i & 1) != 0)
			cli_printf(out, " [%s]", judge->filter[i].path);
	}
	if (finding_list(f) != NULL)
		cli_printf(out, " [%s %s]", finding_list(f)->path, f->source);
	for (size_t i = 0; i < judge->n_lists; i++) {
		if ((f->lists >> i & 1) != 0)
			cli_printf(out, " [%s %s]", judge->list[i].path,
			    f->sources[i]);
	}
}

static enum color
color_of(enum kv_verdict verdict)
{
	return verdict == KV_VERDICT_LISTED ? COLOR_BAD :
	    verdict == KV_VERDICT_CLEAN	    ? COLOR_GOOD :
					      COLOR_WARNING;
}

void
finding_print_text(FILE *out, const struct kv_judge *judge,
    const struct finding *f)
{
	print_place(out, f->path, f->line);
	color_print(out, color_of(f->verdict), kv_verdict_name(f->verdict));
	fputs(": ", out);
	cli_print_safe(out, f->type.p, f->type.len);
	fprintf(out, " %u %s", f->bits,
	    f->fingerprint[0] != '\0' ? f->fingerprint : "-");
	if (f->comment.len > 0) {
		putc(' ', out);
		cli_print_safe(out, f->comment.p, f->comment.len);
	}
	if (f->part == KV_PART_CA)
		fputs(" (CA)", out);
	print_lists(out, judge, f);
	if (f->reason.len > 0) {
		fputs(" (", out);
		cli_print_safe(out, f->reason.p, f->reason.len);
		putc(')', out);
	}
	putc('\n', out);
}

static json_t *
json_span(struct kv_span s)
{
	return json_bytes(s.p, s.len);
}

/* Prints an object, on a line of its own, and frees it. */
static void
print_object(FILE *out, const char *account, json_t *object)
{
	if (account != NULL)
		json_object_set_new(object, "account", json_text(account));
	if (json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
		putc('\n', out);
	json_decref(object);
}

static void
add_lists(const struct kv_judge *judge, const struct finding *f, json_t *lists,
    json_t *sources)
{
	if (finding_list(f) != NULL) {
		json_array_append_new(lists,
		    json_string(finding_list(f)->path));
		json_array_append_new(sources, json_text(f->source));
	}
	for (size_t i = 0; i < judge->n_lists; i++) {
		if ((f->lists >> i & 1) == 0)
			continue;
		json_array_append_new(lists, json_text(judge->list[i].path));
		json_array_append_new(sources, json_text(f->sources[i]));
	}
}

void
finding_print_json(FILE *out, const struct kv_judge *judge, const char *account,
    const struct finding *f)
{
	char hex[2 * KV_SHA256_BYTES + 1];
	json_t *filters = json_array(), *lists = json_array();
	json_t *sources = json_array(), *object;

	for (size_t i = 0; i < KV_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", f->spki_sha256[i]);
	for (size_t i = 0; i < judge->n_filters; i++)
		if (f->filters >> i & 1)
			json_array_append_new(filters,
			    json_text(judge->filter[i].path));
	add_lists(judge, f, lists, sources);
	object = json_pack("{so sI ss so sI ss ss ss so so so so so so}",
	    "file", json_span(f->path), "line", (json_int_t)f->line, "verdict",
	    kv_verdict_name(f->verdict), "type", json_span(f->type), "bits",
	    (json_int_t)f->bits, "fingerprint", f->fingerprint, "spki_sha256",
	    hex, "part", kv_part_name(f->part), "comment",
	    json_span(f->comment), "filters", filters, "lists", lists, "source",
	    f->source[0] != '\0' ? json_text(f->source) : json_null(),
	    "sources", sources, "reason", json_span(f->reason));
	print_object(out, account, object);
}

void
finding_print_note(FILE *err, const struct input_problem *note)
{
	fputs("keyveto: ", err);
	print_place(err, span_of(note->path), note->line);
	cli_printf(err, "%s\n", note->reason);
}

void
finding_print_problem(FILE *out, FILE *err, bool json, const char *account,
    const struct input_problem *p)
{
	const char *type = p->unknown_type ? p->type : "";

	fputs("keyveto: ", err);
	print_place(err, span_of(p->path), p->line);
	cli_printf(err, "%s%s%s\n", p->reason, p->unknown_type ? " " : "",
	    type);
	if (!json)
		return;
	print_object(out, account,
	    json_pack("{so sI ss so sn sn sn sn sn s[] s[] sn s[] so}", "file",
		json_text(p->path), "line", (json_int_t)p->line, "verdict",
		kv_verdict_name(p->unknown_type ? KV_VERDICT_UNSUPPORTED :
						  KV_VERDICT_ERROR),
		"type", *type != '\0' ? json_text(type) : json_null(), "bits",
		"fingerprint", "spki_sha256", "part", "comment", "filters",
		"lists", "source", "sources", "reason", json_text(p->reason)));
}

/* Each list of fields is of what is written and of what is read. */
#define VERDICT_FIELDS(f, filters_max, lists_max) \
	R_NUMBER((f)->verdict, KV_VERDICT_CLEAN), \
	    R_NUMBER((f)->action, KV_ACTION_ALLOW), \
	    R_NUMBER((f)->filters, filters_max), \
	    R_NUMBER((f)->lists, lists_max), R_FLAG((f)->denied), \
	    R_FLAG((f)->built_in), R_TEXT((f)->source)
#define LIST_FIELDS(f, i) \
	R_NUMBER((f)->source_id[i], UINT8_MAX), R_TEXT((f)->sources[i])
#define KEY_FIELDS(f) \
	R_SPAN((f)->path), R_ANY((f)->line), R_NUMBER((f)->part, KV_PART_CA), \
	    R_SPAN((f)->type), R_NUMBER((f)->bits, UINT32_MAX), \
	    R_TEXT((f)->fingerprint), R_BYTES((f)->spki_sha256), \
	    R_SPAN((f)->comment)

void
finding_add_verdict(struct record_out *o, const struct finding *f)
{
	record_add(o, VERDICT_FIELDS(f, 0, 0));
	for (size_t i = 0; i < KV_CONFIG_MAX_BLOCKLISTS; i++)
		if ((f->lists >> i & 1) != 0)
			record_add(o, LIST_FIELDS(f, i));
	record_add(o, R_SPAN(f->reason));
}

void
finding_send(struct record_out *o, uint8_t tag, const struct finding *f)
{
	record_begin(o, tag);
	record_add(o, KEY_FIELDS(f));
	finding_add_verdict(o, f);
	record_end(o);
}

void
finding_send_problem(struct record_out *o, uint8_t tag,
    const struct input_problem *p)
{
	record_send(o, tag, R_STRING(p->path), R_ANY(p->line),
	    R_FLAG(p->unknown_type), R_STRING(p->unknown_type ? p->type : ""),
	    R_STRING(p->reason));
}

/* Whether a text is printable ASCII without blanks, or empty. */
static bool
is_name(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

static uint64_t
lowest_bits(size_t n)
{
	_Static_assert(KV_CONFIG_MAX_FILTERS <= 64 &&
		KV_CONFIG_MAX_BLOCKLISTS <= 64,
	    "each has a bit");

	return n == 0 ? 0 : UINT64_MAX >> (64 - n);
}

bool
finding_get_verdict(struct kv_bytes *b, size_t n_filters, size_t n_lists,
    struct finding *f)
{
	if (!record_get(b,
		VERDICT_FIELDS(f, lowest_bits(n_filters),
		    lowest_bits(n_lists))) ||
	    !is_name(f->source))
		return false;
	for (size_t i = 0; i < n_lists; i++)
		if ((f->lists >> i & 1) != 0 &&
		    (!record_get(b, LIST_FIELDS(f, i)) ||
			!is_name(f->sources[i])))
			return false;
	/* A key is listed somewhere. */
	return record_get(b, R_SPAN(f->reason)) &&
	    (f->verdict != KV_VERDICT_LISTED || f->filters != 0 ||
		f->lists != 0 || finding_list(f) != NULL);
}

bool
finding_receive(struct kv_bytes b, size_t n_filters, size_t n_lists,
    struct finding *f)
{
	uint8_t digest[KV_SHA256_BYTES];

	*f = (struct finding){ 0 };
	return record_get(&b, KEY_FIELDS(f)) &&
	    (f->fingerprint[0] == '\0' ||
		kv_fingerprint_parse(span_of(f->fingerprint), digest) ==
		    KV_OK) &&
	    finding_get_verdict(&b, n_filters, n_lists, f) && b.left == 0;
}

/* Copies a string that is cut where it does not fit, or at a NUL. */
static bool
get_text(struct kv_bytes *b, char **text, size_t *capp, const char **copy)
{
	struct kv_span s;
	size_t len;

	if (!record_get(b, R_SPAN(s)) || *capp == 0)
		return false;
	len = s.len < *capp ? s.len : *capp - 1;
	if (len > 0)
		memcpy(*text, s.p, len);
	(*text)[len] = '\0';
	*copy = *text;
	*text += len + 1;
	*capp -= len + 1;
	return true;
}

bool
finding_receive_problem(struct kv_bytes b, char *text, size_t cap,
    struct input_problem *p)
{
	*p = (struct input_problem){ 0 };
	return get_text(&b, &text, &cap, &p->path) &&
	    record_get(&b, R_ANY(p->line), R_FLAG(p->unknown_type)) &&
	    get_text(&b, &text, &cap, &p->type) &&
	    get_text(&b, &text, &cap, &p->reason) && b.left == 0;
}
